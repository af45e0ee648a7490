// Contractions whose operands are copied first, so that tiles are contiguous.
#include <algorithm>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/slice/enumerate_slicings.h"
#include "rtcg/loopy/slice/legal_slicing.h"
#include "tests/loopy/slice/contraction_kernel.h"

namespace rtcg::loopy {
namespace {

SlicingConstraints wide_tiles() {
  SlicingConstraints constraints;
  constraints.min_threads = 64;
  constraints.max_threads = 256;
  constraints.max_items_per_thread = 64;
  constraints.max_shared_bytes = 96 * 1024;
  return constraints;
}

std::optional<std::size_t> first_with_copies(const SlicingStream& stream) {
  for (std::size_t i = 0; i < stream.count(); ++i) {
    if (!stream.at(i).slicing.stores.empty()) {
      return i;
    }
  }
  return std::nullopt;
}

// A is contiguous along f, B along e, and results along d.
TEST(CopiedSlicings, LayOperandsOutAlongTheResults) {
  const Kernel kernel = contraction("abcd-aebf-dfce", {72, 72, 72, 72, 72, 72});
  const SlicingStream stream(kernel, wide_tiles());
  const auto place = first_with_copies(stream);
  ASSERT_TRUE(place);
  EXPECT_LT(*place, 200U);
  const Slicing slicing = stream.at(*place).slicing;
  ASSERT_EQ(slicing.stores.size(), 2U) << to_string(slicing);
  EXPECT_EQ(to_string(slicing.stores[0]), "store A_copy[a,e,f,b]");
  EXPECT_EQ(to_string(slicing.stores[1]), "store B_copy[f,c,e,d]");
  EXPECT_EQ(stream.find(slicing), place);
  EXPECT_EQ(stream.find_words(to_string(slicing)), place);
  EXPECT_EQ(parse_slicing(to_string(slicing)), slicing);
  const std::string text = generate_text(apply(kernel, slicing), Target::cuda);
  // neighbours along b and d, 16 bytes at once
  EXPECT_NE(text.find("copy_async_16("), std::string::npos) << text;
  EXPECT_EQ(text.find("copy_async_4("), std::string::npos) << text;
}

TEST(CopiedSlicings, CopyNothingThatIsContiguousAlready) {
  const SlicingStream stream(contraction("abcd-aedf-fbec", {40, 40, 40, 40, 40, 40}), wide_tiles());
  const auto place = first_with_copies(stream);
  ASSERT_TRUE(place);
  const std::vector<StorePlan> stores = stream.at(*place).slicing.stores;
  ASSERT_EQ(stores.size(), 1U);
  EXPECT_EQ(to_string(stores[0]), "store A_copy[a,e,f,d]");
}

TEST(CopiedSlicings, AreNotRefused) {
  for (const char* words : {"abcd-aebf-dfce", "abcd-aecf-bfde"}) {
    const Kernel kernel = contraction(words, {40, 40, 36, 40, 40, 40});
    const SlicingStream stream(kernel, wide_tiles());
    int tried = 0;
    for (std::size_t i = 0; i < stream.count() && tried < 8; i += 97) {
      const Slicing slicing = stream.at(i).slicing;
      if (!slicing.stores.empty()) {
        ++tried;
        EXPECT_EQ(detail::why_not_sliced(kernel, slicing), std::nullopt) << to_string(slicing);
        EXPECT_EQ(stream.find(slicing), i);
      }
    }
  }
}

TEST(CopiedSlicings, AreNotListedWhereTheyGainNothing) {
  // tiles of both are contiguous
  EXPECT_FALSE(first_with_copies(
      SlicingStream(contraction("abcd-aebf-cfde", {8, 8, 8, 8, 8, 8}), wide_tiles())));
  // sums are as short as the copies
  EXPECT_FALSE(first_with_copies(
      SlicingStream(contraction("abcd-aebf-dfce", {8, 8, 8, 8, 8, 8}), wide_tiles())));
  // windows share elements
  const Kernel windows = make_kernel(
      "{[a, b, x, c, k]: 0 <= a, b, x < 64 and 0 <= c < 16 and 0 <= k < 5}",
      "C[a, b, x] = sum((c, k), A[x + k, c, a]*B[k, b, c])", {.default_type = cgen::f32});
  const SlicingStream stream(windows, wide_tiles());
  for (std::size_t i = 0; i < stream.count(); i += 101) {
    for (const StorePlan& each : stream.at(i).slicing.stores) {
      EXPECT_EQ(each.array.find("A_copy"), std::string::npos);
    }
  }
}

TEST(CopiedSlicings, AreLeftOutWhereHintsNameOperands) {
  const Kernel kernel = contraction("abcd-aebf-dfce", {72, 72, 72, 72, 72, 72});
  SlicingConstraints constraints = wide_tiles();
  constraints.arrays["B"] = ArrayUse::shared;
  const SlicingStream stream(kernel, constraints);
  const std::vector<std::string> left_out = stream.left_out();
  EXPECT_TRUE(std::any_of(left_out.begin(), left_out.end(), [](const std::string& each) {
    return each.find("copied operands") != std::string::npos;
  }));
}

}  // namespace
}  // namespace rtcg::loopy
