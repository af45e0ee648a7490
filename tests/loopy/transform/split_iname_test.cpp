#include "rtcg/loopy/transform/split_iname.h"

#include <gtest/gtest.h>

#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/transform/tag_inames.h"
#include "rtcg/loopy/transform/why_not.h"
#include "tests/loopy/support/kernel_text.h"
#include "tests/loopy/support/same_results.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

Kernel twice_each() {
  return make_kernel("{[i]: 0 <= i < n}", "out[i] = 2*a[i]", {.default_type = cgen::f32});
}
Kernel matrix_vector() {
  return make_kernel("{[i, k]: 0 <= i < n and 2 <= k < m}", "out[i] = sum(k, a[i, k]*k)",
                     {.default_type = cgen::f32});
}

TEST(SplitIname, BoundsTheOuterLoopAloneWhereLengthsDivide) {
  const auto domain_of = [](const char* domain, std::int64_t length) {
    const Kernel kernel = make_kernel(domain, "out[i] = 2*a[i]", {.default_type = cgen::f32});
    const std::string text = to_string(split_iname(kernel, "i", length));
    const std::size_t begin = text.find("]: ") + 3;
    return text.substr(begin, text.find('}', begin) - begin);
  };
  EXPECT_EQ(domain_of("{[i]: 0 <= i < 64}", 16),
            "i_outer >= 0 and i_outer <= 3 and i_inner >= 0 and i_inner <= 15");
  EXPECT_EQ(domain_of("{[i]: 32 <= i < 16*n}", 16),
            "i_outer >= 2 and i_outer < n and i_inner >= 0 and i_inner <= 15");
  EXPECT_EQ(domain_of("{[i]: 3 <= i < n}", 4),
            "4*i_outer + i_inner >= 3 and 4*i_outer + i_inner < n and i_inner >= 0 and "
            "i_inner <= 3");
}

TEST(SplitIname, GivesTwoLoops) {
  EXPECT_EQ(to_string(split_iname(twice_each(), "i", 16, {.outer_tag = "g.0", .inner_tag = "l.0"})),
            R"(kernel loopy_kernel
arguments:
  a: f32[n]
  out: f32[n]
  n: i32
domains:
  {[i_outer, i_inner]: i_outer >= 0 and 16*i_outer + i_inner < n and i_inner >= 0 and i_inner <= 15}
inames:
  i_outer: g.0
  i_inner: l.0
statements:
  set_out: out[16*i_outer + i_inner] = 2*a[16*i_outer + i_inner]  {inames=i_inner:i_outer}
recipe:
  split_iname(i, 16, inner_tag=l.0, outer_tag=g.0)
)");
}

TEST(SplitIname, SplitsReductions) {
  const Kernel split = split_iname(matrix_vector(), "k", 4);
  EXPECT_EQ(statements_of(split),
            "out[i] = sum((k_outer, k_inner), a[i, 4*k_outer + k_inner]*(4*k_outer + k_inner))\n");
  expect_same_results(matrix_vector(), split, {{"n", 3}, {"m", 11}});
}

TEST(SplitIname, KeepsTheResult) {
  for (const std::int64_t n : {1, 5, 16, 17}) {
    expect_same_results(twice_each(), split_iname(split_iname(twice_each(), "i", 8), "i_inner", 3),
                        {{"n", n}});
  }
}

TEST(SplitIname, SplitsBoundsOfOtherDomains) {
  const Kernel triangle =
      make_kernel("{[i]: 0 <= i < n} {[j]: 0 <= j <= i}", "out[i, j] = a[i] + j",
                  {.arguments = "out: f32[n, n]", .default_type = cgen::f32});
  expect_same_results(triangle, split_iname(triangle, "i", 4), {{"n", 6}});
}

TEST(SplitIname, MakesNewNames) {
  const Kernel kernel = make_kernel("{[i, i_outer]: 0 <= i, i_outer < n}", "out[i, i_outer] = 1.0",
                                    {.default_type = cgen::f32});
  EXPECT_EQ(statements_of(split_iname(kernel, "i", 4)),
            "out[4*i_outer_1 + i_inner, i_outer] = 1.0\n");
}

TEST(SplitIname, LeavesParametersOfRulesAlone) {
  const Kernel kernel =
      make_kernel("{[i]: 0 <= i < n}", "f(i) := i*i\nout[i] = f(i)", {.default_type = cgen::f32});
  const Kernel split = split_iname(kernel, "i", 4);
  EXPECT_EQ(to_string(split.rules.front().body), "i*i");
  expect_same_results(kernel, split, {{"n", 6}});
}

TEST(SplitIname, RefusesUnknownIname) {
  EXPECT_ERROR("loopy.split_iname.unknown_iname", split_iname(twice_each(), "q", 16));
  EXPECT_EQ(why_not([&] { return split_iname(twice_each(), "q", 16); }),
            "kernel 'loopy_kernel' has no iname 'q': its inames are i");
  EXPECT_EQ(why_not([&] { return split_iname(twice_each(), "i", 16); }), std::nullopt);
}

TEST(SplitIname, RefusesBadLength) {
  EXPECT_ERROR("loopy.split_iname.bad_length", split_iname(twice_each(), "i", 0));
}

TEST(SplitIname, RefusesTaggedIname) {
  EXPECT_ERROR("loopy.split_iname.tagged_already",
               split_iname(tag_inames(twice_each(), "i:g.0"), "i", 16));
}

TEST(SplitIname, RefusesTakenNames) {
  EXPECT_ERROR("loopy.split_iname.name_taken",
               split_iname(twice_each(), "i", 16, {.outer_name = "a"}));
  EXPECT_ERROR("loopy.split_iname.name_taken",
               split_iname(twice_each(), "i", 16, {.outer_name = "x", .inner_name = "x"}));
  EXPECT_ERROR("loopy.split_iname.name_taken",
               split_iname(twice_each(), "i", 16, {.inner_name = "3 x"}));
}

TEST(SplitIname, RefusesOneAxisForTwoInames) {
  EXPECT_ERROR("loopy.split_iname.axis_used_twice",
               split_iname(twice_each(), "i", 16, {.outer_tag = "l.0", .inner_tag = "l.0"}));
  EXPECT_ERROR("loopy.split_iname.axis_used_twice",
               split_iname(tag_inames(matrix_vector(), "i:g.0"), "k", 4, {.outer_tag = "g.0"}));
}

TEST(SplitIname, RefusesUnknownTag) {
  EXPECT_ERROR("loopy.iname_tag.unknown", split_iname(twice_each(), "i", 16, {.outer_tag = "x.0"}));
  EXPECT_TRUE(why_not([&] {
                return split_iname(twice_each(), "i", 16, {.outer_tag = "x.0"});
              }).has_value());
}

}  // namespace
}  // namespace rtcg::loopy
