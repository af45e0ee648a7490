#include "rtcg/loopy/create/split_unions.h"

#include <gtest/gtest.h>

#include "rtcg/loopy/create/describe.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/kernel/print_kernel.h"
#include "tests/loopy/support/kernel_text.h"
#include "tests/loopy/support/same_results.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

Kernel union_kernel(std::string_view domains, std::string_view statements,
                    std::string_view arguments = "a, b, c: f32[20]") {
  return make_kernel(domains, statements,
                     {.arguments = std::string(arguments), .default_type = cgen::f32});
}

TEST(SplitUnions, MakesStatementsOfEachPart) {
  const Kernel kernel = union_kernel("{[i]: 0 <= i < 4 or 10 <= i < n}",
                                     "<> t = a[i]\nb[i] = 2*t\nc[0] = b[3] {id=last, dep=set_b}",
                                     "a, b, c: f32[n + 10]");
  EXPECT_EQ(domains_of(kernel), "[i]: i >= 0 and i <= 3\n[i_0]: i_0 >= 10 and i_0 < n\n");
  EXPECT_EQ(statements_of(kernel), "t = a[i]\nb[i] = 2*t\nt = a[i_0]\nb[i_0] = 2*t\nc[0] = b[3]\n");
  EXPECT_EQ(find_instruction(kernel, "last")->depends_on, (NameSet{"set_b", "set_b_0"}));
  expect_same_results(
      union_kernel("{[i, j]: 0 <= i < 4 and 10 <= j < n}",
                   "b[i] = 2*a[i]\nb[j] = 2*a[j]\nc[0] = b[3] {dep=*}", "a, b, c: f32[n + 10]"),
      kernel, {{"n", 13}});
}

TEST(SplitUnions, CombinesReductions) {
  const Kernel sums = union_kernel(
      "{[i]: 0 <= i < 5} {[j]: 0 <= j < 3 or i >= 0 and i + 7 < j < 20}",
      "f(x) := sum(j, a[j]*x)\nb[i] = f(i) + reduce(max, j, a[j])", "a: f32[20]; b: f32[5]");
  EXPECT_EQ(to_string(find_rule(sums, "f")->body), "sum(j, a[j]*x) + sum(j_0, a[j_0]*x)");
  EXPECT_EQ(statements_of(sums),
            "b[i] = f(i) + max(reduce(max, j, a[j]), reduce(max, j_0, a[j_0]))\n");
  expect_same_results(
      union_kernel("{[i, j, k]: 0 <= i < 5 and 0 <= j < 3 and i + 7 < k < 20}",
                   "b[i] = sum(j, a[j]*i) + sum(k, a[k]*i) + max(reduce(max, j, a[j]), "
                   "reduce(max, k, a[k]))",
                   "a: f32[20]; b: f32[5]"),
      sums, {});
}

TEST(SplitUnions, CopiesWhatDependsOnThePoints) {
  const Kernel kernel =
      union_kernel("{[i]: 0 <= i < 2 or 5 <= i < 7} {[k]: 0 <= k <= i}",
                   "f(x) := a[x + i]\nb[i] = sum(k, f(k))", "a: f32[20]; b: f32[7]");
  EXPECT_EQ(statements_of(kernel), "b[i] = sum(k, a[k + i])\nb[i_0] = sum(k_0, a[k_0 + i_0])\n");
  expect_same_results(
      union_kernel("{[i, j, k, l]: 0 <= i < 2 and 5 <= j < 7 and 0 <= k <= i and 0 <= l <= j}",
                   "b[i] = sum(k, a[k + i])\nb[j] = sum(l, a[l + j])", "a: f32[20]; b: f32[7]"),
      kernel, {});
}

TEST(SplitUnions, LeavesOutPartsWithoutPoints) {
  const Kernel kernel = make_kernel("{[i]: 0 <= i < 2 or n - 3 <= i < n}", "b[i] = a[i]",
                                    {.arguments = "a, b: f32[n]; n: i32", .assumptions = "n >= 8"});
  EXPECT_EQ(domains_of(kernel),
            "[i]: i >= 0 and i <= 1\n[i_0]: n <= i_0 + 3 and i_0 < n and i_0 >= 2\n");
}

// A loop of one axis cannot go around parts of the other one's loops.
TEST(SplitUnions, GivesEachPartLoopsOfItsOwnAlongOtherAxes) {
  const char* arguments = "a, b: f32[9, 9]";
  const Kernel kernel = union_kernel(
      "{[i]: 0 <= i < 2 or 6 <= i < 9} {[j]: 0 <= j < 4 or 5 <= j < 8} {[k]: 0 <= k < j}",
      "b[i, j] = 2*a[i, j] + sum(k, a[k, j])", arguments);
  expect_same_results(
      union_kernel("{[i]: 0 <= i < 2} {[h]: 6 <= h < 9} {[j]: 0 <= j < 4} {[l]: 5 <= l < 8} "
                   "{[p]: 0 <= p < 4} {[q]: 5 <= q < 8} {[k]: 0 <= k < j} {[r]: 0 <= r < l} "
                   "{[s]: 0 <= s < p} {[t]: 0 <= t < q}",
                   "b[i, j] = 2*a[i, j] + sum(k, a[k, j])\nb[i, l] = 2*a[i, l] + sum(r, a[r, l])\n"
                   "b[h, p] = 2*a[h, p] + sum(s, a[s, p])\nb[h, q] = 2*a[h, q] + sum(t, a[t, q])",
                   arguments),
      kernel, {});
  EXPECT_EQ(kernel.domains.size(), 10);
}

TEST(SplitUnions, RefusesOtherUses) {
  const char* wide = "{[i, j]: 0 <= i < 4 and 0 <= j < i or 6 <= i < 9 and 2 <= j < 5}";
  EXPECT_ERROR("loopy.make_kernel.union_use", union_kernel(wide, "b[i] = 2"));
  EXPECT_ERROR("loopy.make_kernel.union_use", union_kernel(wide, "b[i] = sum(j, a[j])"));
  const char* plain = "{[i]: 0 <= i < 5 or 7 <= i < 9}";
  EXPECT_ERROR("loopy.make_kernel.union_use",
               make_kernel(plain, "m[0], p[0] = argmax(i, a[i], i)",
                           {.arguments = "a: f32[9]; m: f32[1]; p: i32[1]"}));
  EXPECT_ERROR("loopy.make_kernel.union_use", union_kernel(plain, "b[i] = a[i] {dup=i}"));
}

TEST(SplitUnions, ReadsDomainsInCpp) {
  using namespace describe;
  const auto [i] = inames("i");
  const describe::Array a("a"), b("b");
  const Kernel kernel = describe::kernel("parts")
                            .domain((0 <= i && i < 4) || (10 <= i && i < 12))
                            .type(f32)
                            .add(b(i) = a(i));
  EXPECT_EQ(statements_of(kernel), "b[i] = a[i]\nb[i_0] = a[i_0]\n");
}

}  // namespace
}  // namespace rtcg::loopy
