#include "rtcg/loopy/transform/hardware_axes.h"

#include <gtest/gtest.h>

#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/transform/why_not.h"
#include "tests/loopy/support/replay.h"
#include "tests/loopy/support/same_results.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

Kernel scaled_on_axes(const char* tags) {
  return apply_recipe(
      make_kernel("{[i, j]: 0 <= i < n and 0 <= j < 8}",
                  "<> s = 2*t[0] {id=scale, inames=}\nb[i, j] = s*a[i, j] {id=use, inames=i:j}",
                  {.default_type = cgen::f32}),
      tags);
}

TEST(AddInamesForUnusedHardwareAxes, PutsStatementsOnAllAxes) {
  const Kernel before = scaled_on_axes("tag_inames(i:g.0, j:l.0)");
  const Kernel after = add_inames_for_unused_hardware_axes(before);
  EXPECT_EQ(after.instructions[0].within_inames, (NameSet{"i", "j"}));
  expect_same_results(before, after, {{"n", 3}});
  expect_recipe(scaled_on_axes(""), after,
                "tag_inames(i:g.0, j:l.0)\nadd_inames_for_unused_hardware_axes()\n");
}

TEST(AddInamesForUnusedHardwareAxes, RefusesWhereNothingOrTooMuchIsToAdd) {
  EXPECT_ERROR("loopy.add_inames_for_unused_hardware_axes.nothing_to_add",
               add_inames_for_unused_hardware_axes(scaled_on_axes("tag_inames(i:g.0)"), "id:use"));
  const Kernel shared = apply_recipe(
      make_kernel("{[i, j]: 0 <= i, j < 8}", "<> s = 2*t[0] {inames=}\nb[i] = s\nc[j] = s",
                  {.default_type = cgen::f32}),
      "tag_inames(i:l.0, j:l.0)");
  EXPECT_ERROR("loopy.add_inames_for_unused_hardware_axes.several_inames",
               add_inames_for_unused_hardware_axes(shared));
  EXPECT_NE(why_not([&] { return add_inames_for_unused_hardware_axes(shared); }), std::nullopt);
}

}  // namespace
}  // namespace rtcg::loopy
