#include "tests/support/cuda_on_cpu/cuda_on_cpu.h"

#include <cmath>
#include <cstdint>
#include <numeric>
#include <regex>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "rtcg/cgen/support/error.h"
#include "tests/support/expect_error.h"

namespace rtcg::testing {
namespace {

template <class T>
BufferRef ref(std::vector<T>& values) {
  return {values.data(), values.size() * sizeof(T)};
}

TEST(CudaOnCpu, AddsVectors) {
  CudaOnCpu program(R"(
extern "C" __global__ void __launch_bounds__(64) add(const float* __restrict__ a,
                                                     const float* __restrict__ b, float* c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  c[i] = a[i] + b[i];
})");
  std::vector<float> a(200), b(200, 0.5F), c(200);
  std::iota(a.begin(), a.end(), 0.0F);
  const float* pa = a.data();
  const float* pb = b.data();
  float* pc = c.data();
  int n = 200;
  program.launch("add", {{4, 1, 1}, {64, 1, 1}}, {&pa, &pb, &pc, &n});
  EXPECT_EQ(c[199], 199.5F);
  c.assign(200, 0.0F);
  program.run_checked("add", {{4, 1, 1}, {64, 1, 1}}, {&pa, &pb, &pc, &n},
                      {ref(a), ref(b), ref(c)});
  EXPECT_EQ(c[7], 7.5F);
  EXPECT_ERROR("tests.cuda_on_cpu.unknown_kernel", program.launch("sub", {}, {}));
  EXPECT_ERROR("tests.cuda_on_cpu.argument_count", program.launch("add", {}, {&pa}));
  EXPECT_ERROR("tests.cuda_on_cpu.bad_launch",
               program.launch("add", {{1, 1, 1}, {1025, 1, 1}}, {&pa, &pb, &pc, &n}));
}

const char* const matmul_text = R"(
extern "C" __global__ void matmul(const float* a, const float* b, float* c, int n) {
  __shared__ float left[8][8];
  __shared__ float right[8][8];
  int x = threadIdx.x, y = threadIdx.y;
  int column = blockIdx.x * 8 + x, row = blockIdx.y * 8 + y;
  float sum = 0.0f;
  for (int k = 0; k < n; k += 8) {
    left[y][x] = a[row * n + k + x];
    right[y][x] = b[(k + y) * n + column];
    __syncthreads(); // first
    for (int i = 0; i < 8; ++i) sum += left[y][i] * right[i][x];
    __syncthreads(); // second
  }
  c[row * n + column] = sum;
})";

void run_matmul(const std::string& text) {
  int n = 16;
  std::vector<float> a(256), b(256), c(256);
  for (int i = 0; i < 256; ++i) {
    a[i] = static_cast<float>(i % 13);
    b[i] = static_cast<float>(i % 7 + 1);
  }
  float* pa = a.data();
  float* pb = b.data();
  float* pc = c.data();
  CudaOnCpu(text).run_checked("matmul", {{2, 2, 1}, {8, 8, 1}}, {&pa, &pb, &pc, &n},
                              {ref(a), ref(b), ref(c)});
  for (int i = 0; i < 256; ++i) {
    float sum = 0;
    for (int k = 0; k < 16; ++k) {
      sum += a[i / 16 * 16 + k] * b[k * 16 + i % 16];
    }
    ASSERT_EQ(c[i], sum) << i;  // small integers: exact
  }
}

TEST(CudaOnCpu, MultipliesTiles) {
  run_matmul(matmul_text);
}

TEST(CudaOnCpu, ReportsEachMissingBarrier) {
  for (const char* which : {"first", "second"}) {
    const std::regex barrier(std::string(R"(__syncthreads\(\); // )") + which);
    EXPECT_ERROR("tests.cuda_on_cpu.race",
                 run_matmul(std::regex_replace(std::string(matmul_text), barrier, "")));
  }
}

// A kernel that writes `out`, n ints that hold 0 .. n - 1 at first.
std::vector<int> run_ints(const std::string& text, const CudaOnCpuLaunch& launch, std::size_t n) {
  std::vector<int> out(n);
  std::iota(out.begin(), out.end(), 0);
  int* pointer = out.data();
  CudaOnCpu(text).run_checked("f", launch, {&pointer}, {ref(out)});
  return out;
}

TEST(CudaOnCpu, ReducesThroughShuffles) {
  const auto out = run_ints(R"(
extern "C" __global__ void f(int* out) {
  __shared__ int sums[32];
  int t = threadIdx.x;
  int sum = out[t];
  for (int by = 16; by > 0; by /= 2) sum += __shfl_down_sync(0xffffffffu, sum, by);
  if (t % 32 == 0) sums[t / 32] = sum;
  __syncthreads();
  if (t < 32) {
    sum = t < blockDim.x / 32 ? sums[t] : 0;
    for (int by = 16; by > 0; by /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, by);
    out[t] = sum;
  }
})",
                            {{1, 1, 1}, {256, 1, 1}}, 256);
  EXPECT_EQ(out[0], 255 * 128);
  EXPECT_EQ(out[31], 255 * 128);
  EXPECT_EQ(out[32], 32);
}

TEST(CudaOnCpu, HasTheOtherWarpAndBarrierOperations) {
  const auto out = run_ints(R"(
extern "C" __global__ void f(int* out) {
  int t = threadIdx.x;
  double d = __shfl_sync(0xffffffff, t + 0.5, 3, 8);
  int up = __shfl_up_sync(0xffffffff, t, 1);
  int votes = __ballot_sync(0xffffffff, t % 2);
  int any = __any_sync(0xffffffff, t == 5), all = __all_sync(0xffffffff, t < 39);
  int half = t % 32 < 16 ? __shfl_xor_sync(0x0000ffff, t, 1) : __shfl_xor_sync(0xffff0000, t, 2);
  __syncwarp();
  int count = __syncthreads_count(t < 3), some = __syncthreads_or(t == 39);
  int every = __syncthreads_and(t != 39);
  if (t == 12) {
    out[0] = (int)(2 * d); out[1] = up; out[2] = votes; out[3] = any; out[4] = all; out[5] = half;
    out[6] = count; out[7] = some; out[8] = every;
  }
  if (t == 35) { out[9] = votes; out[10] = any; out[11] = all; }
})",
                            {{1, 1, 1}, {40, 1, 1}}, 12);
  EXPECT_EQ(out, (std::vector<int>{23, 11, static_cast<int>(0xaaaaaaaaU), 1, 1, 13, 3, 1, 0, 0xaa,
                                   0, 0}));
}

TEST(CudaOnCpu, ReducesThroughADynamicTree) {
  const auto out = run_ints(R"(
extern "C" __global__ void f(int* out) {
  extern __shared__ __align__(16) int tree[];
  int t = threadIdx.x;
  tree[t] = out[t];
  __syncthreads();
  for (int by = blockDim.x / 2; by > 0; by /= 2) {
    if (t < by) tree[t] += tree[t + by];
    __syncthreads();
  }
  if (t == 0) out[0] = tree[0];
})",
                            {{1, 1, 1}, {1024, 1, 1}, 4096}, 1024);
  EXPECT_EQ(out[0], 1023 * 512);
}

TEST(CudaOnCpu, ReportsUninitialisedSharedMemory) {
  EXPECT_ERROR("tests.cuda_on_cpu.race", run_ints(R"(
extern "C" __global__ void f(int* out) {
  __shared__ int never[4];
  out[threadIdx.x] = never[threadIdx.x];
})",
                                                  {{1, 1, 1}, {4, 1, 1}}, 4));
  EXPECT_ERROR("tests.cuda_on_cpu.race", run_ints(R"(
extern __shared__ int never[];
extern "C" __global__ void f(int* out) { out[threadIdx.x] = never[threadIdx.x]; })",
                                                  {{1, 1, 1}, {4, 1, 1}, 16}, 4));
}

TEST(CudaOnCpu, ReportsDivergentBarriers) {
  const char* const two_lines = R"(extern "C" __global__ void f(int* out) {
  if (threadIdx.x < 2) {
    __syncthreads();
  } else {
    __syncthreads();
  }
  out[threadIdx.x] = 1;
})";
  try {
    run_ints(two_lines, {{1, 1, 1}, {4, 1, 1}}, 4);
    FAIL() << "nothing was thrown";
  } catch (const InvalidInput& error) {
    EXPECT_EQ(error.code(), "tests.cuda_on_cpu.divergent_barrier");
    EXPECT_NE(error.message().find("thread (0, 0, 0) at a barrier in line 3"), std::string::npos)
        << error.what();
    EXPECT_NE(error.message().find("thread (2, 0, 0) at a barrier in line 5"), std::string::npos)
        << error.what();
  }
  EXPECT_ERROR("tests.cuda_on_cpu.divergent_barrier", run_ints(R"(
extern "C" __global__ void f(int* out) {
  if (threadIdx.x == 3) return;
  __syncthreads();
})",
                                                               {{1, 1, 1}, {4, 1, 1}}, 4));
}

TEST(CudaOnCpu, CountsAHistogramOfManyBlocks) {
  const auto out = run_ints(R"(
extern "C" __global__ void f(int* out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(&out[i % 10], 1);
  atomicMax(out + 10, i);
  atomicMin(out + 11, -i);
  atomicXor(out + 12, 1 << i % 3);
  atomicCAS(out + 13, 13, 99);
})",
                            {{100, 1, 1}, {64, 1, 1}}, 14);
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(out[i], i + 640);
  }
  EXPECT_EQ(out[10], 6399);
  EXPECT_EQ(out[11], -6399);
  EXPECT_EQ(out[13], 99);
}

// Whole blocks in any order would count to two; two at once each see what was there before.
TEST(CudaOnCpu, ReportsUpdatesThatGetLostBetweenBlocks) {
  const std::string text = R"(
extern "C" __global__ void f(int* out) {
  int old = ((volatile int*)out)[0];
  atomicAdd(out + 1, 1);
  for (int i = 0; i < 100000000 && ((volatile int*)out)[1] < 3; ++i) {}
  UPDATE
})";
  const std::regex update("UPDATE");
  EXPECT_ERROR(
      "tests.cuda_on_cpu.race",
      run_ints(std::regex_replace(text, update, "out[0] = old + 1;"), {{2, 1, 1}, {1, 1, 1}}, 2));
  EXPECT_EQ(run_ints(std::regex_replace(text, update, "atomicAdd(out, 1 + 0 * old);"),
                     {{2, 1, 1}, {1, 1, 1}}, 2),
            (std::vector<int>{2, 3}));
}

TEST(CudaOnCpu, GivesEachBlockSharedMemoryOfItsOwn) {
  const auto out = run_ints(R"(
extern __shared__ int outside[];
__shared__ int fixed[64];
extern "C" __global__ void f(int* out) {
  extern __shared__ int inside[];
  int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  outside[t] = i;
  fixed[t] = 2 * i;
  for (int k = 0; k < 100; ++k) {
    __syncthreads();
    int next = (t + 1) % 64, a = inside[next], b = fixed[next];
    __syncthreads();
    outside[t] = a;
    fixed[t] = b;
  }
  __syncthreads();
  out[i] = inside[(t + 28) % 64] + fixed[(t + 28) % 64];
})",
                            {{8, 1, 1}, {64, 1, 1}, 256}, 512);
  for (int i = 0; i < 512; ++i) {
    ASSERT_EQ(out[i], 3 * i) << i;  // 100 turns and 28 more are two rounds
  }
}

TEST(CudaOnCpu, RunsGridsOfThreeDimensions) {
  const auto out = run_ints(R"(
extern "C" __global__ void f(int* out) {
  uint3 t = threadIdx;
  dim3 size = blockDim;
  int block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  int i = block * 24 + t.x + size.x * (t.y + size.y * t.z);
  out[i] += 1000 * block;
})",
                            {{2, 3, 4}, {4, 3, 2}}, 576);
  for (int i = 0; i < 576; ++i) {
    ASSERT_EQ(out[i], i + i / 24 * 1000);
  }
}

TEST(CudaOnCpu, ReportsWritesBehindABuffer) {
  for (const char* where : {"4", "-1"}) {
    EXPECT_ERROR("tests.cuda_on_cpu.out_of_bounds",
                 run_ints(std::string("extern \"C\" __global__ void f(int* out) { out[") + where +
                              "] = 1; }",
                          {}, 4));
  }
  EXPECT_ERROR("tests.cuda_on_cpu.out_of_bounds", run_ints(R"(
extern "C" __global__ void f(int* out) {
  extern __shared__ int own[];
  own[4] = 1;
})",
                                                           {{1, 1, 1}, {1, 1, 1}, 16}, 4));
}

TEST(CudaOnCpu, GivesTheCompilersLog) {
  try {
    CudaOnCpu program("extern \"C\" __global__ void f(int* out) { out[0] = nowhere; }");
    FAIL() << "nothing was thrown";
  } catch (const CompileFailure& failure) {
    EXPECT_NE(failure.log().find("nowhere"), std::string::npos) << failure.log();
  }
}

TEST(CudaOnCpu, ConvertsEveryHalfThereAndBack) {
  const auto out = run_ints(R"(
#include <cuda_fp16.h>
#include <cuda_bf16.h>
extern "C" __global__ void f(int* out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  __half h = __ushort_as_half((unsigned short)i);
  __nv_bfloat16 b = __ushort_as_bfloat16((unsigned short)i);
  bool half_same = __half_as_ushort(__float2half(__half2float(h))) == i;
  bool b_same = __bfloat16_as_ushort(__float2bfloat16(__bfloat162float(b))) == i;
  out[i] = (half_same || __hisnan(h)) && (b_same || isnan(__bfloat162float(b)));
})",
                            {{64, 1, 1}, {1024, 1, 1}}, 65536);
  EXPECT_EQ(std::accumulate(out.begin(), out.end(), 0), 65536);
}

TEST(CudaOnCpu, RoundsHalvesToNearestEven) {
  const auto out = run_ints(R"(
#include <cuda_fp16.h>
#include <cuda_bf16.h>
extern "C" __global__ void f(int* out) {
  out[0] = __half_as_ushort(__float2half(2049.0f));
  out[1] = __half_as_ushort(__float2half(2051.0f));
  out[2] = __half_as_ushort(__float2half(65519.0f));
  out[3] = __half_as_ushort(__float2half(65520.0f));
  out[4] = __half_as_ushort(__float2half(0x1p-25f));
  out[5] = __half_as_ushort(__float2half(0x1.8p-24f));
  out[6] = __half_as_ushort(__float2half(1.0f) / __float2half(3.0f));
  out[7] = __bfloat16_as_ushort(__float2bfloat16(257.0f));
  out[8] = __bfloat16_as_ushort(__float2bfloat16(259.0f));
  __half x = __float2half(0.5f);
  x += __float2half(1.0f);
  out[9] = x > __float2half(1.25f) && -x < x;
})",
                            {}, 10);
  EXPECT_EQ(out,
            (std::vector<int>{0x6800, 0x6802, 0x7bff, 0x7c00, 0, 2, 0x3555, 0x4380, 0x4382, 1}));
}

TEST(CudaOnCpu, HasTheDevicesMathAndVectors) {
  const auto out = run_ints(R"(
struct Pair { int* out; int more; };
__constant__ float table[2] = {1.0f, 2.0f};
__device__ __forceinline__ float scaled(float x) { return x * table[1]; }
extern "C" __global__ void f(int* out) {
  float4 v = make_float4(1, 2, 3, 4);
  double2 d = make_double2(5, 6);
  float s, c;
  sincosf(0.0f, &s, &c);
  out[0] = (int)(scaled(v.w) + d.y + c + s);
  out[1] = __popc(0xff) + __clz(1) + __ffs(8);
  out[2] = min(3, 4) + max(2.0f, 1.0f) + __float_as_int(1.0f) / 0x3f800000;
  out[3] = (int)rsqrtf(0.25f) + (int)__expf(0.0f) + (int)fmaf(2.0f, 3.0f, 1.0f) + __ldg(out + 3);
  out[4] = sizeof(float4) + alignof(int2) + sizeof(float3);
})",
                            {}, 5);
  EXPECT_EQ(out, (std::vector<int>{15, 43, 6, 13, 36}));
}

TEST(CudaOnCpu, FollowsPointersInsideStructs) {
  struct Pair {
    int more;
    int* out;
  };
  std::vector<int> out(4);
  Pair pair{5, out.data() + 2};
  CudaOnCpu(R"(
struct Pair { int more; int* out; };
extern "C" __global__ void f(Pair pair) { pair.out[0] = pair.more; pair.out[-1] += 1; })")
      .run_checked("f", {}, {&pair}, {ref(out)});
  EXPECT_EQ(out, (std::vector<int>{0, 1, 5, 0}));
}

TEST(CudaOnCpu, LetsBlocksOfACooperativeLaunchWait) {
  // the body is what the harness replaces
  CudaOnCpu program(R"(
static __device__ void rtcg_grid_barrier() {
  asm("mov.u32 %0, %%envreg2;" :: "r"(0));
}
extern "C" __global__ void turns(int* x, int skipping) {
  const int blocks = gridDim.x, block = blockIdx.x;
  for (int round = 0; round < 10; ++round) {
    const int from = round % 2 * blocks, to = blocks - from;
    if (threadIdx.x == 0) x[to + block] = x[from + block] + x[from + (block + 1) % blocks];
    if (block != skipping) rtcg_grid_barrier();
  }
})");
  constexpr int blocks = 5;
  std::vector<int> x = {3, 1, 4, 1, 5, 0, 0, 0, 0, 0};
  std::vector<int> expected = x;
  for (int round = 0; round < 10; ++round) {
    const int from = round % 2 * blocks;
    for (int block = 0; block < blocks; ++block) {
      expected[blocks - from + block] = expected[from + block] + expected[from + (block + 1) % 5];
    }
  }
  int* pointer = x.data();
  int skipping = -1;
  CudaOnCpuLaunch launch{{blocks, 1, 1}, {4, 1, 1}};
  launch.is_cooperative = true;
  std::vector<int> again = x;
  program.run_checked("turns", launch, {&pointer, &skipping}, {ref(x)});
  EXPECT_EQ(x, expected);
  skipping = 2;
  pointer = again.data();
  EXPECT_ERROR("tests.cuda_on_cpu.divergent_barrier",
               program.launch("turns", launch, {&pointer, &skipping}));
  launch.grid[0] = 65;
  EXPECT_ERROR("tests.cuda_on_cpu.bad_launch",
               program.launch("turns", launch, {&pointer, &skipping}));
}

TEST(CudaOnCpu, LetsBlocksOfAClusterWait) {
  CudaOnCpu program(R"(
inline __device__ unsigned int rtcg_cluster_rank() {
  return 0;
}
inline __device__ void rtcg_cluster_wait() {
  asm("barrier.cluster.wait.acquire;");
}
extern "C" __global__ __attribute__((cluster_dims(2, 1, 1))) void meet(int* x, int skipping) {
  if (blockIdx.x != skipping) rtcg_cluster_wait();
  x[blockIdx.x] = rtcg_cluster_rank();
})");
  std::vector<int> x(4, 7);
  int* pointer = x.data();
  int skipping = -1;
  CudaOnCpuLaunch launch{{4, 1, 1}, {1, 1, 1}};
  program.run_checked("meet", launch, {&pointer, &skipping}, {ref(x)});
  EXPECT_EQ(x, (std::vector<int>{0, 1, 0, 1}));
  skipping = 2;
  EXPECT_ERROR("tests.cuda_on_cpu.divergent_barrier",
               program.launch("meet", launch, {&pointer, &skipping}));
  launch.grid[0] = 3;
  EXPECT_ERROR("tests.cuda_on_cpu.bad_launch",
               program.launch("meet", launch, {&pointer, &skipping}));
}

}  // namespace
}  // namespace rtcg::testing
