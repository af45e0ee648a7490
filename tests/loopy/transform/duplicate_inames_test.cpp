#include "rtcg/loopy/transform/duplicate_inames.h"

#include <gtest/gtest.h>

#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/transform/tag_inames.h"
#include "rtcg/loopy/transform/why_not.h"
#include "tests/loopy/support/kernel_text.h"
#include "tests/loopy/support/replay.h"
#include "tests/loopy/support/same_results.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

Kernel two_statements() {
  return make_kernel("{[i, j]: 0 <= i, j < n}",
                     "b[i] = 2*a[i] {id=first}\nc[i, j] = b[i] {id=second}",
                     {.default_type = cgen::f32});
}
Kernel triangle() {
  return make_kernel("{[i, j]: 0 <= i < n and 0 <= j <= i}", "b[i, j] = 2*a[i]",
                     {.arguments = "b: f32[n, n]", .default_type = cgen::f32});
}

TEST(DuplicateInames, GivesAStatementItsOwnLoop) {
  const Kernel kernel = duplicate_inames(two_statements(), {"i"}, {.within = "id:second"});
  EXPECT_EQ(statements_of(kernel), "b[i] = 2*a[i]\nc[i_0, j] = b[i_0]\n");
  EXPECT_EQ(domains_of(kernel),
            "[i]: i >= 0 and i < n\n[j]: j >= 0 and j < n\n[i_0]: i_0 >= 0 and i_0 < n\n");
  EXPECT_EQ(find_instruction(kernel, "second")->within_inames, (NameSet{"i_0", "j"}));
  expect_recipe(two_statements(), kernel, "duplicate_inames([i], within=id:second)\n");
  expect_same_results(two_statements(), kernel, {{"n", 4}});
}

TEST(DuplicateInames, TakesNames) {
  const Kernel kernel =
      duplicate_inames(two_statements(), {"i", "j"}, {.within = "second", .new_names = {"x", "y"}});
  EXPECT_EQ(statements_of(kernel), "b[i] = 2*a[i]\nc[x, y] = b[x]\n");
  expect_recipe(two_statements(), kernel,
                "duplicate_inames([i, j], new_names=[x, y], within=second)\n");
}

TEST(DuplicateInames, MakesTheNamesThatAreNotStated) {
  const Kernel kernel = duplicate_inames(two_statements(), {"i", "j"}, {.new_names = {"", "i_0"}});
  EXPECT_EQ(statements_of(kernel), "b[i_1] = 2*a[i_1]\nc[i_1, i_0] = b[i_1]\n");
  expect_recipe(two_statements(), kernel, "duplicate_inames([i, j], new_names=[, i_0])\n");
  EXPECT_EQ(statements_of(duplicate_inames(two_statements(), {"i", "j"}, {.new_names = {"", ""}})),
            "b[i_0] = 2*a[i_0]\nc[i_0, j_0] = b[i_0]\n");
}

TEST(DuplicateInames, LeavesTagsBehind) {
  const Kernel kernel = duplicate_inames(tag_inames(two_statements(), "i:g.0"), {"i"});
  EXPECT_EQ(tag_of(kernel, "i_0"), InameTag{});
}

TEST(DuplicateInames, CopiesEitherSideOfATriangle) {
  for (const std::string iname : {"i", "j"}) {
    expect_same_results(triangle(), duplicate_inames(triangle(), {iname}), {{"n", 5}});
  }
  expect_same_results(triangle(), duplicate_inames(triangle(), {"i", "j"}), {{"n", 5}});
}

TEST(DuplicateInames, CopiesInamesOfReductions) {
  const Kernel kernel = make_kernel("{[i, k]: 0 <= i < n and 0 <= k < m}",
                                    "b[i] = sum(k, a[i, k]*k)", {.default_type = cgen::f32});
  const Kernel copied = duplicate_inames(kernel, {"k"});
  EXPECT_EQ(statements_of(copied), "b[i] = sum(k_0, a[i, k_0]*k_0)\n");
  expect_same_results(kernel, copied, {{"n", 3}, {"m", 4}});
}

TEST(DuplicateInames, ExpandsRulesThatUseThem) {
  const Kernel kernel = make_kernel("{[i, k]: 0 <= i < n and 0 <= k < m}",
                                    "f(x) := sum(k, a[x, k]*w[i])\nb[i] = f(i)\nc[i] = f(i)",
                                    {.default_type = cgen::f32});
  const Kernel rows = duplicate_inames(kernel, {"i"}, {.within = "writes:c"});
  EXPECT_EQ(statements_of(rows), "b[i] = f(i)\nc[i_0] = sum(k, a[i_0, k]*w[i_0])\n");
  const Kernel sums = duplicate_inames(kernel, {"k"}, {.within = "writes:c"});
  EXPECT_EQ(statements_of(sums), "b[i] = f(i)\nc[i] = sum(k_0, a[i, k_0]*w[i])\n");
  expect_same_results(kernel, rows, {{"n", 3}, {"m", 2}});
  expect_same_results(kernel, sums, {{"n", 3}, {"m", 2}});
}

TEST(DuplicateInames, LeavesRulesWithParametersOfThatNameAlone) {
  const Kernel kernel =
      make_kernel("{[i]: 0 <= i < n}", "f(i) := i*i\nb[i] = f(i)", {.default_type = cgen::f32});
  EXPECT_EQ(statements_of(duplicate_inames(kernel, {"i"})), "b[i_0] = f(i_0)\n");
}

TEST(DuplicateInames, RefusesWhatDoesNotFit) {
  EXPECT_ERROR("loopy.duplicate_inames.unknown_iname", duplicate_inames(two_statements(), {"q"}));
  EXPECT_EQ(why_not([&] { return duplicate_inames(two_statements(), {"q"}); }),
            "kernel 'loopy_kernel' has no iname 'q': its inames are i, j");
  EXPECT_ERROR("loopy.duplicate_inames.unused",
               duplicate_inames(two_statements(), {"j"}, {.within = "first"}));
  EXPECT_EQ(why_not([&] { return duplicate_inames(two_statements(), {"j"}, {.within = "first"}); }),
            "no statement that fits 'first' uses any of [j]");
  EXPECT_EQ(why_not([&] { return duplicate_inames(two_statements(), {"j"}); }), std::nullopt);
  EXPECT_ERROR("loopy.match_instructions.syntax",
               duplicate_inames(two_statements(), {"j"}, {.within = "id:a and"}));
  EXPECT_TRUE(
      why_not([&] { return duplicate_inames(two_statements(), {"j"}, {.within = "id:a and"}); }));
}

TEST(DuplicateInames, RefusesNamesThatDoNotFit) {
  EXPECT_ERROR("loopy.duplicate_inames.name_taken",
               duplicate_inames(two_statements(), {"i"}, {.new_names = {"a"}}));
  EXPECT_ERROR("loopy.duplicate_inames.name_taken",
               duplicate_inames(two_statements(), {"i"}, {.new_names = {"x", "y"}}));
  EXPECT_ERROR("loopy.duplicate_inames.name_taken",
               duplicate_inames(two_statements(), {"i", "j"}, {.new_names = {"x", "x"}}));
  EXPECT_EQ(why_not([&] {
              return duplicate_inames(two_statements(), {"i", "j"}, {.new_names = {"x", "x"}});
            }),
            "two inames cannot both be called 'x'");
}

TEST(DuplicateInames, RefusesToPartInamesThatDepend) {
  const Kernel apart = make_kernel("{[i]: 0 <= i < n} {[j]: 0 <= j < i}", "a[i, j] = 1.0",
                                   {.arguments = "a: f32[n, n]"});
  EXPECT_ERROR("loopy.duplicate_inames.bounds_depend", duplicate_inames(apart, {"i"}));
  EXPECT_EQ(why_not([&] { return duplicate_inames(apart, {"i"}); }),
            "the bounds of 'j' in statement 'set_a' depend on 'i': duplicate 'j', too");
  expect_same_results(apart, duplicate_inames(apart, {"i", "j"}), {{"n", 4}});
  // the same in one domain: what ties 'j' to a copy of 'i' has no place where 'l' is used without
  // it
  for (const char* domain : {"{[i, j, l]: 0 <= j, l <= i and i < n}",
                             "{[i, j, l, m]: 0 <= j, l <= m and m <= i and i < n}",
                             "{[i, j, l]: 0 <= i, j, l < n and (i + j) mod 2 = 0}"}) {
    SCOPED_TRACE(domain);
    const Kernel one = make_kernel(domain,
                                   "c[i] = 1.0 {id=c}\na[i, j] = 1.0 {id=a}\n"
                                   "b[i, l] = 2.0 {id=b}",
                                   {.arguments = "a, b: f32[n, n]; c: f32[n]"});
    EXPECT_ERROR("loopy.duplicate_inames.bounds_depend",
                 duplicate_inames(one, {"i"}, {.within = "id:a or id:b"}));
    expect_same_results(one, duplicate_inames(one, {"i"}, {.within = "id:a"}), {{"n", 4}});
    expect_same_results(one, duplicate_inames(one, {"i", "j", "l"}, {.within = "id:a or id:b"}),
                        {{"n", 4}});
  }
}

TEST(MakeReductionInamesUnique, RenamesWhatIsShared) {
  const Kernel kernel =
      make_kernel("{[i, k]: 0 <= i < n and 0 <= k < m}",
                  "b[i] = sum(k, a[i, k]) + sum(k, a[i, k]*k)\nc[i] = sum(k, a[i, k])\nd[k] = 1.0",
                  {.default_type = cgen::f32});
  const Kernel unique = make_reduction_inames_unique(kernel);
  EXPECT_EQ(statements_of(unique),
            "b[i] = sum(k_0, a[i, k_0]) + sum(k_1, a[i, k_1]*k_1)\nc[i] = sum(k_2, a[i, k_2])\n"
            "d[k] = 1.0\n");
  expect_same_results(kernel, unique, {{"n", 3}, {"m", 4}});
  expect_recipe(kernel, unique, "make_reduction_inames_unique()\n");
}

TEST(MakeReductionInamesUnique, TakesInnerReductionsAlong) {
  const Kernel kernel =
      make_kernel("{[i]: 0 <= i < n} {[k]: 0 <= k < m} {[l]: 0 <= l < k}",
                  "b[i] = sum(k, sum(l, a[i, k, l]))\nc[i] = sum(k, sum(l, a[i, k, l]))",
                  {.arguments = "a: f32[n, m, m]; ...", .default_type = cgen::f32});
  const Kernel unique = make_reduction_inames_unique(kernel);
  EXPECT_EQ(statements_of(unique),
            "b[i] = sum(k, sum(l, a[i, k, l]))\nc[i] = sum(k_0, sum(l_0, a[i, k_0, l_0]))\n");
  expect_same_results(kernel, unique, {{"n", 2}, {"m", 4}});
}

TEST(DuplicateInames, RefusesToTearValuesFromTheirIteration) {
  const Kernel kernel = make_kernel("{[i]: 0 <= i < n}", "<> t = a[i] {id=t}\nb[i] = t {id=b}",
                                    {.default_type = cgen::f32});
  EXPECT_ERROR("loopy.duplicate_inames.torn_value",
               duplicate_inames(kernel, {"i"}, {.within = "id:b"}));
  EXPECT_EQ(why_not([&] { return duplicate_inames(kernel, {"i"}, {}); }), std::nullopt);
}

TEST(DuplicateInames, RefusesToTurnIterationsRound) {
  const auto kernel = [](const char* statements) {
    return make_kernel("{[i]: 0 <= i < n}", statements,
                       {.arguments = "a: f64[n + 2]; b, x: f64[n]", .default_type = cgen::f64});
  };
  const auto spread = [](const Kernel& whole) {
    return duplicate_inames(whole, {"i"}, {.within = "id:second"});
  };
  // reads an element before it is written; hands one on; writes one twice
  for (const char* statements : {"a[i] = x[i] {id=first}\nb[i] = a[i + 1] {id=second}",
                                 "b[i] = a[i] {id=first}\na[i + 1] = x[i] {id=second}",
                                 "a[i] = x[i] {id=first}\na[i + 1] = 2*x[i] {id=second}"}) {
    EXPECT_ERROR("loopy.duplicate_inames.carried_value", spread(kernel(statements)));
    // along an axis, iterations have no order
    EXPECT_EQ(why_not([&] {
                return duplicate_inames(tag_inames(kernel(statements), "i:g.0"), {"i"},
                                        {.within = "id:second"});
              }),
              std::nullopt);
  }
  EXPECT_EQ(why_not([&] {
              return duplicate_inames(kernel("a[i] = x[i] {id=first}\nb[i] = a[i + 1] {id=second}"),
                                      {"i"}, {.within = "id:second"});
            }),
            "'first' and 'second' cannot have loops of their own over [i]: an element of 'a' is "
            "used in two iterations: 'second' reads it at i = 0, and later 'first' writes it at "
            "i = 1");
}

TEST(DuplicateInames, KeepsWhatIsHandedOnForwards) {
  const Kernel kernel = make_kernel(
      "{[i]: 0 <= i < n}", "a[i + 1] = x[i] {id=first}\nb[i] = a[i] + a[i + 1] {id=second}",
      {.arguments = "a: f64[n + 1]; b, x: f64[n]"});
  expect_same_results(kernel, duplicate_inames(kernel, {"i"}, {.within = "id:second"}), {{"n", 5}});
  // a temporary has no value before it is written, so that reading it earlier is meaningless
  const Kernel ring = make_kernel("{[i]: 0 <= i < 8}",
                                  "<> t[i] = x[i] {id=first}\nb[i] = t[(i + 1) % 8] {id=second}",
                                  {.default_type = cgen::f64});
  EXPECT_EQ(why_not([&] { return duplicate_inames(ring, {"i"}, {.within = "id:second"}); }),
            std::nullopt);
  // but not where its elements are used again and again
  const Kernel window =
      make_kernel("{[i]: 0 <= i < 8}", "<> t[i % 2] = x[i] {id=first}\nb[i] = t[i % 2] {id=second}",
                  {.default_type = cgen::f64});
  EXPECT_ERROR("loopy.duplicate_inames.carried_value",
               duplicate_inames(window, {"i"}, {.within = "id:second"}));
}

TEST(DuplicateInames, RefusesLoopsThatWouldNestOtherwise) {
  const Kernel wave = make_kernel("{[i, j]: 1 <= i < n and 0 <= j < n}",
                                  "u[i, j] = 0.5*u[i - 1, j + 1]", {.default_type = cgen::f32});
  EXPECT_ERROR("loopy.duplicate_inames.carried_value", duplicate_inames(wave, {"i"}));
  EXPECT_EQ(why_not([&] { return duplicate_inames(wave, {"i"}); }),
            "the loops would come in another order: an element of 'u' is used in two "
            "iterations: first 'set_u' writes it at j = 1, i_0 = 1, then 'set_u' reads it at j = "
            "0, i_0 = 2; they would change places");
  expect_same_results(wave, duplicate_inames(wave, {"i", "j"}), {{"n", 5}});
  // the loop of another statement, which would put j outside of i for all
  const Kernel two =
      make_kernel("{[i, j]: 1 <= i < 9 and 0 <= j < 9}",
                  "for i, j\nu[i, j] = 0.5*u[i - 1, j + 1]\nb[i, j] = 2*a[i, j] {id=b}\nend",
                  {.arguments = "u: f64[9, 10]; a, b: f64[9, 9]"});
  EXPECT_ERROR("loopy.duplicate_inames.carried_value",
               duplicate_inames(two, {"i"}, {.within = "id:b"}));
}

}  // namespace
}  // namespace rtcg::loopy
