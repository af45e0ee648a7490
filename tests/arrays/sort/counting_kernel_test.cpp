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
  const detail::CountingForm form{.value = DType::i32, .room = 32};
  const loopy::Kernel kernel = detail::counting_blocks_kernel(form, 2);
  const std::string text = loopy::generate_text(kernel, loopy::Target::cuda);
  EXPECT_NE(text.find("int total_private[32][32]"), std::string::npos) << text;
  taken_by_nvrtc(text);
  loopy::CudaTextOnCpu run(kernel);
  for (const int count : {1, 8191, 8192, 25001}) {
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
        {{"x", integers_of(x)},
         {"total", {cgen::ScalarKind::i64, std::vector<std::byte>(32 * sizeof(std::int64_t))}}});
    for (std::size_t bin = 0; bin < expected.size(); ++bin) {
      ASSERT_EQ(found.at("total").element(bin), expected[bin]);
    }
  }
}

TEST(CountingKernel, HasAsManyBlocksAndCopiesAsFit) {
  const auto copies = [](DType total, std::int64_t room) {
    return detail::copies_of_blocks({.total = total, .room = room});
  };
  EXPECT_EQ(copies(DType::i32, 1), 32);
  EXPECT_EQ(copies(DType::i32, 256), 32);
  EXPECT_EQ(copies(DType::i64, 256), 32);  // of i32
  EXPECT_EQ(copies(DType::f64, 256), 16);
  EXPECT_EQ(copies(DType::i32, 1024), 8);
  EXPECT_EQ(copies(DType::i32, 8192), 1);
  EXPECT_EQ(copies(DType::f64, 8192), 0);
  EXPECT_EQ(copies(DType::i32, 0), 0);
  runtime::DeviceInfo device;
  EXPECT_EQ(detail::blocks_that_count(device), 1);
  device.multiprocessors = 132;
  device.max_threads_per_multiprocessor = 2048;
  EXPECT_EQ(detail::blocks_that_count(device), 264);
  EXPECT_EQ(detail::most_values_of_blocks(1), INT32_MAX - 8192);
}

}  // namespace
}  // namespace rtcg::arrays
