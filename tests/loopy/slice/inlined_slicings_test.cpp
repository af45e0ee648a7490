// Temporaries that one nest of loops hands on to another.
#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/recipe/apply_recipe.h"
#include "rtcg/loopy/slice/enumerate_slicings.h"
#include "tests/loopy/slice/count_slicings.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

Kernel blur() {
  return make_kernel("{[i, j]: 0 <= i < 1026 and 0 <= j < 1024} {[p, q]: 0 <= p, q < 1024}",
                     "<> t[i, j] = (a[i, j] + a[i, j + 1] + a[i, j + 2])/3\n"
                     "out[p, q] = (t[p, q] + t[p + 1, q] + t[p + 2, q])/3",
                     {.default_type = cgen::f32});
}

/// A product, and what follows it for each of its elements.
Kernel layer() {
  return make_kernel("{[i, j, k]: 0 <= i, j, k < 256} {[p, q]: 0 <= p, q < 256}",
                     "<> t[i, j] = sum(k, a[i, k]*b[k, j])\n"
                     "out[p, q] = max(t[p, q] + c[q], 0)",
                     {.default_type = cgen::f32});
}

/// Each row without its mean: not cheaper where the mean is used.
Kernel centred() {
  return make_kernel("{[d, i]: 0 <= d, i < 512} {[e, j]: 0 <= e, j < 512}",
                     "<> mean[d] = sum(i, x[d, i])/512\n"
                     "out[e, j] = x[e, j] - mean[e]",
                     {.default_type = cgen::f32});
}

/// Few, so that the tests have them at once.
SlicingStream inlined_slicings_of(const Kernel& kernel) {
  return SlicingStream(kernel, {.min_threads = 64, .max_threads = 64, .max_items_per_thread = 8});
}

TEST(InlinedSlicings, AreReadAndWritten) {
  const std::string words = "inline s; inline t; q: g.0 l.0*32; place t_subst shared";
  const Slicing slicing = parse_slicing(words);
  EXPECT_EQ(slicing.inlines, (std::vector<std::string>{"s", "t"}));
  EXPECT_EQ(to_string(slicing), words);
  for (const char* wrong : {"inline", "inline s t", "inline s; inline s"}) {
    EXPECT_ERROR("loopy.parse_slicing.syntax", parse_slicing(wrong));
  }
}

TEST(InlinedSlicings, NeedATemporary) {
  EXPECT_ERROR("loopy.recipe_of.unknown_temporary", recipe_of(blur(), parse_slicing("inline a")));
  EXPECT_ERROR("loopy.recipe_of.unknown_temporary", recipe_of(blur(), parse_slicing("inline s")));
}

TEST(InlinedSlicings, ComputeATemporaryWhereItIsUsed) {
  const Kernel sliced = apply(blur(), parse_slicing("inline t; q: g.0 l.0*32; p: g.1 l.1*8"));
  EXPECT_EQ(find_temporary(sliced, "t"), nullptr);
  EXPECT_EQ(generate(sliced, Target::cuda).launches.size(), 1U);
  const Kernel shared =
      apply(blur(), parse_slicing("inline t; q: g.0 l.0*32; p: g.1 l.1*8; place t_subst shared"));
  EXPECT_NE(find_temporary(shared, "t_subst_values"), nullptr);
  EXPECT_EQ(generate(shared, Target::cuda).launches.size(), 1U);
}

TEST(InlinedSlicings, AreListedBesideLaunches) {
  const Kernel kernel = blur();
  const SlicingStream stream = inlined_slicings_of(kernel);
  EXPECT_EQ(stream.at(0).slicing.inlines, std::vector<std::string>{"t"}) << stream.at(0).words;
  EXPECT_EQ(stream.find_words(stream.at(0).words), 0U);
  EXPECT_GT(count_of(stream, "place t_subst shared"), 0U);
  const std::string in_two = "launch before p; place t global";
  EXPECT_GT(count_of(stream, in_two), 0U);
  for (std::size_t i = 0; i < stream.count(); ++i) {
    if (stream.at(i).words.find(in_two) != std::string::npos) {
      EXPECT_EQ(generate(apply(kernel, stream.at(i).slicing), Target::cuda).launches.size(), 2U);
      EXPECT_EQ(stream.find_words(stream.at(i).words), i);
      break;
    }
  }
  EXPECT_TRUE(stream.left_out().empty());
}

TEST(InlinedSlicings, HaveTilesOfAProductWithWhatFollows) {
  const RankedSlicing first = inlined_slicings_of(layer()).at(0);
  EXPECT_EQ(first.words.rfind("inline t; ", 0), 0U) << first.words;
  EXPECT_NE(first.words.find("fetch a"), std::string::npos) << first.words;
  EXPECT_EQ(generate(apply(layer(), first.slicing), Target::cuda).launches.size(), 1U);
}

TEST(InlinedSlicings, AreNotListedForSumsThatAllWouldRepeat) {
  const SlicingStream stream = inlined_slicings_of(centred());
  EXPECT_EQ(count_of(stream, "inline"), 0U);
  EXPECT_NE(stream.at(0).words.find("place mean"), std::string::npos) << stream.at(0).words;
  EXPECT_GT(count_of(stream, "place mean global"), 0U);
}

/// Sums of several temporaries meet in one statement.
TEST(InlinedSlicings, GiveSumsInamesOfTheirOwn) {
  const Kernel kernel =
      make_kernel("{[i]: 0 <= i < 1024} {[k]: 0 <= k < 3} {[p]: 0 <= p < 1024}",
                  "<> s[i] = sum(k, a[i + k])\n<> t[i] = sum(k, a[i + k]*a[i + k])\n"
                  "out[p] = t[p] - s[p]*s[p]",
                  {.default_type = cgen::f32});
  const Kernel sliced = apply(kernel, parse_slicing("inline s; inline t; p: g.0 l.0*64"));
  EXPECT_EQ(generate(sliced, Target::cuda).launches.size(), 1U);
}

/// The end of the sum is that of its own row.
TEST(InlinedSlicings, KeepSumsWhoseBoundsDependOnTheirRow) {
  const Kernel kernel = make_kernel("{[i, k]: 0 <= k <= i < 256} {[p]: 0 <= p < 256}",
                                    "<> t[i] = sum(k, a[i, k])\nout[p] = t[p]*t[255 - p]",
                                    {.default_type = cgen::f32});
  EXPECT_ERROR("loopy.assignment_to_subst.inactive_iname",
               static_cast<void>(apply(kernel, parse_slicing("inline t"))));
  const SlicingStream stream = inlined_slicings_of(kernel);
  EXPECT_EQ(count_of(stream, "inline"), 0U);
  EXPECT_GT(count_of(stream, "place t global"), 0U);
}

/// Also where a sum reads another one over the same iname.
TEST(InlinedSlicings, ListSumsOfSums) {
  const Kernel kernel = make_kernel(
      "{[i, j]: 0 <= i < 260 and 0 <= j < 256} {[k]: 0 <= k < 5} {[p, q]: 0 <= p, q < 256}",
      "<> r[i, j] = sum(k, w[k]*a[i, j + k])\n"
      "out[p, q] = sum(k, w[k]*r[p + k, q])",
      {.default_type = cgen::f32});
  EXPECT_GT(count_of(inlined_slicings_of(kernel), "place r_subst shared"), 0U);
}

TEST(InlinedSlicings, LeaveOutTheCostliestFirst) {
  const Kernel kernel = make_kernel(
      "{[i, j]: 0 <= i, j < 258} {[p, q]: 0 <= p, q < 256} {[b, c]: 0 <= b, c < 3} "
      "{[x, y]: 0 <= x, y < 256}",
      "<> g[i, j] = a[i, j] - a[i, j + 2]\n"
      "<> m[p, q] = sum((b, c), g[p + b, q + c]*g[p + b, q + c])\n"
      "out[x, y] = m[x, y]*m[x, y]",
      {.default_type = cgen::f32});
  const SlicingStream stream = inlined_slicings_of(kernel);
  EXPECT_GT(count_of(stream, "inline g; inline m"), 0U);
  EXPECT_GT(count_of(stream, "place g_subst shared"), 0U);
  std::size_t partly = 0;
  for (std::size_t i = 0; i < stream.count(); ++i) {
    const std::vector<std::string>& inlines = stream.at(i).slicing.inlines;
    EXPECT_NE(inlines, std::vector<std::string>{"g"});
    partly += inlines == std::vector<std::string>{"m"} ? 1 : 0;
  }
  EXPECT_GT(partly, 0U);
}

}  // namespace
}  // namespace rtcg::loopy
