#include "rtcg/loopy/create/resolve_calls.h"

#include <gtest/gtest.h>

#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/create/make_kernel_with_callees.h"
#include "rtcg/loopy/kernel/kernel_file.h"
#include "rtcg/loopy/kernel/print_kernel.h"
#include "rtcg/loopy/recipe/parse_kernel_file.h"
#include "rtcg/loopy/symbolic/print_expr.h"
#include "rtcg/loopy/transform/precompute.h"
#include "tests/loopy/support/kernel_text.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

Kernel within_n(const std::string& statements) {
  return make_kernel("{[i]: 0 <= i < n}", statements, {.default_type = cgen::f32});
}

TEST(ResolveCalls, GivesEachTargetItsValue) {
  EXPECT_EQ(statements_of(within_n("s[i], c[i] = sincos(2*a[i])")),
            "s[i] = sin(2*a[i])\nc[i] = cos(2*a[i])\n");
  EXPECT_EQ(statements_of(within_n("low[i], high[i] = minmax(a[i], b[i])")),
            "low[i] = min(a[i], b[i])\nhigh[i] = max(a[i], b[i])\n");
  EXPECT_EQ(statements_of(within_n("q[i], r[i] = divmod(i, 3)")), "q[i] = i // 3\nr[i] = i % 3\n");
  EXPECT_EQ(statements_of(within_n("<> x, <> y = make_tuple(a[i], 2*a[i])\nb[i] = x + y")),
            "x = a[i]\ny = 2*a[i]\nb[i] = x + y\n");
}

TEST(ResolveCalls, GivesWhatRulesGive) {
  EXPECT_EQ(statements_of(within_n("both(x) := make_tuple(x + 1, x*x)\n"
                                   "u[i], v[i] = both(a[i])")),
            "u[i] = a[i] + 1\nv[i] = a[i]*a[i]\n");
}

TEST(ResolveCalls, ComputesAllValuesBeforeOneThatIsReadIsWritten) {
  EXPECT_EQ(statements_of(within_n("a[i], b[i] = make_tuple(b[i], a[i])")),
            "result_1_0 = b[i]\nresult_1_1 = a[i]\na[i] = result_1_0\nb[i] = result_1_1\n");
}

TEST(ResolveCalls, RefusesAnotherNumberOfValues) {
  EXPECT_ERROR("loopy.make_kernel.result_count", within_n("a[i], b[i] = sin(c[i])"));
  EXPECT_ERROR("loopy.make_kernel.result_count", within_n("a[i], b[i], d[i] = sincos(c[i])"));
  EXPECT_ERROR("loopy.parse_statements.syntax", within_n("a[i], b[i] = 2*c[i]"));
}

Kernel scale() {
  return make_kernel("{[k]: 0 <= k < 8}", "y[k] = s*x[k]",
                     {.name = "scale", .arguments = "x, y: f32[8]; s: f32"});
}

Kernel calling(const std::string& statement) {
  return make_kernel_with_callees("{[i]: 0 <= i < n}", statement,
                                  {.arguments = "a, b: f32[n, 8]; n: i32"}, {scale()});
}

TEST(ResolveCalls, PutsKernelsWhereTheyAreCalledWithPartsOfArrays) {
  EXPECT_EQ(statements_of(calling("[k]: b[i, k] = scale([j]: a[i, j], 3*i)")),
            "b[i, k] = 3*i*a[i, k]\n");
  EXPECT_EQ(statements_of(calling("... call scale(x=[j]: a[i, 7 - j], y=b[i, _0], s=2)")),
            "b[i, k] = 2*a[i, -k + 7]\n");
}

TEST(ResolveCalls, PutsKernelsOfOneElementWhereScalarsAreSet) {
  const Kernel both = make_kernel("{[z]: 0 <= z < 1}", "p[0] = x + 1\nq[0] = x*x",
                                  {.name = "both", .arguments = "x: f32; p, q: f32[1]"});
  const Kernel kernel =
      make_kernel_with_callees("{[i]: 0 <= i < n}", "<f32> u, <f32> v = both(a[i])\nout[i] = u*v",
                               {.arguments = "a, out: f32[n]; n: i32"}, {both});
  EXPECT_EQ(statements_of(kernel), "u = a[i] + 1\nv = a[i]*a[i]\nout[i] = u*v\n");
}

TEST(ResolveCalls, RefusesMoreArgumentsOrResultsThanAKernelHas) {
  EXPECT_ERROR("loopy.make_kernel.result_count",
               calling("[k]: b[i, k] = scale([k]: a[i, k], 3*i, 4)"));
  EXPECT_ERROR("loopy.make_kernel.result_count",
               calling("[k]: b[i, k], [k]: a[i, k] = scale([k]: a[i, k], 3*i)"));
}

TEST(ResolveCalls, RefusesPartsOfArraysElsewhere) {
  EXPECT_ERROR("loopy.make_kernel.part_of_array", calling("b[i, 0] = sin([k]: a[i, k])"));
  EXPECT_ERROR("loopy.parse_statements.syntax", calling("b[i, 0] = scale([k]: 3, 1)"));
  EXPECT_ERROR("loopy.parse_statements.syntax", calling("b[i, 0] = scale([k, k]: a[k, k], 1)"));
}

TEST(ResolveCalls, MakesRulesOfTaggedUses) {
  const Kernel kernel = within_n("f(x) := 2*a[x]\nb[i] = a$near[i] + a[i + 1] + f$far(i) + f(i)");
  EXPECT_EQ(statements_of(kernel), "b[i] = a$near(i) + a[i + 1] + f$far(i) + f(i)\n");
  ASSERT_NE(find_rule(kernel, "a$near"), nullptr);
  EXPECT_EQ(to_string(find_rule(kernel, "a$near")->body), "a[_0]");
  EXPECT_EQ(to_string(find_rule(kernel, "f$far")->body), "f(_0)");
  // in a file, too
  const KernelFile file = to_kernel_file(kernel);
  EXPECT_EQ(statements_of(described_kernel(parse_kernel_file(to_string(file)))),
            statements_of(kernel));
}

TEST(ResolveCalls, RefusesTagsOfAnotherRankAndOnWhatIsWritten) {
  EXPECT_ERROR("loopy.make_kernel.rank", within_n("b[i] = a$x[i] + a$x[i, i]"));
  EXPECT_ERROR("loopy.parse_statements.syntax", within_n("b$x[i] = a[i]"));
}

TEST(ResolveCalls, LetsTransformationsAddressOneTagAlone) {
  const Kernel kernel =
      make_kernel("{[i, k]: 0 <= i < n and 0 <= k < 8}", "b[i] = sum(k, a$one[k] + a$two[k + 1])",
                  {.arguments = "a: f32[9]; b: f32[n]; n: i32"});
  EXPECT_EQ(statements_of(add_prefetch(kernel, "a$one", {"k"})),
            "a_one_fetch[a_one_fetch_0] = a[a_one_fetch_0]\n"
            "b[i] = sum(k, a_one_fetch[k] + a$two(k + 1))\n");
  EXPECT_EQ(statements_of(precompute(kernel, "a$one", {"k"})),
            "a_one_store[a_one_store_0] = a[a_one_store_0]\n"
            "b[i] = sum(k, a_one_store[k] + a$two(k + 1))\n");
  // without a tag, all of them
  EXPECT_EQ(statements_of(add_prefetch(kernel, "a", {"k"})),
            "a_fetch[a_fetch_0] = a[a_fetch_0]\nb[i] = sum(k, a_fetch[k] + a_fetch[k + 1])\n");
  EXPECT_ERROR("loopy.add_prefetch.not_possible", add_prefetch(kernel, "a$three", {"k"}));
}

}  // namespace
}  // namespace rtcg::loopy
