#include "rtcg/cgen/build/cluster.h"

#include <gtest/gtest.h>

#include "rtcg/cgen/check/check_barriers.h"
#include "rtcg/cgen/check/check_names.h"
#include "rtcg/cgen/check/check_types.h"
#include "rtcg/cgen/print/print_module.h"
#include "tests/support/expect_error.h"

namespace rtcg::cgen {
namespace {

// Each block gives what the next one of its cluster has.
Module rotation(const Body& end) {
  const DeclaredParameter x = param(pointer_to(f32), "x");
  const Declared tile = shared_array(f32, "tile", {32});
  const Declared next = declare(u32, "next", (cluster_rank() + 1) % cluster_size());
  BlockBuilder body;
  body << tile << assign(tile[thread_idx_x], x[block_idx_x * 32 + thread_idx_x])
       << cluster_barrier() << next
       << assign(x[block_idx_x * 32 + thread_idx_x], in_block_of_cluster(tile, next)[thread_idx_x])
       << end.block();
  Declared made = kernel("rotate", {x}, body);
  Function function = *get_if<Function>(Statement(made));
  function.attributes = {cluster_of(4)};
  return {"rotation", {cluster_functions(), Statement(function)}};
}

TEST(Cluster, PrintsPtxBehindFunctions) {
  const Module module = rotation(cluster_barrier());
  check_types(module);
  check_names(module, Dialect::cuda);
  EXPECT_EQ(print_module(module, Dialect::cuda).text,
            R"(inline __device__ unsigned int rtcg_cluster_rank() {
  unsigned int number;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(number));
  return number;
}
inline __device__ unsigned int rtcg_cluster_size() {
  unsigned int number;
  asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(number));
  return number;
}
inline __device__ void *rtcg_shared_of_block(void *own, unsigned int rank) {
  void *place;
  asm volatile("mapa.u64 %0, %1, %2;" : "=l"(place) : "l"(own), "r"(rank));
  return place;
}
inline __device__ void rtcg_cluster_arrive() {
  asm volatile("barrier.cluster.arrive.release;" : : : "memory");
}
inline __device__ void rtcg_cluster_wait() {
  asm volatile("barrier.cluster.wait.acquire;" : : : "memory");
}

extern "C" __global__ __attribute__((cluster_dims(4, 1, 1))) void rotate(float *x) {
  __shared__ float tile[32];
  tile[threadIdx.x] = x[blockIdx.x * 32 + threadIdx.x];
  rtcg_cluster_arrive();
  rtcg_cluster_wait();
  unsigned int next = (rtcg_cluster_rank() + 1) % rtcg_cluster_size();
  x[blockIdx.x * 32 + threadIdx.x] =
      ((float *)rtcg_shared_of_block((void *)tile, next))[threadIdx.x];
  {
    rtcg_cluster_arrive();
    rtcg_cluster_wait();
  }
}
)");
}

TEST(Cluster, IsRefusedOutsideOfCuda) {
  for (const Dialect dialect : {Dialect::c, Dialect::cpp, Dialect::opencl}) {
    EXPECT_ERROR("cgen.lower.cuda_only", print_module({"m", {cluster_functions()}}, dialect));
  }
}

TEST(Cluster, MeetsWhereAllThreadsCome) {
  EXPECT_EQ(why_barriers_diverge(rotation(cluster_barrier())), std::nullopt);
  EXPECT_EQ(why_barriers_diverge(rotation(if_(block_idx_x < 3, cluster_barrier()))), std::nullopt);
  EXPECT_NE(why_barriers_diverge(rotation(if_(thread_idx_x < 3, cluster_barrier()))), std::nullopt);
  EXPECT_NE(why_barriers_diverge(rotation(if_(equal(thread_idx_x, 0), cluster_wait()))),
            std::nullopt);
}

}  // namespace
}  // namespace rtcg::cgen
