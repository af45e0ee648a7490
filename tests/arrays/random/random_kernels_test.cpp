#include "rtcg/arrays/random/random_kernels.h"

#include <gtest/gtest.h>

#include "rtcg/arrays/random/generator.h"
#include "tests/arrays/support/taken_by_nvrtc.h"
#include "tests/support/cuda_on_cpu/cuda_on_cpu.h"

namespace rtcg::arrays::detail {
namespace {

std::string cuda_text(RandomKind kind, DType dtype, RandomAlgorithm algorithm,
                      bool has_wide_blocks = false) {
  return taken_by_nvrtc(
      random_kernel(kind, dtype, algorithm, has_wide_blocks).text(cgen::Dialect::cuda));
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
        cuda_text(kind, dtype, algorithm, true);
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
  // so many that a thread's blocks are all whole, and that some are not
  for (const std::uint32_t count : {32U, 10U}) {
    std::int32_t threads = (count + 15) / 16;  // of four blocks
    std::uint32_t all_threads = (count + 15) / 16;
    std::int32_t zero = 0;
    std::uint32_t nothing = 0;
    std::uint32_t whole = count / 4;
    std::uint32_t rest = count % 4;
    std::vector<std::uint32_t> z(count);
    std::uint32_t* z_pointer = z.data();
    // n0, z, the first place, counts of threads, whole blocks and the rest, the call, the keys, two
    // numbers, the loop's end
    rtcg::testing::CudaOnCpu(cuda_text(RandomKind::bits, DType::u32, RandomAlgorithm::philox))
        .run_checked("compute", {{1, 1, 1}, {256, 1, 1}, 0},
                     {&threads, &z_pointer, &zero, &all_threads, &whole, &rest, &nothing, &nothing,
                      &nothing, &nothing, &nothing, &threads},
                     {{z.data(), z.size() * sizeof(std::uint32_t)}});
    for (std::uint32_t k = 0; k < count; ++k) {
      EXPECT_EQ(z[k], philox4x32_10({k / 4, 0, 0, 0}, {0, 0})[k % 4]);
    }
  }
}

/// What the CUDA text makes on the CPU, of call 0 of seed 0.
template <class T, class Index>
std::vector<T> made_as_cuda(RandomKind kind, std::int64_t count, T first, T second) {
  constexpr std::int64_t lanes = 16 / sizeof(T);
  auto threads = static_cast<std::int32_t>((count + 4 * lanes - 1) / (4 * lanes));
  auto all_threads = static_cast<Index>(threads);
  auto whole = static_cast<Index>(count / lanes);
  auto rest = static_cast<std::uint32_t>(count % lanes);
  std::int32_t zero = 0;
  std::uint32_t nothing = 0;
  std::vector<T> z(static_cast<std::size_t>(count));
  T* z_pointer = z.data();
  const std::string text =
      random_kernel(kind, dtype_of_type<T>, RandomAlgorithm::philox, sizeof(Index) == 8)
          .text(cgen::Dialect::cuda);
  rtcg::testing::CudaOnCpu(text).run_checked(
      "compute", {{1, 1, 1}, {256, 1, 1}, 0},
      {&threads, &z_pointer, &zero, &all_threads, &whole, &rest, &nothing, &nothing, &nothing,
       &first, &second, &threads},
      {{z.data(), z.size() * sizeof(T)}});
  return z;
}

TEST(RandomKernels, MakeTheHostsNumbersAsCudaText) {
  const StreamScope on_host(runtime::Device::host().default_stream());
  const Generator random(0);
  const auto made = [&](auto call) {
    Generator fresh = random;
    return call(fresh).to_vector();
  };
  EXPECT_EQ((made_as_cuda<float, std::uint32_t>(RandomKind::uniform, 1003, -3, 5)),
            made([](Generator& g) { return g.uniform<float>({1003}, -3, 5); }));
  EXPECT_EQ((made_as_cuda<double, std::uint64_t>(RandomKind::uniform, 1003, -3, 5)),
            made([](Generator& g) { return g.uniform<double>({1003}, -3, 5); }));
  EXPECT_EQ((made_as_cuda<float, std::uint64_t>(RandomKind::normal, 1003, 10, 3)),
            made([](Generator& g) { return g.normal<float>({1003}, 10, 3); }));
  EXPECT_EQ((made_as_cuda<double, std::uint32_t>(RandomKind::normal, 1003, 10, 3)),
            made([](Generator& g) { return g.normal<double>({1003}, 10, 3); }));
}

}  // namespace
}  // namespace rtcg::arrays::detail
