#include "rtcg/loopy/device/finish_in_last_block.h"

#include <gtest/gtest.h>

#include "rtcg/cgen/ast/expr_operators.h"
#include "rtcg/cgen/print/print_module.h"

namespace rtcg::loopy {
namespace {

using cgen::Expr;

LastBlock of_row() {
  const Expr counters = cgen::variable("counters", cgen::pointer_to(cgen::u32));
  return {counters[cgen::block_idx_y], cgen::grid_dim_x};
}

std::string text_of(const LastBlock& block) {
  const cgen::Statement finish = cgen::assign(cgen::variable("z", cgen::f32), 1.0F);
  cgen::BlockBuilder body;
  finish_in_last_block(block, {finish}, body, body);
  cgen::FunctionSpecifiers kernel;
  kernel.is_kernel = true;
  cgen::Module module;
  module.items = {cgen::function(cgen::void_type, "last", {}, body, kernel)};
  return print_module(module, cgen::Dialect::cuda).text;
}

// The barrier before the fence: the thread that counts has seen the writes of all others.
TEST(FinishInLastBlock, FencesOnceForAllThreadsOfABlock) {
  LastBlock block = of_row();
  block.is_counting = cgen::equal(cgen::thread_idx_x, 0u);
  EXPECT_EQ(text_of(block), R"(extern "C" __global__ void last() {
  __shared__ unsigned int is_last[1];
  __syncthreads();
  if (threadIdx.x == 0u) {
    __threadfence();
    is_last[0] = (unsigned int)(atomicAdd(&counters[blockIdx.y], 1u) == gridDim.x - 1u);
  }
  __syncthreads();
  if (is_last[0] != 0u) {
    __threadfence();
    if (threadIdx.x == 0u) {
      counters[blockIdx.y] = 0u;
    }
    z = 1.0f;
  }
}
)");
}

TEST(FinishInLastBlock, NeedsOneBarrierIfTheCountingThreadAloneWrites) {
  LastBlock block = of_row();
  block.is_counting = cgen::equal(cgen::thread_idx_x, 0u);
  block.writes = {cgen::assign(cgen::variable("part", cgen::f32), 2.0F)};
  EXPECT_EQ(text_of(block), R"(extern "C" __global__ void last() {
  __shared__ unsigned int is_last[1];
  if (threadIdx.x == 0u) {
    part = 2.0f;
    __threadfence();
    is_last[0] = (unsigned int)(atomicAdd(&counters[blockIdx.y], 1u) == gridDim.x - 1u);
  }
  __syncthreads();
  if (is_last[0] != 0u) {
    __threadfence();
    if (threadIdx.x == 0u) {
      counters[blockIdx.y] = 0u;
    }
    z = 1.0f;
  }
}
)");
}

TEST(FinishInLastBlock, OfOneThreadNeedsNoSharedMemory) {
  EXPECT_EQ(text_of(of_row()), R"(extern "C" __global__ void last() {
  __threadfence();
  const unsigned int counted = atomicAdd(&counters[blockIdx.y], 1u);
  if (counted == gridDim.x - 1u) {
    __threadfence();
    counters[blockIdx.y] = 0u;
    z = 1.0f;
  }
}
)");
}

}  // namespace
}  // namespace rtcg::loopy
