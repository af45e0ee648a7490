#include "rtcg/loopy/transform/inline_kernel.h"

#include <gtest/gtest.h>

#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/recipe/apply_recipe.h"
#include "rtcg/loopy/transform/split_iname.h"
#include "rtcg/loopy/transform/why_not.h"
#include "tests/loopy/support/kernel_text.h"
#include "tests/loopy/support/same_results.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

Kernel scale() {
  return make_kernel("{[i]: 0 <= i < m}", "<> t = s*x[i]\ny[i] = t",
                     {.name = "scale", .arguments = "x, y: f32[m]; s: f32"});
}
Kernel caller_of_rows() {
  return make_kernel("{[i]: 0 <= i < n} {[j]: 0 <= j < n}",
                     "<> t = c[i]\n... nop {id=call, inames=i, dep=set_t}\n"
                     "d[i] = t + sum(j, b[i, j]) {dep=call}",
                     {.arguments = "a: f32[n, k]; b: f32[n, n]; c, d: f32[n]; k: i32"});
}
const Bindings by_row = {{"x", "a[i, _0]"}, {"y", "b[i, _0]"}, {"s", "2*t"}, {"m", "i + 1"}};

TEST(InlineKernel, PutsStatementsIntoThePlaceOfTheCall) {
  const Kernel inlined = inline_kernel(caller_of_rows(), scale(), "call", by_row);
  Kernel shown = inlined;
  shown.recipe.clear();
  EXPECT_EQ(to_string(shown), R"(kernel loopy_kernel
arguments:
  a: f32[n, k]
  b: f32[n, n]
  c: f32[n]
  d: f32[n]
  k: i32
  n: i32
domains:
  {[i]: i >= 0 and i < n}
  {[j]: j >= 0 and j < n}
  {[i_in]: i_in >= 0 and i_in <= i}
inames:
  i: for
  j: for
  i_in: for
temporaries:
  t: ?
  t_in: ?
statements:
  set_t: t = c[i]  {inames=i}
  set_t_in: t_in = 2*t*a[i, i_in]  {inames=i:i_in, dep=set_t}
  set_y: b[i, i_in] = t_in  {inames=i:i_in, dep=set_t}
  set_d: d[i] = t + sum(j, b[i, j])  {inames=i, dep=set_t_in:set_y}
)");
  EXPECT_EQ(to_string(apply_recipe(caller_of_rows(), inlined.recipe)), to_string(inlined));
  EXPECT_EQ(to_string(apply_recipe(caller_of_rows(), to_string(inlined.recipe.back()))),
            to_string(inlined));
}

TEST(InlineKernel, DoesWhatTheCalledKernelDoes) {
  const Kernel by_hand =
      make_kernel("{[i]: 0 <= i < n} {[j]: 0 <= j < n} {[l]: 0 <= l <= i}",
                  "b[i, l] = 2*c[i]*a[i, l]\nd[i] = c[i] + sum(j, b[i, j])",
                  {.arguments = "a: f32[n, k]; b: f32[n, n]; c, d: f32[n]; k: i32"});
  expect_same_results(by_hand, inline_kernel(caller_of_rows(), scale(), "call", by_row),
                      {{"n", 3}, {"k", 3}});
}

TEST(InlineKernel, TakesArgumentsOfTheSameName) {
  const Kernel kernel = make_kernel("{[p]: 0 <= p < 3}", "... nop {id=here, inames=}\nx[p] = 2*p",
                                    {.arguments = "x: f32[3]"});
  const Kernel inlined = inline_kernel(kernel, scale(), "here", {{"m", "3"}});
  EXPECT_EQ(statements_of(inlined), R"(t = s*x[i]
y[i] = t
x[p] = 2*p
)");
  EXPECT_NE(find_argument(inlined, "y"), nullptr);
  EXPECT_EQ(find_argument(inlined, "m"), nullptr);
  // a whole array
  const Kernel whole = inline_kernel(kernel, scale(), "here", {{"m", "3"}, {"y", "x"}});
  EXPECT_EQ(statements_of(whole), R"(t = s*x[i]
x[i] = t
x[p] = 2*p
)");
}

TEST(InlineKernel, RefusesStatementsThatAreNoCalls) {
  EXPECT_ERROR("loopy.inline_kernel.no_call", inline_kernel(caller_of_rows(), scale(), "q"));
  EXPECT_ERROR("loopy.inline_kernel.no_call", inline_kernel(caller_of_rows(), scale(), "set_t"));
  EXPECT_TRUE(why_not([&] { return inline_kernel(caller_of_rows(), scale(), "q"); }).has_value());
  EXPECT_EQ(why_not([&] { return inline_kernel(caller_of_rows(), scale(), "call", by_row); }),
            std::nullopt);
}

TEST(InlineKernel, RefusesBindingsThatDoNotFit) {
  for (const Bindings& bindings :
       {Bindings{{"q", "1"}}, Bindings{{"x", "a[i, 0]"}}, Bindings{{"x", "a[_0]"}},
        Bindings{{"x", "2*t"}}, Bindings{{"x", "a[j, _0]"}}, Bindings{{"x", "a[_1, _0]"}},
        Bindings{{"m", "n*n"}}, Bindings{{"s", "_0"}}, Bindings{{"s", "1"}, {"s", "2"}}}) {
    EXPECT_ERROR("loopy.inline_kernel.bad_binding",
                 inline_kernel(caller_of_rows(), scale(), "call", bindings));
  }
  const Kernel taken =
      make_kernel("{[x]: 0 <= x < n}", "... nop {id=call}\nb[x] = 1", {.arguments = "b: f32[n]"});
  EXPECT_ERROR("loopy.inline_kernel.bad_binding", inline_kernel(taken, scale(), "call"));
}

TEST(InlineKernel, RefusesOtherTypes) {
  const Kernel doubles = make_kernel("{[i]: 0 <= i < n}", "... nop {id=call, inames=i}\nb[i] = 1",
                                     {.arguments = "b: f64[n]; x: f64[n]"});
  EXPECT_ERROR("loopy.inline_kernel.different_types",
               inline_kernel(doubles, scale(), "call", {{"x", "b"}}));
  EXPECT_ERROR("loopy.inline_kernel.different_types", inline_kernel(doubles, scale(), "call"));
}

TEST(InlineKernel, RefusesOneAxisForTwoInames) {
  const Kernel on_grid =
      split_iname(caller_of_rows(), "i", 8, {.outer_tag = "g.0", .inner_tag = "l.0"});
  const Kernel callee = split_iname(scale(), "i", 8, {.inner_tag = "l.0"});
  EXPECT_ERROR("loopy.inline_kernel.axis_used_twice",
               inline_kernel(on_grid, callee, "call", {{"x", "a[0, _0]"}, {"y", "b[0, _0]"}}));
}

}  // namespace
}  // namespace rtcg::loopy
