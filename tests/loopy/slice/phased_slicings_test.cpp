// Loops in steps and phases, where indices divide them.
#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/slice/enumerate_slicings.h"
#include "tests/loopy/slice/count_slicings.h"
#include "tests/loopy/slice/phased_kernels.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

SlicingStream phased_slicings_of(const Kernel& kernel) {
  return SlicingStream(kernel, {.min_threads = 32, .max_threads = 128, .max_items_per_thread = 8});
}

TEST(PhasedSlicings, AreReadAndWritten) {
  const std::string words = "phases x*2; phases y*3; x_step: g.0 l.0*32; x_phase: g.1";
  const Slicing slicing = parse_slicing(words);
  EXPECT_EQ(slicing.phases, (std::vector<PhasePlan>{{"x", 2}, {"y", 3}}));
  EXPECT_EQ(to_string(slicing), words);
  for (const char* wrong :
       {"phases", "phases x", "phases x 2", "phases *2", "phases x*y", "phases x*2; phases x*3"}) {
    EXPECT_ERROR("loopy.parse_slicing.syntax", parse_slicing(wrong));
  }
}

TEST(PhasedSlicings, NeedALoop) {
  EXPECT_ERROR("loopy.split_iname.unknown_iname",
               recipe_of(polyphase_filter(), parse_slicing("phases q*2")));
  EXPECT_ERROR("loopy.split_iname.bad_length",
               recipe_of(polyphase_filter(), parse_slicing("phases n*0")));
}

TEST(PhasedSlicings, HaveNoQuotientsInTheirText) {
  const std::string text = generate_text(
      apply(polyphase_filter(), parse_slicing("phases n*2; n_step: g.0 l.0*8; n_phase: g.1")),
      Target::cuda, {.recipe_comment = false});
  EXPECT_EQ(text.find('/'), std::string::npos) << text;
  EXPECT_NE(text.find("h[2 * k + n_phase]"), std::string::npos) << text;
}

TEST(PhasedSlicings, FuseATransposedConvolutionAsAProductOfMatrices) {
  const SlicingStream stream = phased_slicings_of(transposed_convolution("16", "16"));
  std::size_t first = 0;
  while (first < stream.count() && stream.at(first).slicing.phases.empty()) {
    ++first;
  }
  ASSERT_LT(first, stream.count());
  const RankedSlicing ranked = stream.at(first);
  EXPECT_EQ(ranked.slicing.phases, (std::vector<PhasePlan>{{"x", 2}, {"y", 2}})) << ranked.words;
  EXPECT_EQ(ranked.slicing.fusions.size(), 3U) << ranked.words;
  EXPECT_NE(ranked.words.find("fetch image"), std::string::npos) << ranked.words;
  EXPECT_EQ(stream.find_words(ranked.words), first);
  const std::string rest = ranked.words.substr(ranked.words.find("fuse"));
  EXPECT_EQ(stream.find_words(rest), std::nullopt);
  EXPECT_GT(count_of(stream, "x: "), 0U);  // loops as described are listed, too
  EXPECT_TRUE(stream.left_out().empty());
}

TEST(PhasedSlicings, TakePhasesOfPhasesApart) {
  const SlicingStream stream = phased_slicings_of(flat_convolution());
  EXPECT_GT(count_of(stream, "phases k*9; phases k_phase*3; fuse byx = b y x"), 0U);
}

TEST(PhasedSlicings, AreNotListedWhereNothingIsGained) {
  const auto listed = [](const char* domain, const char* statements, const char* arguments) {
    const Kernel kernel =
        make_kernel(domain, statements, {.arguments = arguments, .default_type = cgen::f32});
    return count_of(phased_slicings_of(kernel), "phases");
  };
  // no sum; an odd length; quotients that stay; a short sum, which is written out
  EXPECT_EQ(listed("{[i]: 0 <= i < 256}", "out[i] = a[i // 2]", "a: [128]; out: [256]"), 0U);
  EXPECT_EQ(listed("{[i, k]: 0 <= i < 255 and 0 <= k < 64}", "out[i] = sum(k, a[i // 2, k])",
                   "a: [128, 64]; out: [255]"),
            0U);
  EXPECT_EQ(listed("{[i, k]: 0 <= i < 255 and 0 <= k < 64}", "out[i] = sum(k, a[(i + 1)//3, k])",
                   "a: [128, 64]; out: [255]"),
            0U);
  EXPECT_EQ(listed("{[i, k]: 0 <= i < 256 and 0 <= k < 9}", "out[i] = sum(k, a[i + k//3, k % 3])",
                   "a: [258, 3]; out: [256]"),
            0U);
  EXPECT_GT(listed("{[i, k]: 0 <= i < 256 and 0 <= k < 64}", "out[i] = sum(k, a[i // 2, k])",
                   "a: [128, 64]; out: [256]"),
            0U);
}

TEST(PhasedSlicings, AreLeftOutByHintsForTheirLoops) {
  SlicingConstraints constraints;
  constraints.inames["y"] = {.tiles = {4}};
  const SlicingStream stream(transposed_convolution("16", "16"), constraints);
  EXPECT_EQ(count_of(stream, "phases"), 0U);
  const auto left_out = stream.left_out();
  EXPECT_TRUE(std::any_of(left_out.begin(), left_out.end(), [](const std::string& each) {
    return each.find("phases") != std::string::npos;
  }));
}

}  // namespace
}  // namespace rtcg::loopy
