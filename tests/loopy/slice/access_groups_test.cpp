#include "rtcg/loopy/slice/access_groups.h"

#include <gtest/gtest.h>

#include "rtcg/loopy/create/make_kernel.h"

namespace rtcg::loopy::detail {
namespace {

std::vector<std::size_t> sizes_of(const std::string& text, const std::string& arguments) {
  const Kernel kernel =
      make_kernel("{[i, j]: 0 <= i, j < 16} {[k]: 0 <= k < 16}", text, {.arguments = arguments});
  std::vector<std::size_t> sizes;
  for (const AccessGroup& each : access_groups(kernel, "a")) {
    sizes.push_back(each.reads.size());
  }
  return sizes;
}

using Sizes = std::vector<std::size_t>;

TEST(AccessGroups, HaveReadsThatDifferByConstants) {
  EXPECT_EQ(sizes_of("b[i, j] = a[i, j] + a[i, j + 1] + a[j, i]", "a: f32[17, 17]; b: f32[16, 16]"),
            (Sizes{2, 1}));
}

TEST(AccessGroups, HaveReadsAtComputedPlacesOfTheSameRows) {
  EXPECT_EQ(sizes_of("b[i, j] = a[i, p[j]] + a[i + 1, p[j] + 1] + a[j, p[i]] + a[i, j]",
                     "a: f32[17, 17]; b: f32[16, 16]; p: i32[16]"),
            (Sizes{1, 2, 1}));
}

TEST(AccessGroups, TakeScalarsThatLoopsSetForComputedPlaces) {
  EXPECT_EQ(sizes_of("<> place = p[j] {id=place}\n"
                     "b[i, j] = a[place, i] + a[place + 1, i] + a[p[i], i] {dep=place}",
                     "a: f32[17, 17]; b: f32[16, 16]; p: i32[16]"),
            Sizes{3});
}

TEST(AccessGroups, AreApartInNestsThatShareNoLoop) {
  EXPECT_EQ(sizes_of("b[i, j] = a[p[j], p[i]]\nc[k] = a[p[k], p[k]]",
                     "a: f32[16, 16]; b: f32[16, 16]; c: f32[16]; p: i32[16]"),
            (Sizes{1, 1}));
}

TEST(AccessGroups, HaveOneQuotientEach) {
  EXPECT_EQ(sizes_of("b[i, j] = a[i // 3, j] + a[i // 3 + 1, j] + a[i // 3, j]",
                     "a: f32[17, 17]; b: f32[16, 16]"),
            (Sizes{2, 1}));
}

}  // namespace
}  // namespace rtcg::loopy::detail
