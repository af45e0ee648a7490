#include "rtcg/loopy/transform/loosen_bounds.h"

#include <gtest/gtest.h>

#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/recipe/apply_recipe.h"
#include "rtcg/loopy/transform/split_iname.h"
#include "rtcg/loopy/transform/why_not.h"
#include "tests/loopy/support/replay.h"
#include "tests/loopy/support/same_results.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

Kernel lower_product(const char* domains = "{[i, j]: 0 <= i, j < 20} {[k]: 0 <= k <= i}") {
  Kernel kernel =
      make_kernel(domains, "c[i, j] = sum(k, a[i, k]*b[k, j])", {.default_type = cgen::f64});
  kernel = apply_recipe(kernel,
                        "split_iname(i, 16, outer_name=io, inner_name=ii)\n"
                        "split_iname(k, 8, outer_name=ko, inner_name=ki)");
  kernel.recipe.clear();
  return kernel;
}

std::string bounds_of(const Kernel& kernel, const std::string& iname) {
  return to_string(find_home_domain(kernel, iname)->constraints);
}

TEST(LoosenBounds, GivesTheLoopBoundsOfItsOwn) {
  const Kernel loose = loosen_bounds(lower_product(), "ko", {"ii"});
  EXPECT_EQ(find_home_domain(loose, "ko")->inames, std::vector<std::string>{"ko"});
  EXPECT_EQ(bounds_of(loose, "ko"), "ko >= 0 and ko <= 2 and ko <= 2*io + 1");
  EXPECT_EQ(bounds_of(loose, "ki"), bounds_of(lower_product(), "ki"));
  expect_equal(results_of(loose, {}), results_of(lower_product(), {}), lower_product());
  expect_recipe(lower_product(), loose, "loosen_bounds(ko, [ii])\n");
}

TEST(LoosenBounds, TakesADomainApart) {
  const Kernel whole = lower_product("{[i, j, k]: 0 <= i, j < 20 and 0 <= k <= i}");
  const Kernel loose = loosen_bounds(whole, "ko", {"ii"});
  EXPECT_EQ(bounds_of(loose, "ko"), "ko >= 0 and ko <= 2 and ko <= 2*io + 1");
  EXPECT_NE(find_home_domain(loose, "ki"), find_home_domain(loose, "ii"));
  expect_equal(results_of(loose, {}), results_of(whole, {}), whole);
}

// What i says of k through j would be a second beginning, in steps of another tile.
TEST(LoosenBounds, KeepsTheBoundsOfOneLoopOutOfAChain) {
  const auto split = [](const char* domain) {
    Kernel kernel =
        make_kernel(domain, "c[i, j] = sum(k, a[i, k]*b[j, k])", {.default_type = cgen::f64});
    return apply_recipe(kernel,
                        "split_iname(i, 6, outer_name=io, inner_name=ii)\n"
                        "split_iname(j, 8, outer_name=jo, inner_name=ji)\n"
                        "split_iname(k, 4, outer_name=ko, inner_name=ki)");
  };
  for (const char* domain : {"{[i, j, k]: 0 <= i <= j and j <= k < 20}",
                             "{[i, j, k]: 0 <= i <= j and i <= k and j <= k < 20}"}) {
    const Kernel whole = split(domain);
    const Kernel loose = loosen_bounds(whole, "ko", {"ii", "ji"});
    EXPECT_EQ(bounds_of(loose, "ko"), "ko <= 4 and 2*jo <= ko") << domain;
    expect_equal(results_of(loose, {}), results_of(whole, {}), whole);
  }
  // bounds of the loop itself all stay
  const Kernel both = split("{[i, j, k]: 0 <= i, j and i <= k and j <= k < 20}");
  EXPECT_EQ(bounds_of(loosen_bounds(both, "ko", {"ii", "ji"}), "ko"),
            "ko <= 4 and 3*io <= 2*ko + 1 and 2*jo <= ko");
  // a loop of j that is one of a thread leaves what i says
  const Kernel one = split("{[i, j, k]: 0 <= i and i <= j < 8 and j <= k < 8}");
  EXPECT_EQ(bounds_of(loosen_bounds(one, "ko", {"ii", "jo", "ji"}), "ko"),
            "ko <= 1 and 3*io <= 2*ko + 1");
}

// 'k' is a loop within those of 'j' for one statement, and nothing to the other.
TEST(LoosenBounds, LeavesSumsWithinItsLoopsThere) {
  const Kernel whole = split_iname(
      split_iname(
          make_kernel("{[i, j, k]: 0 <= i, j < 20 and i - 3 <= j <= i + 3 and j <= k <= j + 2}",
                      "b[i] = sum(j, a[j])\nc[i] = sum(j, sum(k, a[k]))",
                      {.arguments = "a: f64[22]; b, c: f64[20]"}),
          "i", 8),
      "j", 4);
  const Kernel loose = loosen_bounds(whole, "j_outer", {"i_inner"});
  EXPECT_EQ(with_parent_inames(loose, {"j_inner"}),
            (NameSet{"i_inner", "i_outer", "j_inner", "j_outer"}));
  EXPECT_EQ(with_parent_inames(loose, {"k"}).count("j_inner"), 1U);
  expect_equal(results_of(loose, {}), results_of(whole, {}), whole);
}

// 'l' is of another statement: the loops of the sum are not within it.
TEST(LoosenBounds, LeavesInamesOfOtherStatementsAlone) {
  const Kernel whole = split_iname(
      split_iname(
          split_iname(make_kernel("{[i, j, l]: 0 <= j, l <= i and i < 20}",
                                  "t[i] = sum(j, a[i, j])\nw[i, l] = a[i, l]/t[i]",
                                  {.default_type = cgen::f64, .sequential_dependencies = true}),
                      "i", 4),
          "j", 8),
      "l", 8);
  const Kernel loose = loosen_bounds(whole, "j_outer", {"i_inner"});
  EXPECT_EQ(with_parent_inames(loose, {"j_inner"}),
            (NameSet{"i_inner", "i_outer", "j_inner", "j_outer"}));
  expect_equal(results_of(loose, {}), results_of(whole, {}), whole);
}

TEST(LoosenBounds, LeavesBoundsThatMentionNothingOfIt) {
  const Kernel kernel = lower_product();
  EXPECT_EQ(loosen_bounds(kernel, "ko", {"j"}).domains.size(), kernel.domains.size());
}

TEST(LoosenBounds, RefusesWhatNothingWouldTest) {
  const Kernel kernel = lower_product();
  EXPECT_ERROR("loopy.loosen_bounds.unknown_iname", loosen_bounds(kernel, "q", {"ii"}));
  EXPECT_ERROR("loopy.loosen_bounds.unknown_iname", loosen_bounds(kernel, "ko", {"q"}));
  EXPECT_ERROR("loopy.loosen_bounds.not_possible", loosen_bounds(kernel, "ko", {"ki"}));
  EXPECT_ERROR("loopy.loosen_bounds.not_possible", loosen_bounds(kernel, "ii", {"j"}));
  const Kernel whole =
      make_kernel("{[i, j]: 0 <= i, j < 20} {[k]: 0 <= k <= i}",
                  "c[i, j] = sum(k, a[i, k]*b[k, j])", {.default_type = cgen::f64});
  EXPECT_EQ(why_not([&] { return loosen_bounds(whole, "k", {"i"}); }),
            "no other loop of a reduction could test what bounds 'k'; split 'k' first");
}

}  // namespace
}  // namespace rtcg::loopy
