#include "rtcg/loopy/transform/find_iname_duplications.h"

#include <gtest/gtest.h>

#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/transform/duplicate_inames.h"

namespace rtcg::loopy {
namespace {

TEST(FindInameDuplications, FindsWhatMakesLoopsNest) {
  // both around the first statement, each alone around another one
  const Kernel kernel = make_kernel("{[i, j]: 0 <= i, j < n}",
                                    "a[i, j] = 1 {id=both}\nb[i] = 2 {id=rows}\nc[j] = 3 {id=cols}",
                                    {.default_type = cgen::f32});
  EXPECT_FALSE(has_schedulable_iname_nesting(kernel));
  const std::vector<InameDuplication> found = find_iname_duplications(kernel);
  const std::vector<InameDuplication> expected = {
      {"i", "id:both"}, {"i", "id:rows"}, {"j", "id:both"}, {"j", "id:cols"}};
  EXPECT_EQ(found, expected);
  for (const InameDuplication& each : found) {
    EXPECT_TRUE(has_schedulable_iname_nesting(
        duplicate_inames(kernel, {each.iname}, {.within = each.within})));
  }
}

TEST(FindInameDuplications, AsksForNothingWhereLoopsNest) {
  const Kernel kernel =
      make_kernel("{[i, j]: 0 <= i, j < n}", "a[i, j] = 1", {.default_type = cgen::f32});
  EXPECT_TRUE(has_schedulable_iname_nesting(kernel));
  EXPECT_TRUE(find_iname_duplications(kernel).empty());
}

}  // namespace
}  // namespace rtcg::loopy
