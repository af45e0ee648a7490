// Statements that share inames without need, and the word 'apart'.
#include "rtcg/loopy/slice/apart_nests.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/kernel/parse_recipe.h"
#include "rtcg/loopy/slice/enumerate_slicings.h"
#include "rtcg/loopy/transform/tag_inames.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

Kernel square(const std::string& statements) {
  return make_kernel("{[i, j, k, l]: 0 <= i, j, k, l < 1024}", statements,
                     {.default_type = cgen::f32});
}

std::string steps_of(const std::string& statements) {
  const auto apart = detail::apart_nests(square(statements));
  std::string text;
  if (apart) {
    for (const RecipeStep& each : apart->steps) {
      text += to_string(each) + "\n";
    }
  }
  return text;
}

TEST(ApartNests, HaveLoopsOfTheirOwn) {
  // what one sums over is a loop of the other
  EXPECT_EQ(steps_of("s[j] = sum(i, r[i]*a[i, j])\nq[i] = sum(j, a[i, j]*p[j])"),
            "duplicate_inames([i, j], new_names=[i_q, j_q], within=id:set_q)\n");
  // a product beside sums of rows; statements of one nest stay together
  EXPECT_EQ(steps_of("r[i] = sum(j, a[i, j])\n"
                     "c[i, k] = sum(j, a[i, j]*b[j, k])\n"
                     "e[i, k] = c[i, k] + 1"),
            "duplicate_inames([i, j], new_names=[i_c, j_c], within=id:set_c or id:set_e)\n");
  // a product of what was computed before
  EXPECT_EQ(steps_of("y[i, j] = x[i, j] + 1\nc[k, j] = sum(i, x[i, k]*b[i, j])"),
            "duplicate_inames([i, j], new_names=[i_c, j_c], within=id:set_c)\n");
  // they only sum over the same iname
  EXPECT_EQ(steps_of("r[i] = sum(k, a[i, k])\ns[j] = sum(k, b[j, k])"),
            "duplicate_inames([k], new_names=[k_s], within=id:set_s)\n");
  // bounds that depend on what gets a new name
  const auto triangle = detail::apart_nests(
      make_kernel("{[i, j, k]: 0 <= i, k < 64 and 0 <= j <= i}",
                  "r[i] = x[i]\nc[k, i] = sum(j, a[k, j]*b[i, j])", {.default_type = cgen::f32}));
  ASSERT_TRUE(triangle);
  EXPECT_EQ(triangle->copies, (std::map<std::string, std::string>{{"i_c", "i"}}));
  EXPECT_TRUE(triangle->is_any_independent);
  // rows of one triangle, of which each statement uses an iname of its own
  const auto rows = detail::apart_nests(
      make_kernel("{[i, j, k, l, e]: 0 <= j, k, l <= i and i < 64 and 0 <= e < 16}",
                  "s[i, j] = sum(e, q[i, e]*p[j, e])\n<> total = sum(k, s[i, k])\n"
                  "w[i, l] = s[i, l]/total",
                  {.default_type = cgen::f32, .sequential_dependencies = true}));
  ASSERT_TRUE(rows);
  EXPECT_EQ(rows->copies, (std::map<std::string, std::string>{
                              {"i_total", "i"}, {"k_total", "k"}, {"l_total", "l"}}));
}

TEST(ApartNests, AreLeftTogetherWhereTheyBelongTogether) {
  for (const char* statements :
       {"y[i, j] = x[i, j] + 1\nz[i, j] = x[i, j]*2",                   // one nest
        "r[i] = sum(j, a[i, j])\ny[i, k] = a[i, k]/r[i]",               // a row
        "<> t = sum(j, a[i, j])\nc[i, k] = t*sum(l, a[i, l]*b[l, k])",  // a private value
        "r[i] = sum(j, a[i, j])\ns[l] = sum(k, b[l, k])",               // nothing shared
        "q[i] = sum(j, a[i, j]*p[j])"}) {
    EXPECT_EQ(steps_of(statements), "") << statements;
  }
  // bounds that a statement computes
  EXPECT_FALSE(detail::apart_nests(
      make_kernel("{[r, v]: 0 <= r, v < 8}\n{[k]: first <= k < last}",
                  "<> first = start[r]\n<> last = start[r + 1]\ny[r, v] = sum(k, a[k, v])",
                  {.arguments = "start: i32[9]; a: f32[64, 8]; y: f32[8, 8]"})));
  EXPECT_FALSE(detail::apart_nests(
      tag_inames(square("s[j] = sum(i, a[i, j])\nq[i] = sum(j, a[i, j])"), "i:g.0")));
}

TEST(ApartNests, AreListedAsIfTheyHadOtherNames) {
  const SlicingConstraints constraints{.min_threads = 64, .max_threads = 128};
  const Kernel shared = square("s[j] = sum(i, r[i]*a[i, j])\nq[i] = sum(j, a[i, j]*p[j])");
  const SlicingStream stream(shared, constraints);
  const SlicingStream named(square("s[j] = sum(i, r[i]*a[i, j])\nq[k] = sum(l, a[k, l]*p[l])"),
                            constraints);
  const RankedSlicing first = stream.at(0);
  EXPECT_EQ(first.words.rfind("apart; ", 0), 0U) << first.words;
  EXPECT_EQ(first.predicted_seconds, named.at(0).predicted_seconds);
  EXPECT_EQ(stream.find_words(first.words), 0U);
  EXPECT_TRUE(parse_slicing(first.words) == first.slicing);
  for (std::size_t i = 0; i < 3; ++i) {
    const RankedSlicing each = stream.at(i * named.count() / 4);
    EXPECT_NO_THROW(static_cast<void>(generate(apply(shared, each.slicing), Target::cuda)))
        << each.words;
  }
  // a hint is about all copies of a loop
  SlicingConstraints hinted = constraints;
  hinted.inames["j"].threads = {32};
  const SlicingStream with_hint(shared, hinted);
  const RankedSlicing kept = with_hint.at(0);
  const auto copy = std::find_if(kept.slicing.inames.begin(), kept.slicing.inames.end(),
                                 [](const InameSlicing& each) { return each.iname == "j_q"; });
  ASSERT_NE(copy, kept.slicing.inames.end()) << kept.words;
  EXPECT_EQ(copy->factors.back().length, 32) << kept.words;
}

TEST(ApartNests, AreRefusedWhereThereAreNone) {
  EXPECT_ERROR("loopy.recipe_of.nothing_apart",
               recipe_of(square("y[i, j] = x[i, j] + 1"), parse_slicing("apart")));
  EXPECT_ERROR("loopy.parse_slicing.syntax", parse_slicing("apart; apart"));
  EXPECT_ERROR("loopy.parse_slicing.syntax", parse_slicing("apart i"));
}

}  // namespace
}  // namespace rtcg::loopy
