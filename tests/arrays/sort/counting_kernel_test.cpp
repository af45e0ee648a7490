// Histograms by blocks with copies of the totals, as CUDA text on the CPU.
#include "rtcg/arrays/sort/counting_kernel.h"

#include <cstring>

#include <gtest/gtest.h>

#include "rtcg/loopy/codegen/generate.h"
#include "tests/arrays/support/taken_by_nvrtc.h"
#include "tests/loopy/support/cuda_text_on_cpu.h"

namespace rtcg::arrays {
namespace {

loopy::ArrayData integers_of(const std::vector<std::int32_t>& numbers) {
  loopy::ArrayData result{cgen::ScalarKind::i32,
                          std::vector<std::byte>(numbers.size() * sizeof(std::int32_t))};
  std::memcpy(result.bytes.data(), numbers.data(), result.bytes.size());
  return result;
}

TEST(CountingKernel, CountsInCopiesOfBlocks) {
  const detail::CountingForm form{.value = DType::i32, .total = DType::i32, .room = 32};
  const loopy::Kernel kernel = detail::counting_blocks_kernel(form, 2);
  const std::string text = loopy::generate_text(kernel, loopy::Target::cuda);
  EXPECT_NE(text.find("[32][32]"), std::string::npos) << text;
  taken_by_nvrtc(text);
  loopy::CudaTextOnCpu run(kernel);
  for (const int count : {1, 2048, 4095, 9001}) {
    SCOPED_TRACE(count);
    constexpr int bins = 21;
    std::vector<std::int32_t> x;
    std::vector<std::int32_t> expected(32);
    for (int i = 0; i < count; ++i) {
      x.push_back(i * 7 % 25 - 2);  // some are of no bin
      if (x.back() >= 0 && x.back() < bins) {
        ++expected[static_cast<std::size_t>(x.back())];
      }
    }
    const loopy::ArgumentData found = run.run_unchecked(
        {{"n", count}, {"bins", bins}},
        {{"x", integers_of(x)}, {"total", integers_of(std::vector<std::int32_t>(32))}});
    for (std::size_t bin = 0; bin < expected.size(); ++bin) {
      ASSERT_EQ(found.at("total").element(bin), expected[bin]);
    }
  }
}

TEST(CountingKernel, HasAsManyBlocksAsGpusTake) {
  const detail::CountingForm form{.value = DType::i32, .total = DType::i32, .room = 256};
  EXPECT_TRUE(detail::can_count_by_blocks(form, 1 << 20));
  EXPECT_FALSE(detail::can_count_by_blocks(form, 1000));
  EXPECT_FALSE(detail::can_count_by_blocks({.total = DType::f64, .room = 256}, 1 << 20));
  EXPECT_FALSE(detail::can_count_by_blocks({.total = DType::i32, .room = 0}, 1 << 20));
  EXPECT_EQ(detail::rounds_of_counting_blocks(1 << 20), 1);
  EXPECT_EQ(detail::rounds_of_counting_blocks(1 << 28), 128);
}

}  // namespace
}  // namespace rtcg::arrays
