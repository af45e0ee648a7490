#include "rtcg/loopy/transform/prioritize_loops.h"

#include <gtest/gtest.h>

#include "rtcg/loopy/create/make_kernel.h"
#include "tests/loopy/support/interpret.h"
#include "tests/loopy/support/replay.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

Kernel box() {
  return make_kernel("{[i, j, k]: 0 <= i, j, k < n}", "out[i, j, k] = 1.0",
                     {.default_type = cgen::f32});
}
using Orders = std::vector<std::vector<std::string>>;

TEST(PrioritizeLoops, StatesAnOrder) {
  const Kernel kernel = prioritize_loops(box(), {"k", "i"});
  EXPECT_EQ(kernel.loop_priorities, (Orders{{"k", "i"}}));
  EXPECT_EQ(statements_of(kernel), statements_of(box()));
  EXPECT_EQ(domains_of(kernel), domains_of(box()));
  EXPECT_EQ(recipe_of(kernel), "prioritize_loops(k, i)\n");
}

TEST(PrioritizeLoops, AddsOrders) {
  const Kernel kernel = prioritize_loops(prioritize_loops(box(), {"k", "i"}), {"i", "j"});
  EXPECT_EQ(kernel.loop_priorities, (Orders{{"k", "i"}, {"i", "j"}}));
  expect_recipe(box(), kernel, "prioritize_loops(k, i)\nprioritize_loops(i, j)\n");
}

TEST(PrioritizeLoops, RefusesUnknownIname) {
  EXPECT_ERROR("loopy.prioritize_loops.unknown_iname", prioritize_loops(box(), {"k", "q"}));
  EXPECT_EQ(why_not_prioritize_loops(box(), {"k", "q"}),
            "kernel 'loopy_kernel' has no iname 'q': its inames are i, j, k");
}

TEST(PrioritizeLoops, RefusesCircles) {
  EXPECT_ERROR("loopy.prioritize_loops.circle", prioritize_loops(box(), {"i", "j", "i"}));
  const Kernel kernel = prioritize_loops(prioritize_loops(box(), {"k", "i"}), {"i", "j"});
  EXPECT_ERROR("loopy.prioritize_loops.circle", prioritize_loops(kernel, {"j", "k"}));
  EXPECT_EQ(why_not_prioritize_loops(kernel, {"j", "k"}),
            "with the order [j, k] 'j' would have to be inside of itself");
  EXPECT_EQ(why_not_prioritize_loops(kernel, {"k", "j"}), std::nullopt);
}

}  // namespace
}  // namespace rtcg::loopy
