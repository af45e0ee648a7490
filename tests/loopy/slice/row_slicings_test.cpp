#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/kernel/parse_recipe.h"
#include "rtcg/loopy/slice/enumerate_slicings.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

Kernel softmax_rows() {
  return make_kernel("{[i, j, k, l]: 0 <= i < 16384 and 0 <= j, k, l < 4096}",
                     "<> top = reduce(max, j, x[i, j])\n"
                     "<> total = sum(k, exp(x[i, k] - top))\n"
                     "y[i, l] = exp(x[i, l] - top)/total",
                     {.arguments = "x, y: f32[16384, 4096]", .default_type = cgen::f32});
}

TEST(RowSlicings, SpreadAllNestsOfARowAlike) {
  const SlicingStream stream(softmax_rows(), {});
  for (const char* words :
       {"i: g.0; j: for l.0*256; k: for l.0*256; l: for l.0*256",
        "i: g.0 l.1*4; j: for l.0*32; k: for l.0*32; l: for l.0*32", "i: g.0 l.0*128",
        "i: g.0; j: for l.0*256; k: for l.0*256; l: for l.0*256; keep x shared",
        "i: g.0; j: unr_hint l.0*512; k: unr_hint l.0*512; l: unr_hint l.0*512; keep x",
        "i: g.0; j: unr_hint l.0*256 unr*4; k: unr_hint l.0*256 unr*4; l: unr_hint l.0*256 vec*4; "
        "keep x vec 4"}) {
    const auto place = stream.find_words(words);
    ASSERT_TRUE(place) << words;
    EXPECT_EQ(to_string(stream.at(*place).slicing), words);
    EXPECT_NO_THROW(static_cast<void>(
        generate(apply(softmax_rows(), stream.at(*place).slicing), Target::cuda)));
  }
  EXPECT_FALSE(stream.find_words("i: g.0; j: for l.0*256; k: for l.0*128; l: for l.0*256"));
}

// 12 channels of 500 points: threads would be idle in the last steps of each channel
TEST(RowSlicings, GoThroughRowsOfSeveralAxesByOneLoop) {
  const Kernel group_norm = make_kernel(
      "{[i, c, p, d, q]: 0 <= i < 1000 and 0 <= c, d < 12 and 0 <= p, q < 500}",
      "<> mean = sum((c, p), x[i, c, p])/6000\n"
      "y[i, d, q] = (x[i, d, q] - mean)*gamma[d]",
      {.arguments = "x, y: f32[1000, 12, 500]; gamma: f32[12]", .default_type = cgen::f32});
  const SlicingStream stream(group_norm, {});
  const std::string best = stream.at(0).words;
  EXPECT_EQ(best.find("fuse cp = c p; fuse dq = d q; i: g.0"), 0U) << best;
  EXPECT_NE(best.find("keep x"), std::string::npos) << best;
  EXPECT_EQ(stream.find_words(best), 0U);
  EXPECT_NO_THROW(
      static_cast<void>(generate(apply(group_norm, stream.at(0).slicing), Target::cuda)));
  // nothing has these axes beside each other
  const Kernel crossed = make_kernel(
      "{[i, c, p, d, q]: 0 <= i < 1000 and 0 <= c, d < 12 and 0 <= p, q < 500}",
      "<> mean = sum((c, p), x[i, p, c])/6000\n"
      "y[i, d, q] = mean",
      {.arguments = "x: f32[1000, 500, 13]; y: f32[1000, 12, 500]", .default_type = cgen::f32});
  const SlicingStream apart(crossed, {});
  for (std::size_t place = 0; place < apart.count(); ++place) {
    EXPECT_EQ(apart.at(place).words.find("fuse"), std::string::npos);
  }
}

// 8 sums of 512 elements: their own threads would be 8
TEST(RowSlicings, ShareLongSumsOfAFewResults) {
  const Kernel projection =
      make_kernel("{[b, c, r, d, s]: 0 <= b < 4096 and 0 <= c, d < 8 and 0 <= r, s < 512}",
                  "h[b, c] = sum(r, q[b, r, c]*v[b, r]) {id=h}\n"
                  "w[b, s] = v[b, s] - sum(d, q[b, s, d]*h[b, d]) {dep=h}",
                  {.arguments = "q: f32[4096, 512, 8]; v, w: f32[4096, 512]; h: f32[4096, 8]",
                   .default_type = cgen::f32});
  const SlicingStream stream(projection, {});
  const auto place = stream.find_words("b: g.0; r: for l.0*64; s: for l.0*64");
  ASSERT_TRUE(place);
  EXPECT_NO_THROW(
      static_cast<void>(generate(apply(projection, stream.at(*place).slicing), Target::cuda)));
}

Kernel layer_norm_rows() {
  return make_kernel("{[i, j, k, l]: 0 <= i < 1000 and 0 <= j, k, l < 3000}",
                     "<> mean = sum(j, x[i, j])/3000\n"
                     "<> variance = sum(k, (x[i, k] - mean)**2)/3000\n"
                     "y[i, l] = (x[i, l] - mean)*rsqrt(variance + 1e-5)",
                     {.arguments = "x, y: f32[1000, 3000]", .default_type = cgen::f32});
}

TEST(RowSlicings, RunReductionsInOnePass) {
  const SlicingStream stream(softmax_rows(), {});
  for (const char* words :
       {"i: g.0; j: for l.0*256; l: for l.0*256; online j,k", "i: g.0 l.0*128; online j,k",
        "i: g.0 l.1*4; j: for l.0*32; l: for l.0*32; online j,k",
        "i: g.0; j: unr_hint l.0*256 unr*4; l: unr_hint l.0*256 vec*4; keep x vec 4; "
        "online j,k"}) {
    const auto place = stream.find_words(words);
    ASSERT_TRUE(place) << words;
    EXPECT_EQ(to_string(stream.at(*place).slicing), words);
    EXPECT_EQ(parse_slicing(words), stream.at(*place).slicing);
  }
  const auto steps = recipe_of(softmax_rows(), parse_slicing("i: g.0; j: for l.0*256; online j,k"));
  ASSERT_GE(steps.size(), 3U);
  EXPECT_EQ(to_string(steps[0]), "rename_inames([j, k], j)");
  EXPECT_EQ(to_string(steps[1]), "fuse_reductions([j])");
  EXPECT_ERROR("loopy.parse_slicing.syntax", parse_slicing("online"));
  EXPECT_ERROR("loopy.rename_iname.unknown_iname",
               recipe_of(softmax_rows(), parse_slicing("i: g.0; online j,q")));
}

TEST(RowSlicings, AreNotRefusedInOnePass) {
  for (const Kernel& kernel : {softmax_rows(), layer_norm_rows()}) {
    const SlicingStream stream(kernel, {});
    std::size_t online = 0;
    for (std::size_t place = 0; place < stream.count(); ++place) {
      const Slicing slicing = stream.at(place).slicing;
      if (!slicing.online.empty() && online++ % 16 == 0) {
        EXPECT_NO_THROW(static_cast<void>(generate(apply(kernel, slicing), Target::cuda)))
            << to_string(slicing);
      }
    }
    EXPECT_GE(online, 32U);
  }
}

// rows that do not stay in the cache: a pass less is a quarter of the time
TEST(RowSlicings, SaveAPassOverLongRows) {
  const Kernel kernel =
      make_kernel("{[i, j, k, l]: 0 <= i < 2048 and 0 <= j, k, l < 262144}",
                  "<> top = reduce(max, j, x[i, j])\n"
                  "<> total = sum(k, exp(x[i, k] - top))\n"
                  "y[i, l] = exp(x[i, l] - top)/total",
                  {.arguments = "x, y: f32[2048, 262144]", .default_type = cgen::f32});
  const RankedSlicing best = SlicingStream(kernel, {}).at(0);
  EXPECT_FALSE(best.slicing.online.empty()) << best.words;
}

TEST(RowSlicings, AreReadTogether) {
  EXPECT_EQ(parse_slicing("i: g.0; j,k: for l.0*256; keep x shared"),
            parse_slicing("i: g.0; j: for l.0*256; k: for l.0*256; keep x shared"));
  for (const char* words :
       {"keep x; keep y vec 4", "keep x shared over j,k; keep x vec 2 over l"}) {
    EXPECT_EQ(to_string(parse_slicing(words)), words);
  }
  EXPECT_ERROR("loopy.parse_slicing.syntax", parse_slicing("keep x over"));
  EXPECT_ERROR("loopy.parse_slicing.syntax", parse_slicing("keep x over j; keep x over j"));
  EXPECT_ERROR("loopy.parse_slicing.syntax", parse_slicing("keep"));
  EXPECT_ERROR("loopy.parse_slicing.syntax", parse_slicing("keep x registers"));
  EXPECT_ERROR("loopy.parse_slicing.syntax", parse_slicing("j,,k: for l.0*256"));
  EXPECT_ERROR("loopy.recipe_of.unknown_array",
               recipe_of(softmax_rows(), parse_slicing("i: g.0; keep nothing")));
  EXPECT_ERROR("loopy.recipe_of.nothing_to_keep",
               recipe_of(softmax_rows(), parse_slicing("i: g.0; keep x")));
  EXPECT_ERROR("loopy.recipe_of.nothing_to_keep",
               recipe_of(softmax_rows(), parse_slicing("i: g.0; j: for l.0*64; keep x over k")));
}

// 16384 rows of 4096: once to read and once to write takes 128 us
TEST(RowSlicings, LikeRowsThatAreReadOnce) {
  const SlicingStream stream(softmax_rows(), {});
  const RankedSlicing best = stream.at(0);
  EXPECT_EQ(best.slicing.keeps.size(), 1U) << best.words;
  EXPECT_GT(best.predicted_seconds, 120e-6);
  EXPECT_LT(best.predicted_seconds, 200e-6);
  EXPECT_GE(best.threads, 64);
}

// the last nest reads and writes the same elements
TEST(RowSlicings, KeepRowsThatAreUpdatedInPlace) {
  const Kernel kernel = make_kernel("{[i, j, k, l]: 0 <= i < 16384 and 0 <= j, k, l < 4096}",
                                    "<> top = reduce(max, j, x[i, j])\n"
                                    "<> total = sum(k, exp(x[i, k] - top))\n"
                                    "x[i, l] = exp(x[i, l] - top)/total",
                                    {.arguments = "x: f32[16384, 4096]"});
  const SlicingStream stream(kernel, {});
  const RankedSlicing best = stream.at(0);
  EXPECT_EQ(best.slicing.keeps.size(), 1U) << best.words;
  EXPECT_LT(best.predicted_seconds, 200e-6);
  for (const char* words :
       {"i: g.0; j: for l.0*256; k: for l.0*256; l: for l.0*256; keep x shared",
        "i: g.0; j: unr_hint l.0*256 unr*4; k: unr_hint l.0*256 unr*4; l: unr_hint l.0*256 vec*4; "
        "keep x vec 4"}) {
    const auto place = stream.find_words(words);
    ASSERT_TRUE(place) << words;
    EXPECT_NO_THROW(
        static_cast<void>(generate(apply(kernel, stream.at(*place).slicing), Target::cuda)));
  }
}

/// Means and variances of 64 channels of 100352 numbers.
Kernel channels() {
  return make_kernel(
      "{[c, b, p, b2, p2, b3, p3]: 0 <= c < 64 and 0 <= b, b2, b3 < 32 and "
      "0 <= p, p2, p3 < 3136}",
      "<> mean = sum((b, p), x[b, c, p])/100352\n"
      "<> variance = sum((b2, p2), (x[b2, c, p2] - mean)**2)/100352\n"
      "y[b3, c, p3] = (x[b3, c, p3] - mean)*rsqrt(variance)",
      {.arguments = "x, y: f32[32, 64, 3136]", .default_type = cgen::f32});
}

// What data decides is read anyway; the part of a row that indices tell is not.
TEST(RowSlicings, KeepRowsThatAreReadUnderConditions) {
  const auto kernel = [](const std::string& condition) {
    return make_kernel("{[i, j, l]: 0 <= i < 8192 and 0 <= j, l < 4096}",
                       "v(j) := if(" + condition +
                           ", x[i, j], 0.5)\n"
                           "<> total = sum(j, v(j))\n"
                           "y[i, l] = v(l)/total",
                       {.arguments = "x, y, mask: f32[8192, 4096]", .default_type = cgen::f32});
  };
  const SlicingStream of_data(kernel("mask[i, j] > 0"), {});
  const auto place =
      of_data.find_words("i: g.0; j: unr_hint l.0*256; l: unr_hint l.0*256; keep mask; keep x");
  ASSERT_TRUE(place);
  EXPECT_NO_THROW(static_cast<void>(
      generate(apply(kernel("mask[i, j] > 0"), of_data.at(*place).slicing), Target::cuda)));
  const SlicingStream of_indices(kernel("j <= i"), {});
  EXPECT_FALSE(of_indices.find_words("i: g.0; j: unr_hint l.0*256; l: unr_hint l.0*256; keep x"));
}

TEST(RowSlicings, LetBlocksShareFewLongRows) {
  const Kernel kernel = channels();
  const SlicingStream stream(kernel, {});
  const RankedSlicing best = stream.at(0);
  EXPECT_EQ(best.slicing.global_values, (std::vector<std::string>{"mean", "variance"}))
      << best.words;
  EXPECT_GT(best.blocks, 132) << best.words;
  EXPECT_LT(best.predicted_seconds, 100e-6);
  EXPECT_EQ(generate(apply(kernel, best.slicing), Target::cuda).launches.size(), 5U);
  const char* const words =
      "c: g.0; p: g.1 for*4 l.0*128; p2: g.1 for*4 l.0*128; p3: g.1 for*4 l.0*128; "
      "place mean global; place variance global";
  EXPECT_TRUE(stream.find_words(words).has_value());
  EXPECT_EQ(to_string(parse_slicing(words)), words);
  EXPECT_ERROR("loopy.parse_slicing.syntax", parse_slicing("place mean"));
  EXPECT_ERROR("loopy.recipe_of.unknown_temporary",
               recipe_of(kernel, parse_slicing("c: g.0; place x global")));
}

TEST(RowSlicings, LetBlocksShareTheOnlyRow) {
  const Kernel kernel =
      make_kernel("{[j, k, l]: 0 <= j, k, l < 10000000}",
                  "<> top = reduce(max, j, x[j])\n"
                  "<> total = sum(k, exp(x[k] - top))\n"
                  "y[l] = exp(x[l] - top)/total",
                  {.arguments = "x, y: f32[10000000]", .default_type = cgen::f32});
  const RankedSlicing best = SlicingStream(kernel, {}).at(0);
  EXPECT_GT(best.blocks, 132) << best.words;
  EXPECT_EQ(generate(apply(kernel, best.slicing), Target::cuda).launches.size(), 5U);
}

TEST(RowSlicings, AnswerASearch) {
  const SlicingStream stream(softmax_rows(), {});
  std::set<std::string> words;
  std::set<std::vector<std::int64_t>> decisions;
  double last = 0;
  for (std::size_t i = 0; i < stream.count(); ++i) {
    const RankedSlicing each = stream.at(i);
    EXPECT_GE(each.predicted_seconds, last);
    last = each.predicted_seconds;
    words.insert(each.words);
    decisions.insert(stream.decisions(i));
    EXPECT_EQ(stream.find(parse_slicing(each.words)), i);
    EXPECT_FALSE(stream.neighbours(i).empty()) << each.words;
  }
  EXPECT_EQ(words.size(), stream.count());
  EXPECT_EQ(decisions.size(), stream.count());
  EXPECT_EQ(stream.crossover(0, 1, 0), 0U);
  EXPECT_EQ(stream.crossover(0, 1, ~std::uint64_t{0}), 1U);
}

TEST(RowSlicings, FitShortRows) {
  const Kernel rows = make_kernel("{[i, j, l]: 0 <= i < 100000 and 0 <= j, l < 12}",
                                  "<> s = sum(j, x[i, j])\n"
                                  "y[i, l] = x[i, l]/s",
                                  {.arguments = "x, y: f32[100000, 12]"});
  const SlicingStream stream(rows, {});
  EXPECT_TRUE(stream.find_words("i: g.0 l.1*8; j: for l.0*16; l: for l.0*16"));
  EXPECT_TRUE(stream.find_words("i: g.0 l.1*32; j: unr_hint l.0*4; l: unr_hint l.0*4; keep x"));
  for (std::size_t i = 0; i < stream.count(); ++i) {
    EXPECT_GE(stream.at(i).threads, 32);
  }
}

TEST(RowSlicings, AddTheStepsOfSumsSideBySide) {
  const auto predicted = [](const std::string& value) {
    const Kernel rows =
        make_kernel("{[e, m, i, j, k]: 0 <= e < 20000 and 0 <= m, i < 32 and 0 <= j, k < 48}",
                    "b[e, m] = 2*u[e, m]\nout[e, i] = " + value,
                    {.arguments = "u, v: f32[20000, 48]; D: f32[32, 48]; b, out: f32[20000, 32]",
                     .default_type = cgen::f32});
    const SlicingStream stream(rows, {});
    const auto place = stream.find_words("e: g.0 l.1*8; m: for l.0*32; i: for l.0*32");
    return place ? stream.predicted_seconds(*place) : -1;
  };
  const double one = predicted("sum(j, D[i, j]*u[e, j])");
  const double two = predicted("sum(j, D[i, j]*u[e, j]) + sum(k, D[i, k]*v[e, k])");
  EXPECT_GT(one, 0);
  EXPECT_GT(two, 1.2 * one);
  EXPECT_LT(two, 2.5 * one);
}

}  // namespace
}  // namespace rtcg::loopy
