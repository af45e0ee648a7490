// Contractions of arrays with many short axes are sliced as products of matrices.
#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "rtcg/loopy/analyze/infer_types.h"
#include "rtcg/loopy/check/checked_kernel.h"
#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/slice/canonical_form.h"
#include "rtcg/loopy/slice/contraction.h"
#include "rtcg/loopy/slice/enumerate_slicings.h"
#include "rtcg/loopy/transform/fix_parameters.h"
#include "tests/loopy/slice/contraction_kernel.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

int times(const std::string& part, const std::string& text) {
  int count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

SlicingConstraints few_items() {
  SlicingConstraints constraints;
  constraints.min_threads = 64;
  constraints.max_threads = 256;
  constraints.max_items_per_thread = 8;
  return constraints;
}

TEST(FusedSlicings, AreReadAsTheyAreWritten) {
  const std::string text =
      "fuse ab = a b; fuse k = e*4 f*8; ab: g.1 l.1*16 ilp*8; k: for for*32; fetch A";
  const Slicing slicing = parse_slicing(text);
  EXPECT_EQ(to_string(slicing), text);
  ASSERT_EQ(slicing.fusions.size(), 2U);
  EXPECT_EQ(slicing.fusions[1].parts[0], (FusedIname{"e", 4}));
  EXPECT_ERROR("loopy.parse_slicing.syntax", parse_slicing("fuse ab = a"));
  EXPECT_ERROR("loopy.parse_slicing.syntax", parse_slicing("fuse ab a b c"));
  EXPECT_ERROR("loopy.parse_slicing.syntax", parse_slicing("fuse ab = a b*1"));
}

TEST(FusedSlicings, WriteAndReadRunsAsAnExpertWould) {
  const Kernel kernel = contraction("abcd-aebf-dfce", {72, 72, 72, 72, 72, 72});
  const std::string text = generate_text(
      apply(kernel, parse_slicing("fuse ab = a b; fuse cd = c d; fuse k = e*4 f*8; ab: g.1 l.1*16 "
                                  "ilp*8; cd: g.0 ilp*2 l.0*16 vec*4; k: for for*32; fetch A "
                                  "transposed pad 4; fetch B transposed pad 4; stages 3")),
      Target::cuda);
  // results are neighbours whatever index they cross; guards compare the flat index
  EXPECT_EQ(times("*(float4 *)&C[663552 * ab_0 + 41472 * ab_1 + 128 * cd_0 + 4 * cd_2] =", text), 2)
      << text;
  EXPECT_EQ(times("128 * ab_0 + 16 * A_tile_0_outer + ab_1 < 5184 ? 4 : 0", text), 1) << text;
  // neighbouring threads copy neighbours along f, and the tile of e and f moves as a whole
  EXPECT_EQ(times("8 * ((k_0 + 2) % 9) +\n              cd_2 % 8 + 10368 * A_tile_1_outer]", text),
            1)
      << text;
}

TEST(FusedSlicings, SpreadCopiesOverThreadsWithoutDividingWhatStays) {
  const Kernel kernel = make_kernel("{[a, b, c, d, e, f]: 0 <= a, b, c, d, e, f < 72}",
                                    "C[a, b, c, d] = sum((e, f), A[a, e, b, f]*B[d, f, c, e])",
                                    {.default_type = cgen::f64});
  const std::string text = generate_text(
      apply(kernel,
            parse_slicing("fuse ab = a b; fuse cd = c d; fuse fe = f*4 e*4; ab: g.1 ilp*4 l.1*32; "
                          "cd: g.0 l.2*4 ilp*3 l.0*4 vec*2; fe: for for*16; fetch A; fetch B; "
                          "stages 2")),
      Target::cuda);
  // a round of all 512 threads copies 32 rows of A, or 16 bytes of each of 64 rows of B: only their
  // rows are divided
  EXPECT_EQ(times("20736 * ((fe_0 + 1) % 18)", text), 1) << text;
  EXPECT_EQ(times("373248 * ((16 * ab_0 + 4 * A_tile_1_round + cd_1) / 9)", text), 1);
  EXPECT_EQ(times("ab_2 / 4 + 128 * ab_0 + 32 * A_tile_1_round + 8 * cd_1 < 5184 ? 8 : 0", text),
            1);
  EXPECT_EQ(times("copy_async_16(\n", text), 2);
}

TEST(FusedSlicings, AreFoundAndRankedBeforePlainTiles) {
  const Kernel kernel = contraction("abcd-aebf-dfce", {40, 40, 40, 40, 40, 40});
  const SlicingStream stream(kernel, few_items());
  const Slicing best = stream.at(0).slicing;
  EXPECT_EQ(best.fusions.size(), 3U) << to_string(best);
  EXPECT_EQ(stream.find(best), 0U);
  EXPECT_EQ(stream.find_words(to_string(best)), 0U);
  std::size_t plain = 0;
  while (!stream.at(plain).slicing.fusions.empty()) {
    ++plain;
  }
  EXPECT_GT(stream.predicted_seconds(plain), 2 * stream.predicted_seconds(0));
}

// Tiles of e and f: neighbours of A are 4 apart, those of B are contiguous by 4.
TEST(FusedSlicings, KnowTheLinesThatCopiesTouch) {
  const Kernel kernel = infer_types(contraction("abcd-aebf-dfce", {72, 72, 72, 72, 72, 72}));
  const auto found = detail::fused_contractions(kernel, {}, MachineModel{});
  ASSERT_EQ(found.size(), 2U);
  ASSERT_EQ(found[0].fusions.back().parts.back(), (FusedIname{"e", 4}));
  std::map<std::string, detail::NeighbourLines> lines;
  for (const detail::SlicedRead& each : found[0].problem.reads) {
    lines[each.array] = each.lines;
  }
  EXPECT_EQ(lines["A"].contiguous, 1);
  EXPECT_EQ(lines["A"].counts, (std::array<double, 6>{1, 2, 4, 4, 4, 4}));
  EXPECT_EQ(lines["B"].contiguous, 4);
  EXPECT_EQ(lines["B"].counts, (std::array<double, 6>{1, 1, 1, 2, 4, 8}));
}

// Of all families together: searches try them before anything else.
TEST(FusedSlicings, BeginSearchesWithTheBestShapes) {
  const SlicingStream stream(contraction("abcd-aebf-dfce", {40, 40, 40, 40, 40, 40}), few_items());
  const std::vector<std::size_t> places = stream.seed_shapes();
  EXPECT_TRUE(std::is_sorted(places.begin(), places.end()));
  EXPECT_LE(places.size(), 40U);
  for (const std::size_t each : places) {
    EXPECT_FALSE(stream.at(each).slicing.fusions.empty()) << stream.at(each).words;
  }
}

// Sums are short, so that writing takes most of the time: runs of results are whole sectors.
TEST(FusedSlicings, WriteRunsWhereSumsAreShort) {
  const Kernel kernel = contraction("abcdef-gdab-efgc", {24, 16, 16, 16, 24, 16, 24});
  const SlicingStream stream(kernel, few_items());
  const Slicing best = stream.at(0).slicing;
  ASSERT_EQ(best.fusions.size(), 2U) << to_string(best);
  for (const InameFusion& fusion : best.fusions) {
    const FusedIname& last = fusion.parts.back();
    EXPECT_TRUE(last.iname != "f" || last.tile == 1) << to_string(best);
  }
}

// The result is contiguous along i, which is short, and then along k.
TEST(FusedSlicings, PermuteShortAxes) {
  const Kernel kernel =
      make_kernel("{[i, j, k, l]: 0 <= i < 24 and 0 <= j < 100 and 0 <= k < 96 and 0 <= l < 300}",
                  "out[l, j, k, i] = a[i, j, k, l]", {.default_type = cgen::f32});
  const SlicingStream stream(kernel, {});
  const InameSlicing& fastest = stream.at(0).slicing.inames.front();
  EXPECT_TRUE(std::any_of(fastest.factors.begin(), fastest.factors.end(),
                          [](const auto& each) { return each.axis.kind == AxisKind::block; }))
      << "neighbouring threads write neighbours: " << stream.at(0).words;
  const std::optional<std::size_t> found =
      stream.find_words("fuse ki = k i; ki: g.0 l.0*32; l: g.1 l.1*5 ilp*6; j: g.2; fetch a");
  ASSERT_TRUE(found);
  const std::string text =
      generate_text(checked_kernel(apply(kernel, stream.at(*found).slicing)), Target::cuda);
  EXPECT_EQ(times("out[6912000 * l_0 + 1382400 * l_1 + 2304 * j + 32 * ki_0 + ki_1] =", text), 1)
      << text;
}
TEST(FusedSlicings, LeavePermutationsOfLongAxesAlone) {
  const SlicingStream stream(make_kernel("{[i, j, k]: 0 <= i, j, k < 96}",
                                         "out[k, j, i] = a[i, j, k]", {.default_type = cgen::f32}),
                             few_items());
  for (std::size_t i = 0; i < stream.count(); i += 97) {
    EXPECT_TRUE(stream.at(i).slicing.fusions.empty()) << stream.at(i).words;
  }
}

TEST(FusedSlicings, AreRenamedWithTheirKernels) {
  const Kernel one = contraction("abcd-aebf-dfce", {8, 8, 8, 8, 8, 8});
  const Kernel other = make_kernel("{[i, j, k, l, m, n]: 0 <= i, j, k, l, m, n < 8}",
                                   "y[i, j, k, l] = sum((m, n), u[i, m, j, n]*v[l, n, k, m])",
                                   {.default_type = cgen::f32});
  const CanonicalForm form = canonical_form(one);
  const CanonicalForm other_form = canonical_form(other);
  ASSERT_EQ(form.key, other_form.key);
  const Slicing slicing = parse_slicing(
      "fuse ab = a b; fuse ef = e f*4; d: g.0 l.0*8; ab: g.1 l.1*16; ef: for for*8; fetch A over "
      "ab_1,ef_1");
  const Slicing renamed = from_canonical(to_canonical(slicing, form), other_form);
  EXPECT_EQ(to_string(renamed),
            "fuse ij = i j; fuse mn = m n*4; l: g.0 l.0*8; ij: g.1 l.1*16; mn: for for*8; fetch u "
            "over ij_1,mn_1");
  EXPECT_EQ(from_canonical(to_canonical(slicing, form), form), slicing);
}

TEST(FusedSlicings, AreOnlyListedWhereLengthsAreKnown) {
  const Kernel kernel =
      make_kernel("{[a, b, c, k]: 0 <= a, b, c, k < n}", "C[a, b, c] = sum(k, A[a, k, b]*B[k, c])",
                  {.default_type = cgen::f32});
  SlicingConstraints constraints = few_items();
  constraints.parameters = {{"n", 64}};
  const SlicingStream open(kernel, constraints);
  for (std::size_t i = 0; i < open.count(); i += 97) {
    EXPECT_TRUE(open.at(i).slicing.fusions.empty());
  }
  const Slicing fused = parse_slicing("fuse ab = a b; ab: g.0 l.0*64");
  EXPECT_ERROR("loopy.join_inames.may_be_empty", apply(kernel, fused));
  // it can be said all the same, where no length is 0
  EXPECT_NO_THROW(static_cast<void>(
      generate(checked_kernel(apply(assume(kernel, "n >= 1"), fused)), Target::cuda)));
  const SlicingStream fixed(fix_parameters(kernel, {{"n", 64}}), few_items());
  bool has_any = false;
  for (std::size_t i = 0; i < fixed.count() && !has_any; ++i) {
    has_any = !fixed.at(i).slicing.fusions.empty();
  }
  EXPECT_TRUE(has_any);
}

}  // namespace
}  // namespace rtcg::loopy
