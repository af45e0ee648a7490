#include "rtcg/loopy/transform/map_domain.h"

#include <gtest/gtest.h>

#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/symbolic/print_expr.h"
#include "rtcg/loopy/transform/split_iname.h"
#include "rtcg/loopy/transform/tag_inames.h"
#include "rtcg/loopy/transform/why_not.h"
#include "tests/loopy/support/kernel_text.h"
#include "tests/loopy/support/replay.h"
#include "tests/loopy/support/same_results.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

Kernel sums() {
  return make_kernel("{[i, j]: 0 <= i < n and 0 <= j < m}", "b[i, j] = a[i + j]*i",
                     {.default_type = cgen::f32});
}

TEST(MapDomain, SkewsLoops) {
  const Kernel skewed = map_domain(sums(), {{"d", "i + j"}, {"e", "j"}});
  EXPECT_EQ(domains_of(skewed), R"([d, e]: e <= d and d < e + n and e >= 0 and e < m
)");
  EXPECT_EQ(statements_of(skewed), R"(b[d - e, e] = a[d]*(d - e)
)");
  expect_same_results(sums(), skewed, {{"n", 4}, {"m", 3}});
  expect_recipe(sums(), skewed, "map_domain(d:i + j, e:j)\n");
}

TEST(MapDomain, ReversesAndShiftsLoops) {
  const Kernel reversed = map_domain(sums(), {{"r", "n - 1 - i"}});
  EXPECT_EQ(statements_of(reversed), R"(b[n - r - 1, j] = a[j + n - r - 1]*(n - r - 1)
)");
  expect_same_results(sums(), reversed, {{"n", 4}, {"m", 3}});
  expect_same_results(sums(), map_domain(sums(), {{"s", "j + 7"}}), {{"n", 4}, {"m", 3}});
}

TEST(MapDomain, MayKeepNames) {
  const Kernel skewed = map_domain(sums(), {{"i", "i + j"}, {"j", "j"}});
  EXPECT_EQ(statements_of(skewed), R"(b[i - j, j] = a[i]*(i - j)
)");
  expect_same_results(sums(), skewed, {{"n", 4}, {"m", 3}});
  // the names change places
  expect_same_results(sums(), map_domain(sums(), {{"j", "i"}, {"i", "j"}}), {{"n", 4}, {"m", 3}});
}

TEST(MapDomain, MapsReductionsAndRules) {
  const Kernel kernel =
      make_kernel("{[i, x, y]: 0 <= i < n and 0 <= x < 5 and 0 <= y < 3}",
                  "f(x) := a[i, x]\nb[i] = sum((x, y), f(x)*y)", {.default_type = cgen::f32});
  const Kernel mapped = map_domain(kernel, {{"p", "x + 2*y"}, {"q", "x + 3*y"}});
  EXPECT_EQ(statements_of(mapped), R"(b[i] = sum((p, q), f(3*p - 2*q)*(q - p))
)");
  EXPECT_EQ(to_string(mapped.rules.front().body), "a[i, x]");  // x is a parameter there
  expect_same_results(kernel, mapped, {{"n", 3}});
}

TEST(MapDomain, MapsSplitTriangles) {
  const Kernel triangle = make_kernel("{[i, j]: 0 <= i < n and 0 <= j <= i}", "b[i, j] = a[i] + j",
                                      {.arguments = "b: f32[n, n]", .default_type = cgen::f32});
  const Kernel mapped = map_domain(triangle, {{"i", "i"}, {"k", "i - j"}});
  expect_same_results(triangle, mapped, {{"n", 5}});
  expect_same_results(triangle, split_iname(mapped, "k", 2), {{"n", 5}});
}

TEST(MapDomain, LeavesStrides) {
  const Kernel diamonds = map_domain(sums(), {{"s", "i + j"}, {"d", "i - j"}});
  EXPECT_EQ(domains_of(diamonds),
            "[s, d]: d + s >= 0 and d + s < 2*n - 1 and d <= s and s < 2*m + d - 1 and (d + s) % 2 "
            "== 0\n");
  EXPECT_EQ(statements_of(diamonds),
            "b[(d + s) // 2, (s - d) // 2] = a[(d + s) // 2 + (s - d) // 2]*((d + s) // 2)\n");
  expect_recipe(sums(), diamonds, "map_domain(s:i + j, d:i - j)\n");
  expect_same_results(sums(), diamonds, {{"n", 5}, {"m", 4}});
  for (const InameMap& map :
       {InameMap{{"d", "2*i"}}, InameMap{{"d", "3 - 4*i"}},
        InameMap{{"p", "2*i + j"}, {"q", "i - 2*j"}},
        InameMap{{"p", "6*i + n"}, {"q", "4*j + 3*i"}}, InameMap{{"p", "2*i"}, {"q", "2*j"}}}) {
    expect_same_results(sums(), map_domain(sums(), map), {{"n", 5}, {"m", 4}});
  }
}

TEST(MapDomain, KeepsTheOrderOfStrides) {
  // the wave u[t, x] needs both neighbours at t - 1: diamonds of s = t + x, d = t - x keep it
  const Kernel wave = make_kernel("{[t, x]: 1 <= t < 6 and 1 <= x < 9}",
                                  "u[t, x] = u[t - 1, x - 1] + 0.5*u[t - 1, x + 1]",
                                  {.arguments = "u: f32[6, 10]"});
  expect_same_results(wave, map_domain(wave, {{"s", "t + x"}, {"d", "t - x"}}), {});
  EXPECT_ERROR("loopy.map_domain.carried_value",
               map_domain(wave, {{"s", "x - t"}, {"d", "t + x"}}));
}

TEST(MapDomain, RefusesWhatIsNoBijection) {
  EXPECT_ERROR("loopy.map_domain.no_bijection", map_domain(sums(), {{"d", "i + j"}}));
  EXPECT_ERROR("loopy.map_domain.no_bijection",
               map_domain(sums(), {{"d", "i + j"}, {"e", "2*i + 2*j"}}));
  EXPECT_ERROR("loopy.map_domain.no_bijection",
               map_domain(sums(), {{"d", "i + 5000*j"}, {"e", "j"}}));
  EXPECT_EQ(
      why_not([&] {
        return map_domain(sums(), {{"d", "1024*i + j"}, {"e", "i + 2*j"}});
      }),
      "i, j cannot become d, e: the determinant of the coefficients is 2047, and must be from "
      "1 to 1024 or from -1 to -1024 for each point to be visited once");
  EXPECT_EQ(why_not([&] { return map_domain(sums(), {{"d", "i"}}); }), std::nullopt);
}

TEST(MapDomain, RefusesWhatIsNotAffine) {
  EXPECT_ERROR("loopy.map_domain.not_affine", map_domain(sums(), {{"d", "i*j"}, {"e", "j"}}));
  // found by mutated recipes: a name that nothing has came out of the generator
  EXPECT_ERROR("loopy.map_domain.not_affine", map_domain(sums(), {{"d", "i + q"}, {"e", "j"}}));
  EXPECT_ERROR("loopy.parse_expr.syntax", map_domain(sums(), {{"d", "i +"}}));
  const Kernel kernel =
      make_kernel("{[i]: 0 <= i < n}", "<i32> t = 1\nb[i] = t", {.default_type = cgen::f32});
  EXPECT_ERROR("loopy.map_domain.not_affine", map_domain(kernel, {{"d", "i + t"}}));
}

TEST(MapDomain, RefusesTakenNamesAndTags) {
  EXPECT_ERROR("loopy.map_domain.name_taken", map_domain(sums(), {{"a", "i"}}));
  EXPECT_ERROR("loopy.map_domain.name_taken", map_domain(sums(), {{"j", "i"}}));
  EXPECT_ERROR("loopy.map_domain.name_taken", map_domain(sums(), {{"d", "i + j"}, {"d", "j"}}));
  EXPECT_ERROR("loopy.map_domain.tagged_already",
               map_domain(tag_inames(sums(), "i:g.0"), {{"d", "i"}}));
}

TEST(MapDomain, RefusesInamesThatAreUsedApart) {
  const Kernel apart =
      make_kernel("{[i, j]: 0 <= i, j < n}", "b[i, j] = 1\nc[i] = 2", {.default_type = cgen::f32});
  EXPECT_ERROR("loopy.map_domain.not_together", map_domain(apart, {{"d", "i + j"}, {"e", "j"}}));
  const Kernel stray = make_kernel("{[i]: 0 <= i < n} {[j, k]: 0 <= j <= k < n}",
                                   "b[i, j] = sum(k, a[k])\nc[k] = 2", {.default_type = cgen::f32});
  EXPECT_ERROR("loopy.map_domain.not_together", map_domain(stray, {{"d", "i + j"}, {"e", "j"}}));
}

TEST(MapDomain, RefusesToReverseWhatIterationsHandOn) {
  const Kernel wave = make_kernel("{[i, j]: 1 <= i, j < n}", "u[i, j] = u[i - 1, j] + u[i, j - 1]",
                                  {.default_type = cgen::f32});
  // along the diagonals, all that an element needs is there
  expect_same_results(wave, map_domain(wave, {{"d", "i + j"}, {"e", "j"}}), {{"n", 5}});
  EXPECT_ERROR("loopy.map_domain.carried_value", map_domain(wave, {{"r", "n - i"}}));
  EXPECT_EQ(why_not([&] {
              return map_domain(wave, {{"d", "i - j"}, {"e", "j"}});
            }),
            "loops cannot become [d, e]: an element of 'u' is used in two iterations: first "
            "'set_u' writes it at d = 0, e = 1, then 'set_u' reads it at d = -1, e = 2; they would "
            "change places");
}

}  // namespace
}  // namespace rtcg::loopy
