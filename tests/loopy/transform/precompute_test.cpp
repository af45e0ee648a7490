#include "rtcg/loopy/transform/precompute.h"

#include <gtest/gtest.h>

#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/kernel/print_kernel.h"
#include "rtcg/loopy/recipe/apply_recipe.h"
#include "rtcg/loopy/transform/expand_subst.h"
#include "rtcg/loopy/transform/extract_subst.h"
#include "rtcg/loopy/transform/fix_parameters.h"
#include "rtcg/loopy/transform/split_iname.h"
#include "rtcg/loopy/transform/tag_array_axes.h"
#include "rtcg/loopy/transform/tag_inames.h"
#include "rtcg/loopy/transform/why_not.h"
#include "tests/loopy/support/kernel_text.h"
#include "tests/loopy/support/replay.h"
#include "tests/loopy/support/same_results.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

Kernel squares() {
  return split_iname(make_kernel("{[i]: 0 <= i < n}", "f(x) := a[x]*a[x]\nout[i] = f(i)",
                                 {.arguments = "a, out: f32[n]"}),
                     "i", 16);
}
Kernel windows() {
  return split_iname(
      make_kernel("{[i, k]: 0 <= i < n and 0 <= k < 3}", "out[i] = sum(k, a[i + k])*a[i]",
                  {.arguments = "a: f32[n + 2]", .default_type = cgen::f32}),
      "i", 16);
}

/// Whether the last step was recorded so, and makes `after` of `before`.
void expect_last_step(const Kernel& before, const Kernel& after, const std::string& step) {
  EXPECT_EQ(to_string(after.recipe.back()), step);
  EXPECT_EQ(to_string(apply_recipe(before, step)), to_string(after));
}

TEST(Precompute, FillsATemporary) {
  const Kernel done = precompute(squares(), "f", {"i_inner"});
  EXPECT_EQ(to_string(done), R"(kernel loopy_kernel
arguments:
  a: f32[n]
  out: f32[n]
  n: i32
domains:
  {[i_outer, i_inner]: i_outer >= 0 and 16*i_outer + i_inner < n and i_inner >= 0 and i_inner <= 15}
  {[f_store_0]: f_store_0 >= 0 and f_store_0 <= 15}
inames:
  i_outer: for
  i_inner: for
  f_store_0: for
temporaries:
  f_store: ?[16]
rules:
  f(x) := a[x]*a[x]
statements:
  fill_f_store: f_store[f_store_0] = if(16*i_outer + f_store_0 < n, a[16*i_outer + f_store_0]*a[16*i_outer + f_store_0], 0)  {inames=f_store_0:i_outer}
  set_out: out[16*i_outer + i_inner] = f_store[i_inner]  {inames=i_inner:i_outer, dep=fill_f_store}
recipe:
  split_iname(i, 16)
  precompute(f, i_inner)
)");
  EXPECT_EQ(to_string(apply_recipe(squares(), "precompute(f, i_inner)")), to_string(done));
}

TEST(AddPrefetch, FillsATemporary) {
  const Kernel done = add_prefetch(windows(), "a", {"i_inner", "k"});
  EXPECT_EQ(domains_of(done),
            domains_of(windows()) + "[a_fetch_0]: a_fetch_0 >= 0 and a_fetch_0 <= 17\n");
  EXPECT_EQ(statements_of(done),
            "a_fetch[a_fetch_0] = if(16*i_outer + a_fetch_0 < n + 2, "
            "a[16*i_outer + a_fetch_0], 0)\n"
            "out[16*i_outer + i_inner] = sum(k, a_fetch[i_inner + k])*a[16*i_outer + i_inner]\n");
  expect_last_step(windows(), done, "add_prefetch(a, i_inner:k)");
}

TEST(Precompute, KeepsTheResult) {
  expect_same_results(squares(), precompute(squares(), "f", {"i_inner"}), {{"n", 32}});
  const auto fixed = [](Kernel kernel) { return fix_parameters(std::move(kernel), {{"n", 32}}); };
  expect_same_results(windows(), add_prefetch(fixed(windows()), "a", {"i_inner", "k"}),
                      {{"n", 32}});
  expect_same_results(windows(), add_prefetch(windows(), "a", {"k"}), {{"n", 20}});
}

TEST(Precompute, TakesOptions) {
  PrecomputeOptions options;
  options.default_tag = "l.0";
  options.inames = {"ahead"};
  options.temporary_name = "tile";
  options.address_space = AddressSpace::local;
  const Kernel done = precompute(squares(), "f", {"i_inner"}, options);
  EXPECT_EQ(statements_of(done),
            "tile[ahead] = if(16*i_outer + ahead < n, a[16*i_outer + ahead]*a[16*i_outer + ahead], "
            "0)\n"
            "out[16*i_outer + i_inner] = tile[i_inner]\n");
  EXPECT_EQ(tag_of(done, "ahead"), (InameTag{AxisKind::block, 0}));
  EXPECT_EQ(find_temporary(done, "tile")->address_space, AddressSpace::local);
  expect_last_step(squares(), done,
                   "precompute(f, i_inner, address_space=local, default_tag=l.0, inames=ahead, "
                   "temporary_name=tile)");
}

TEST(Precompute, ComputesWithinTheInamesThatTheRuleMentions) {
  const Kernel before =
      make_kernel("{[i, j]: 0 <= i < 4 and 0 <= j < 5}", "f(x) := a[x]*c[j]\nout[i, j] = f(i)",
                  {.default_type = cgen::f32});
  const Kernel done = precompute(before, "f", {"i"});
  EXPECT_EQ(statements_of(done),
            "f_store[f_store_0] = a[f_store_0]*c[j]\nout[i, j] = f_store[i]\n");
  EXPECT_EQ(find_instruction(done, "fill_f_store")->within_inames, (NameSet{"f_store_0", "j"}));
  expect_same_results(before, done, {});
}

TEST(Precompute, FindsCallsWithinOtherRules) {
  const Kernel before =
      make_kernel("{[i]: 0 <= i < 8}", "f(x) := a[x]*a[x]\ng(y) := f(y) + 1\nout[i] = g(i)",
                  {.default_type = cgen::f32});
  const Kernel done = precompute(before, "f", {"i"});
  EXPECT_EQ(statements_of(done), "f_store[f_store_0] = a[f_store_0]*a[f_store_0]\nout[i] = g(i)\n");
  EXPECT_EQ(to_string(find_rule(done, "g")->body), "f_store[y] + 1");
  expect_same_results(before, done, {});
  expect_last_step(before, done, "precompute(f, i)");
}

TEST(Precompute, KeepsRulesOfRules) {
  const Kernel before =
      split_iname(make_kernel("{[i]: 0 <= i < n}",
                              "f(x) := a[x]*a[x]\ng(y) := f(y) + f(y + 1)\nout[i] = g(i)*g(3)",
                              {.arguments = "a: f32[n + 8]; out: f32[n]"}),
                  "i", 4);
  // the inner one first: another rule for the call that stays
  const Kernel inner = precompute(before, "f", {"i_inner"});
  EXPECT_EQ(to_string(find_rule(inner, "g")->body), "f(y) + f(y + 1)");
  EXPECT_EQ(to_string(find_rule(inner, "g_1")->body),
            "f_store[y - 4*i_outer] + f_store[y - 4*i_outer + 1]");
  const Kernel both = precompute(inner, "g_1", {"i_inner"});
  EXPECT_EQ(statements_of(both),
            "f_store[f_store_0] = a[4*i_outer + f_store_0]*a[4*i_outer + f_store_0]\n"
            "g_1_store[g_1_store_0] = f_store[4*i_outer + g_1_store_0 - 4*i_outer] + "
            "f_store[4*i_outer + g_1_store_0 - 4*i_outer + 1]\n"
            "out[4*i_outer + i_inner] = g_1_store[i_inner]*g(3)\n");
  // the outer one first: its fill calls the inner one
  const Kernel outer = precompute(before, "g", {"i_inner"});
  const Kernel chain = precompute(outer, "f", {"g_store_0"});
  EXPECT_EQ(find_instruction(chain, "fill_g_store")->depends_on, NameSet{"fill_f_store"});
  for (const Kernel* kernel : {&both, &chain}) {
    expect_same_results(before, *kernel, {{"n", 16}});
  }
}

TEST(Precompute, ReadsNothingOutsideOfArrays) {
  const auto guarded = [](const std::string& rules, const std::string& statement) {
    const Kernel before =
        split_iname(make_kernel("{[i]: 0 <= i < n}", rules + "\n" + statement,
                                {.arguments = "a, out: f32[n]; c: f32[n + 1]; t: i32[n]"}),
                    "i", 16);
    const Kernel done = precompute(before, "f", {"i_inner"});
    expect_same_results(before, done, {{"n", 21}});
    const std::string statements = statements_of(done);
    return statements.substr(0, statements.find('\n'));
  };
  EXPECT_EQ(guarded("f(x) := a[x]*c[x + 1]", "out[i] = f(i)"),
            "f_store[f_store_0] = if(16*i_outer + f_store_0 < n, "
            "a[16*i_outer + f_store_0]*c[16*i_outer + f_store_0 + 1], 0)");
  // of a branch only what it reads
  EXPECT_EQ(guarded("f(x) := if(x > 0, a[x - 1], 2.0)", "out[i] = f(i)"),
            "f_store[f_store_0] = if(16*i_outer + f_store_0 > 0, if(16*i_outer + f_store_0 - 1 < "
            "n, a[16*i_outer + f_store_0 - 1], 0), 2.0)");
  EXPECT_EQ(guarded("f(x) := a[t[x]]", "out[i] = f(i)"),
            "f_store[f_store_0] = if(16*i_outer + f_store_0 < n, a[t[16*i_outer + f_store_0]], 0)");
}

TEST(Precompute, GuardsReadsWithinSums) {
  const Kernel before = split_iname(
      make_kernel("{[i, k, l]: 0 <= i < n and 0 <= k < 3 and 0 <= l < m}",
                  "f(x) := sum(k, a[x]*c[x + k])\ng(x) := 1 + product(l, a[x])\n"
                  "out[i] = f(i) + g(i)",
                  {.arguments = "a, out: f32[n]; c: f32[n + 2]", .default_type = cgen::f32}),
      "i", 8);
  const Kernel done = precompute(precompute(before, "f", {"i_inner"}), "g", {"i_inner"});
  const std::string statements = statements_of(done);
  EXPECT_NE(
      statements.find("f_store[f_store_0] = if(8*i_outer + f_store_0 < n, sum(k, a[8*i_outer + "
                      "f_store_0]*if(8*i_outer + f_store_0 + k < n + 2, c["),
      std::string::npos)
      << statements;
  // a product over nothing is 1 wherever it is
  EXPECT_NE(statements.find("product(l, if(8*i_outer + g_store_0 < n, a["), std::string::npos)
      << statements;
  expect_same_results(before, done, {{"n", 13}, {"m", 2}});
  expect_same_results(before, done, {{"n", 13}, {"m", 0}});
}

TEST(Precompute, TakesOneCallOfSeveral) {
  const Kernel before = make_kernel("{[i, j]: 0 <= i, j < 8}",
                                    "f(x) := a[x]*a[x]\nout[i, j] = f(i) + f(j) + f(i + j)",
                                    {.default_type = cgen::f32});
  const Kernel one = precompute(before, "f(j)", {"j"});
  EXPECT_EQ(statements_of(one),
            "f_store[f_store_0] = a[f_store_0]*a[f_store_0]\nout[i, j] = f(i) + f_store[j] + f(i + "
            "j)\n");
  expect_last_step(before, one, "precompute(f(j), j)");
  const Kernel all = precompute(before, "f(:)", {});
  EXPECT_EQ(statements_of(all),
            "f_store[f_store_0] = a[f_store_0]*a[f_store_0]\n"
            "out[i, j] = f_store[i] + f_store[j] + f_store[i + j]\n");
  EXPECT_EQ(find_temporary(all, "f_store")->shape, std::vector<Expr>{15});
  expect_last_step(before, all, "precompute(f(:), \"\")");
  expect_same_results(before, one, {});
  expect_same_results(before, all, {});
  EXPECT_ERROR("loopy.precompute.not_possible", precompute(before, "f(:, j)", {"j"}));
  EXPECT_ERROR("loopy.precompute.nothing_replaced", precompute(before, "f(i + 1)", {}));
}

TEST(Precompute, TakesOneStatement) {
  const Kernel before = make_kernel("{[i, j]: 0 <= i, j < 8}",
                                    "f(x) := a[x]*a[x]\nb[i] = f(i) {id=one}\nc[j] = f(j) {id=two}",
                                    {.default_type = cgen::f32});
  const Kernel done = precompute(before, "f(:)", {}, {.within = "id:two"});
  EXPECT_EQ(statements_of(done),
            "f_store[f_store_0] = a[f_store_0]*a[f_store_0]\nb[i] = f(i)\nc[j] = f_store[j]\n");
  expect_last_step(before, done, "precompute(f(:), \"\", within=id:two)");
  expect_same_results(before, done, {});
  EXPECT_ERROR("loopy.precompute.nothing_replaced",
               precompute(before, "f", {"i"}, {.within = "two"}));
}

TEST(Precompute, SharesInames) {
  const Kernel before =
      make_kernel("{[i, j, k, o]: 0 <= i, j, k, o < 4}",
                  "f(x, y) := sum(o, d[x, o]*u[o, y])\ng(x, y) := sum(o, d[y, o]*u[x, o])\n"
                  "out[i, j] = sum(k, d[k, i]*f(k, j)) + sum(k, d[k, j]*g(i, k))",
                  {.default_type = cgen::f32});
  const PrecomputeOptions options{.inames = {"r", "s"}};
  const Kernel first = precompute(before, "f", {"k", "j"}, options);
  const Kernel done = precompute(first, "g", {"i", "k"}, options);
  EXPECT_EQ(done.domains.size(), first.domains.size());
  EXPECT_EQ(find_instruction(done, "fill_g_store")->within_inames, (NameSet{"r", "s"}));
  expect_last_step(first, done, "precompute(g, i:k, inames=r:s)");
  expect_same_results(before, done, {});
  // other values, and a loop of the statement itself
  const Kernel longer =
      make_kernel("{[i, j]: 0 <= i < 4 and 0 <= j < 5}",
                  "f(x) := a[x]\nout[i] = f(i)\nb[j] = 2.0*j", {.default_type = cgen::f32});
  EXPECT_ERROR("loopy.precompute.not_possible", precompute(longer, "f", {"i"}, {.inames = {"j"}}));
  EXPECT_ERROR("loopy.precompute.not_possible",
               precompute(before, "f", {"k", "j"}, {.inames = {"k", "j"}}));
}

TEST(Precompute, SharesInamesWhoseIterationsComputeWhatItReads) {
  const Kernel before = make_kernel("{[i, j, k]: 0 <= i < n and 0 <= j, k < 4}",
                                    "f(r, c) := a[r, c] - low\n"
                                    "<> low = b[i]  {id=low}\n"
                                    "out[i] = sum(j, f(i, j)) + sum(j, f(i, j)*f(i, j))",
                                    {.arguments = "a: f32[8, 4]; b, out: f32[8]",
                                     .default_type = cgen::f32,
                                     .fixed_parameters = {{"n", 8}}});
  const Kernel done = precompute(before, "f", {"i", "j"}, {.inames = {"i", "s"}});
  EXPECT_EQ(statements_of(done),
            "low = b[i]\n"
            "f_store[i, s] = a[i, s] - low\n"
            "out[i] = sum(j, f_store[i, j]) + sum(j, f_store[i, j]*f_store[i, j])\n");
  expect_same_results(before, done, {});
  // in iterations of its own it would read the last value
  EXPECT_ERROR("loopy.precompute.input_changes",
               precompute(before, "f", {"i", "j"}, {.inames = {"t", "s"}}));
}

TEST(AddPrefetch, TakesTemporaries) {
  const Kernel before = make_kernel("{[i, j, k]: 0 <= i, j, k < 8}",
                                    "<f32> t[8]\nt[i] = 2*a[i]\nout[j] = sum(k, t[k])*j",
                                    {.default_type = cgen::f32});
  const Kernel done = add_prefetch(before, "t", {"k"});
  EXPECT_EQ(statements_of(done),
            "t[i] = 2*a[i]\nt_fetch[t_fetch_0] = t[t_fetch_0]\nout[j] = sum(k, t_fetch[k])*j\n");
  expect_last_step(before, done, "add_prefetch(t, k)");
  expect_same_results(before, done, {});
}

TEST(AddPrefetch, TakesReadsWithinRules) {
  const Kernel before = make_kernel("{[i]: 0 <= i < 8}", "f(x) := a[x]*a[x + 1]\nout[i] = f(i)",
                                    {.default_type = cgen::f32});
  const Kernel done = add_prefetch(before, "a", {"i"});
  EXPECT_EQ(statements_of(done), "a_fetch[a_fetch_0] = a[a_fetch_0]\nout[i] = f(i)\n");
  EXPECT_EQ(to_string(find_rule(done, "f")->body), "a_fetch[x]*a_fetch[x + 1]");
  const Kernel one = add_prefetch(before, "a[i + 1]", {"i"});
  EXPECT_EQ(to_string(find_rule(one, "f")->body), "a[x]*a_fetch[x]");
  expect_same_results(before, done, {});
  expect_same_results(before, one, {});
}

TEST(AddPrefetch, TakesSlices) {
  const Kernel before =
      make_kernel("{[i, j, k]: 0 <= i, j, k < 4}", "out[i, j] = d[i, 3]*sum(k, d[i, k]*u[k, j])",
                  {.arguments = "d: f32[4, 5]", .default_type = cgen::f32});
  const Kernel whole = add_prefetch(before, "d[:, :]", {});
  EXPECT_EQ(find_temporary(whole, "d_fetch")->shape, (std::vector<Expr>{4, 5}));
  EXPECT_EQ(statements_of(whole),
            "d_fetch[d_fetch_0, d_fetch_1] = d[d_fetch_0, d_fetch_1]\n"
            "out[i, j] = d_fetch[i, 3]*sum(k, d_fetch[i, k]*u[k, j])\n");
  const Kernel row = add_prefetch(before, "d[i, :]", {});
  EXPECT_EQ(statements_of(row),
            "d_fetch[d_fetch_0] = d[i, d_fetch_0]\n"
            "out[i, j] = d_fetch[3]*sum(k, d_fetch[k]*u[k, j])\n");
  expect_last_step(before, row, "add_prefetch(d[i, :], \"\")");
  expect_same_results(before, whole, {});
  expect_same_results(before, row, {});
  EXPECT_ERROR("loopy.add_prefetch.not_possible", add_prefetch(before, "d[:]", {}));
  EXPECT_ERROR("loopy.add_prefetch.not_possible", add_prefetch(windows(), "a[:]", {}));
}

TEST(AddPrefetch, TakesOneAccessOfSeveral) {
  const Kernel before = make_kernel("{[i, j]: 0 <= i, j < 8}", "out[i, j] = a[i, j] + a[j, i]",
                                    {.default_type = cgen::f32});
  const Kernel done = add_prefetch(before, "a[j, i]", {"i", "j"});
  EXPECT_EQ(statements_of(done),
            "a_fetch[a_fetch_0, a_fetch_1] = a[a_fetch_0, a_fetch_1]\n"
            "out[i, j] = a[i, j] + a_fetch[j, i]\n");
  expect_last_step(before, done, "add_prefetch(a[j, i], i:j)");
}

TEST(AddPrefetch, KeepsOuterLoops) {
  PrecomputeOptions options;
  options.outer_inames = {"i_outer"};
  const Kernel before =
      split_iname(make_kernel("{[i, k]: 0 <= i < 32 and 0 <= k < 3}", "out[i] = sum(k, a[k])",
                              {.default_type = cgen::f32}),
                  "i", 16);
  const Kernel done = add_prefetch(before, "a", {"k"}, options);
  EXPECT_EQ(done.instructions.front().within_inames, (NameSet{"a_fetch_0", "i_outer"}));
  EXPECT_EQ(add_prefetch(before, "a", {"k"}).instructions.front().within_inames,
            (NameSet{"a_fetch_0"}));
  expect_last_step(before, done, "add_prefetch(a, k, outer_inames=i_outer)");
}

TEST(Precompute, RefusesWhatDoesNotFit) {
  EXPECT_ERROR("loopy.precompute.not_possible", precompute(squares(), "g", {"i_inner"}));
  EXPECT_ERROR("loopy.precompute.not_possible", precompute(squares(), "f", {"q"}));
  EXPECT_EQ(why_not([&] { return precompute(squares(), "g", {"i_inner"}); }),
            "kernel 'loopy_kernel' has no substitution rule 'g'");
  EXPECT_EQ(why_not([&] { return precompute(squares(), "f", {"q"}); }),
            "kernel 'loopy_kernel' has no iname 'q': its inames are i_outer, i_inner");
  EXPECT_EQ(why_not([&] { return precompute(squares(), "f", {"i_inner"}); }), std::nullopt);
  EXPECT_ERROR("loopy.add_prefetch.not_possible", add_prefetch(windows(), "q", {"k"}));
  EXPECT_ERROR("loopy.add_prefetch.not_possible", add_prefetch(windows(), "n", {"k"}));
  EXPECT_ERROR("loopy.add_prefetch.not_possible", add_prefetch(windows(), "a", {"q"}));
  EXPECT_EQ(why_not([&] { return add_prefetch(windows(), "n", {"k"}); }),
            "kernel 'loopy_kernel' has no array 'n'");
  EXPECT_EQ(why_not([&] { return add_prefetch(windows(), "a", {"k"}); }), std::nullopt);
}

TEST(Precompute, RefusesOptionsThatDoNotFit) {
  PrecomputeOptions options;
  options.inames = {"n"};
  EXPECT_ERROR("loopy.precompute.not_possible", precompute(squares(), "f", {"i_inner"}, options));
  options.inames = {"x", "x"};
  EXPECT_ERROR("loopy.add_prefetch.not_possible", add_prefetch(windows(), "a", {"k"}, options));
  options = {};
  options.temporary_name = "out";
  EXPECT_ERROR("loopy.precompute.not_possible", precompute(squares(), "f", {"i_inner"}, options));
  options = {};
  options.outer_inames = {"q"};
  EXPECT_ERROR("loopy.precompute.not_possible", precompute(squares(), "f", {"i_inner"}, options));
  options = {};
  options.default_tag = "x.0";
  EXPECT_ERROR("loopy.iname_tag.unknown", precompute(squares(), "f", {"i_inner"}, options));
}

TEST(Precompute, RefusesWhereNothingWouldBeReplaced) {
  const Kernel other = make_kernel("{[i, j]: 0 <= i, j < 8}", "f(x) := a[x]*a[x]\nout[i, j] = f(i)",
                                   {.default_type = cgen::f32});
  EXPECT_ERROR("loopy.precompute.nothing_replaced", precompute(other, "f", {"j"}));
  EXPECT_EQ(why_not([&] { return precompute(other, "f", {"j"}); }),
            "no use of 'f' mentions all of j: nothing would be replaced");
  EXPECT_ERROR("loopy.add_prefetch.nothing_replaced", add_prefetch(windows(), "out", {"k"}));
  EXPECT_TRUE(why_not([&] { return add_prefetch(windows(), "out", {"k"}); }).has_value());
}

TEST(Precompute, FillsAgainWhereWhatIsReadChanges) {
  const Kernel before =
      make_kernel("{[t, i, j]: 0 <= t < 3 and 0 <= i, j < 8}",
                  "for t\nout[t, i] = sum(j, a[j])*i\na[0] = out[t, 3] {dep=*}\nend",
                  {.arguments = "a: f32[8]", .default_type = cgen::f32});
  const Kernel done = add_prefetch(before, "a", {"j"});
  EXPECT_EQ(
      statements_of(done),
      "a_fetch[a_fetch_0] = a[a_fetch_0]\nout[t, i] = sum(j, a_fetch[j])*i\na[0] = out[t, 3]\n");
  EXPECT_EQ(find_instruction(done, "fill_a_fetch")->within_inames, (NameSet{"a_fetch_0", "t"}));
  expect_same_results(before, done, {});
}

TEST(Precompute, FillsBehindWhatItReads) {
  const Kernel before = make_kernel("{[t, i, j]: 0 <= t < 3 and 0 <= i, j < 8}",
                                    "f(x) := c[x]*s\n<f32> s = b[t]\nout[t, i] = sum(j, f(j))*i",
                                    {.default_type = cgen::f32});
  const Kernel done = precompute(before, "f", {"j"});
  EXPECT_EQ(statements_of(done),
            "s = b[t]\nf_store[f_store_0] = c[f_store_0]*s\nout[t, i] = sum(j, f_store[j])*i\n");
  expect_same_results(before, done, {});
}

TEST(Precompute, FillsBehindALoopWhoseInameIsSummedOver) {
  const Kernel before =
      make_kernel("{[i, j]: 0 <= i, j < 8}", "b[j] = 2*j\nout[i] = sum(j, b[j])*i",
                  {.default_type = cgen::f32});
  const Kernel done = add_prefetch(before, "b", {"j"});
  EXPECT_EQ(statements_of(done),
            "b[j] = 2*j\nb_fetch[b_fetch_0] = b[b_fetch_0]\nout[i] = sum(j, b_fetch[j])*i\n");
  expect_same_results(before, done, {});
}

TEST(Precompute, TakesNoStatementForAFillByItsName) {
  const auto done = [](const std::string& id) {
    return add_prefetch(make_kernel("{[i, j]: 0 <= i, j < 8}",
                                    "b[j] = 2*j {id=" + id + "}\nd[i] = i {id=" + id +
                                        "_d}\nout[i] = sum(j, b[j])*i",
                                    {.default_type = cgen::f32}),
                        "b", {"j"});
  };
  EXPECT_EQ(statements_of(done("fill_b")), statements_of(done("set_b")));
  EXPECT_EQ(find_instruction(done("fill_b"), "fill_b_fetch")->within_inames,
            (NameSet{"b_fetch_0"}));
}

TEST(Precompute, FillsFromWhatIsFilledWithinASum) {
  const Kernel before = split_iname(
      make_kernel("{[i, k]: 0 <= i < 4 and 0 <= k < 8}", "f(x) := a[x]*2\nout[i] = sum(k, f(k))*i",
                  {.default_type = cgen::f32}),
      "k", 4);
  Kernel done = precompute(before, "f", {"k_inner"});
  EXPECT_EQ(find_instruction(done, "fill_f_store")->within_inames,
            (NameSet{"f_store_0", "k_outer"}));
  done = extract_subst(done, "g", "f_store[y]", {"y"});
  done = precompute(done, "g", {"k_inner"});
  EXPECT_EQ(statements_of(done),
            "f_store[f_store_0] = a[4*k_outer + f_store_0]*2\n"
            "g_store[g_store_0] = f_store[g_store_0]\n"
            "out[i] = sum((k_outer, k_inner), g_store[k_inner])*i\n");
  EXPECT_EQ(find_instruction(done, "fill_g_store")->within_inames,
            (NameSet{"g_store_0", "k_outer"}));
}

TEST(Precompute, RefusesWhatChangesBetweenItsUses) {
  const Kernel between =
      make_kernel("{[i, j]: 0 <= i, j < 8}",
                  "f(x) := a[x]\nb[i] = f(i) {id=one}\na[j] = 2 {id=two}\nc[i] = f(i)",
                  {.default_type = cgen::f32});
  EXPECT_ERROR("loopy.precompute.input_changes", precompute(between, "f", {"i"}));
  EXPECT_EQ(why_not([&] { return precompute(between, "f", {"i"}); }),
            "'a' cannot be read ahead for 'f': statement 'two' changes it between its uses");
  EXPECT_ERROR("loopy.add_prefetch.input_changes", add_prefetch(expand_subst(between), "a", {"i"}));
  const Kernel shifted =
      make_kernel("{[i]: 1 <= i < 8}", "a[i] = a[i - 1]", {.default_type = cgen::f32});
  EXPECT_ERROR("loopy.add_prefetch.input_changes", add_prefetch(shifted, "a", {"i"}));
}

TEST(AddPrefetch, ReadsNeighboursAtOnce) {
  const Kernel described =
      make_kernel("{[i, j]: 0 <= i, j < n}", "b[i, j] = a[j, i]", {.arguments = "a, b: f32[n, n]"});
  const Kernel tiled = apply_recipe(described,
                                    "split_iname(i, 32, outer_tag=g.1, inner_tag=l.1)\n"
                                    "split_iname(j, 8, outer_tag=g.0, inner_tag=l.0)");
  const std::vector<std::string> sweep = {"i_inner", "j_inner"};
  const Kernel wide = add_prefetch(assume(tiled, "n mod 4 = 0"), "a", sweep, {.vector_width = 4});
  EXPECT_EQ(to_string(wide.recipe.back()), "add_prefetch(a, i_inner:j_inner, vector_width=4)");
  for (const Target target : {Target::opencl, Target::cuda}) {
    const std::string text = generate_text(wide, target, {.recipe_comment = false});
    EXPECT_NE(text.find("const float4 a_vec = "), std::string::npos) << text;
    EXPECT_NE(text.find("float4 *)&a_fetch["), std::string::npos) << text;
  }
  // four stores where the tile is turned round
  const std::string turned = generate_text(tag_array_axes(wide, {"a_fetch"}, "F"), Target::cuda,
                                           {.recipe_comment = false});
  EXPECT_NE(turned.find("= a_vec.w;"), std::string::npos) << turned;
  // rows that may begin anywhere, other widths, and what is no copy of an array
  EXPECT_ERROR("loopy.add_prefetch.no_vector",
               add_prefetch(tiled, "a", sweep, {.vector_width = 4}));
  EXPECT_ERROR("loopy.add_prefetch.no_vector",
               add_prefetch(tiled, "a", sweep, {.vector_width = 3}));
  EXPECT_ERROR("loopy.add_prefetch.no_vector",
               add_prefetch(assume(tiled, "n mod 4 = 0"), "a", {"j_inner"}, {.vector_width = 4}));
  EXPECT_TRUE(
      why_not([&] { return add_prefetch(tiled, "a", sweep, {.vector_width = 2}); }).has_value());
  const Kernel rule =
      make_kernel("{[i]: 0 <= i < 8}", "f(x) := a[x]\nb[i] = f(i)", {.default_type = cgen::f32});
  EXPECT_ERROR("loopy.precompute.not_possible", precompute(rule, "f", {"i"}, {.vector_width = 4}));
}

TEST(AddPrefetch, ReplacesReadsAtConstantDistances) {
  const Kernel kernel =
      make_kernel("{[i, j]: 0 <= i, j < 8}", "c[i, j] = a[i, j + 1]*a[i, j]*a[j, i]",
                  {.arguments = "a: f32[9, 9]; c: f32[8, 8]"});
  const Kernel one = add_prefetch(kernel, "a[i, j]", {"j"});
  EXPECT_NE(to_string(one).find("= a[i, j + 1]*a_fetch[j]*a[j, i]"), std::string::npos)
      << to_string(one);
  const Kernel both = add_prefetch(kernel, "a[i, j]", {"j"}, {.any_offset = true});
  EXPECT_NE(to_string(both).find("= a_fetch[j + 1]*a_fetch[j]*a[j, i]"), std::string::npos)
      << to_string(both);
  EXPECT_EQ(to_string(both.recipe.back()), "add_prefetch(a[i, j], j, any_offset=yes)");
  EXPECT_ERROR("loopy.precompute.not_possible",
               precompute(make_kernel("{[i]: 0 <= i < 8}", "f(x) := a[x]\nb[i] = f(i)",
                                      {.default_type = cgen::f32}),
                          "f", {"i"}, {.any_offset = true}));
}

// Two uses, each along other inames: one box has the values of both.
TEST(Precompute, SweepsForEachUseTheInamesThatItMentions) {
  const Kernel kernel = make_kernel("{[i, j, k]: 0 <= i, j, k < 4}",
                                    "f(x, y) := a[x]*a[y]\n"
                                    "b[i, j] = sum(k, f(k, j) + f(i, k)) + f(0, 1)",
                                    {.arguments = "a: f32[4]; b: f32[4, 4]"});
  EXPECT_ERROR("loopy.precompute.nothing_replaced", precompute(kernel, "f", {"i", "j", "k"}));
  const Kernel both = precompute(kernel, "f", {"i", "j", "k"}, {.any_sweep = true});
  EXPECT_NE(to_string(both).find(
                "fill_f_store: f_store[f_store_0, f_store_1] = a[f_store_0]*a[f_store_1]"),
            std::string::npos)
      << to_string(both);
  EXPECT_NE(to_string(both).find("= sum(k, f_store[k, j] + f_store[i, k]) + f(0, 1)"),
            std::string::npos)
      << to_string(both);
  expect_recipe(kernel, both, "precompute(f, i:j:k, any_sweep=yes)\n");
  EXPECT_ERROR("loopy.precompute.nothing_replaced",
               precompute(kernel, "f", {}, {.any_sweep = true}));
  EXPECT_ERROR("loopy.add_prefetch.not_possible",
               add_prefetch(kernel, "a", {"i"}, {.any_sweep = true}));
}

TEST(Footprint, RefusesWhatIsNoBox) {
  const Kernel table =
      make_kernel("{[i, k]: 0 <= i, k < 8}", "out[i] = sum(k, a[t[k]])",
                  {.arguments = "t: i32[8]; a: f32[8]", .default_type = cgen::f32});
  EXPECT_ERROR("loopy.footprint.not_affine", add_prefetch(table, "a", {"k"}));
}

/// What is handed on from (i, j) to (i + 1, j - 1) asks for i outside of j.
Kernel wave_and(const std::string& other) {
  return make_kernel("{[i, j]: 1 <= i < 9 and 0 <= j < 9}",
                     "f(x) := 2*c[x]\nfor i, j\nu[i, j] = 0.5*u[i - 1, j + 1]\n" + other + "\nend",
                     {.arguments = "c, d: f32[9]; u: f32[9, 10]; e: f32[9, 9]"});
}

TEST(Precompute, RefusesToTurnTheOtherLoops) {
  const Kernel kernel = wave_and("e[i, j] = f(j)");
  const PrecomputeOptions within{.outer_inames = {"j"}};
  // its statement would be within j alone, and so j outside of i
  EXPECT_ERROR("loopy.precompute.reorders_loops", precompute(kernel, "f", {}, within));
  EXPECT_EQ(why_not([&] { return precompute(kernel, "f", {}, within); }),
            "the loops around other statements would nest otherwise: an element of 'u' is used in "
            "two iterations: first 'set_u' writes it at i = 1, j = 1, then 'set_u' reads it at i = "
            "2, j = 0; they would change places");
  EXPECT_ERROR("loopy.add_prefetch.reorders_loops",
               add_prefetch(wave_and("e[i, j] = c[j]"), "c", {}, within));
}

}  // namespace
}  // namespace rtcg::loopy
