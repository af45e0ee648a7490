#include "rtcg/loopy/transform/to_batched.h"

#include <gtest/gtest.h>

#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/symbolic/print_expr.h"
#include "rtcg/loopy/transform/tag_array_axes.h"
#include "rtcg/loopy/transform/why_not.h"
#include "tests/loopy/support/replay.h"
#include "tests/loopy/support/same_results.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

Kernel scaled() {
  return make_kernel("{[i]: 0 <= i < n}", "<> t = a[i]\nb[i] = s*t", {.default_type = cgen::f32});
}

TEST(ToBatched, AddsAnAxisToEachArray) {
  const Kernel batched = to_batched(scaled(), {"a", "b", "s"}, {.tag = "g.1"});
  EXPECT_EQ(to_string(batched), R"(kernel loopy_kernel
arguments:
  a: f32[nbatch, n]
  b: f32[nbatch, n]
  n: i32
  s: f32[nbatch]
  nbatch: i32
domains:
  {[ibatch]: ibatch >= 0 and ibatch < nbatch}
  {[i]: i >= 0 and i < n}
inames:
  ibatch: g.1
  i: for
temporaries:
  t: ?
statements:
  set_t: t = a[ibatch, i]  {inames=i:ibatch}
  set_b: b[ibatch, i] = s[ibatch]*t  {inames=i:ibatch}
recipe:
  to_batched([a, b, s], tag=g.1)
)");
  expect_recipe(scaled(), batched, "to_batched([a, b, s], tag=g.1)\n");
}

TEST(ToBatched, DoesWhatABatchedKernelDoes) {
  const Kernel by_hand = make_kernel("{[p, i]: 0 <= i < n and 0 <= p < 3}", "b[p, i] = s*a[i]",
                                     {.default_type = cgen::f32});
  const Kernel batched = to_batched(scaled(), {"b"}, {.iname = "p", .count = "3"});
  expect_same_results(by_hand, batched, {{"n", 4}});
  expect_recipe(scaled(), batched, "to_batched([b], count=3, iname=p)\n");
}

TEST(ToBatched, KeepsTheLayoutOfABatch) {
  const Kernel kernel = make_kernel("{[i, j]: 0 <= i < n and 0 <= j < m}", "b[i, j] = a[i, j]",
                                    {.default_type = cgen::f32});
  const auto strides = [](const Kernel& batched) {
    std::string text;
    for (const Expr& stride : find_argument(batched, "b")->strides_elements) {
      text += to_string(stride) + " ";
    }
    return text;
  };
  EXPECT_EQ(strides(to_batched(kernel, {"b"})), "");
  EXPECT_EQ(strides(to_batched(tag_array_axes(kernel, {"b"}, "F"), {"b"})), R"(m*n 1 n )");
  EXPECT_EQ(strides(to_batched(add_padding(kernel, "b", 0, 2), {"b"})), R"((m + 2)*n m + 2 1 )");
}

TEST(ToBatched, LeavesParametersOfRulesAlone) {
  const Kernel kernel = make_kernel("{[i]: 0 <= i < n}", "f(a) := a*2\nb[i] = f(i) + a[i]",
                                    {.default_type = cgen::f32});
  EXPECT_EQ(to_string(to_batched(kernel, {"a", "b"}).rules.front().body), "a*2");
}

TEST(ToBatched, RefusesArgumentsThatCannotDiffer) {
  EXPECT_ERROR("loopy.to_batched.unknown_argument", to_batched(scaled(), {"q"}));
  EXPECT_ERROR("loopy.to_batched.is_parameter", to_batched(scaled(), {"b", "n"}));
  const Kernel linear = make_kernel("{[i]: 0 <= i < n}", "b[[i]] = 1",
                                    {.arguments = "b: f32[n]", .default_type = cgen::f32});
  EXPECT_ERROR("loopy.to_batched.linear_access", to_batched(linear, {"b"}));
  EXPECT_TRUE(why_not([&] { return to_batched(scaled(), {"q"}); }).has_value());
  EXPECT_EQ(why_not([&] { return to_batched(scaled(), {"a", "b"}); }), std::nullopt);
}

TEST(ToBatched, RefusesResultsThatBatchesWouldShare) {
  EXPECT_ERROR("loopy.to_batched.not_batched", to_batched(scaled(), {"a"}));
}

TEST(ToBatched, RefusesBadOptions) {
  EXPECT_ERROR("loopy.to_batched.name_taken", to_batched(scaled(), {"b"}, {.iname = "i"}));
  EXPECT_ERROR("loopy.to_batched.name_taken", to_batched(scaled(), {"b"}, {.count = "n"}));
  EXPECT_ERROR("loopy.to_batched.bad_count", to_batched(scaled(), {"b"}, {.count = "0"}));
  EXPECT_ERROR("loopy.to_batched.bad_count", to_batched(scaled(), {"b"}, {.count = ""}));
  EXPECT_ERROR("loopy.iname_tag.unknown", to_batched(scaled(), {"b"}, {.tag = "x"}));
}

}  // namespace
}  // namespace rtcg::loopy
