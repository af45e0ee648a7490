#include "rtcg/arrays/random/random_kernels.h"

#include <gtest/gtest.h>

#include "tests/arrays/support/taken_by_nvrtc.h"
#include "tests/support/cuda_on_cpu/cuda_on_cpu.h"

namespace rtcg::arrays::detail {
namespace {

std::string cuda_text(RandomKind kind, DType dtype, RandomAlgorithm algorithm) {
  return taken_by_nvrtc(random_kernel(kind, dtype, algorithm).text(cgen::Dialect::cuda));
}

TEST(RandomKernels, CompileForGpus) {
  for (const RandomAlgorithm algorithm : {RandomAlgorithm::philox, RandomAlgorithm::threefry}) {
    for (const DType dtype : {DType::u32, DType::u64}) {
      cuda_text(RandomKind::bits, dtype, algorithm);
    }
    for (const DType dtype : {DType::f32, DType::f64}) {
      for (const RandomKind kind :
           {RandomKind::uniform, RandomKind::normal, RandomKind::log_normal}) {
        cuda_text(kind, dtype, algorithm);
      }
    }
    for (const DType dtype : {DType::i8, DType::u16, DType::i32, DType::i64, DType::u64}) {
      cuda_text(RandomKind::integers, dtype, algorithm);
    }
    cuda_text(RandomKind::small_poisson, DType::i32, algorithm);
    cuda_text(RandomKind::poisson, DType::i64, algorithm);
  }
}

TEST(RandomKernels, RunAsCudaTextToo) {
  std::int32_t threads = 1;  // of four blocks
  std::uint64_t all_threads = 1;
  std::int32_t zero = 0;
  std::uint32_t keys[] = {0, 0, 0};
  std::uint64_t count = 10;
  std::vector<std::uint32_t> z(10);
  std::uint32_t* z_pointer = z.data();
  // n0, z, the first place, the keys and the call, counts of elements and threads, the loop's end
  testing::CudaOnCpu(cuda_text(RandomKind::bits, DType::u32, RandomAlgorithm::philox))
      .run_checked("compute", {{1, 1, 1}, {256, 1, 1}, 0},
                   {&threads, &z_pointer, &zero, &keys[0], &keys[1], &keys[2], &count, &all_threads,
                    &threads},
                   {{z.data(), z.size() * sizeof(std::uint32_t)}});
  for (std::uint32_t k = 0; k < 10; ++k) {
    EXPECT_EQ(z[k], philox4x32_10({k / 4, 0, 0, 0}, {0, 0})[k % 4]);
  }
}

}  // namespace
}  // namespace rtcg::arrays::detail
