#include "rtcg/loopy/transform/prioritize_loops.h"

#include <gtest/gtest.h>

#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/transform/split_iname.h"
#include "rtcg/loopy/transform/why_not.h"
#include "tests/loopy/support/kernel_text.h"
#include "tests/loopy/support/replay.h"
#include "tests/loopy/support/same_results.h"
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
  EXPECT_EQ(why_not([&] {
              return prioritize_loops(box(), {"k", "q"});
            }),
            "kernel 'loopy_kernel' has no iname 'q': its inames are i, j, k");
}

TEST(PrioritizeLoops, RefusesCircles) {
  EXPECT_ERROR("loopy.prioritize_loops.circle", prioritize_loops(box(), {"i", "j", "i"}));
  const Kernel kernel = prioritize_loops(prioritize_loops(box(), {"k", "i"}), {"i", "j"});
  EXPECT_ERROR("loopy.prioritize_loops.circle", prioritize_loops(kernel, {"j", "k"}));
  EXPECT_EQ(why_not([&] {
              return prioritize_loops(kernel, {"j", "k"});
            }),
            "with the order [j, k] 'j' would have to be inside of itself");
  EXPECT_EQ(why_not([&] { return prioritize_loops(kernel, {"k", "j"}); }), std::nullopt);
}

TEST(PrioritizeLoops, RefusesToReverseWhatIterationsHandOn) {
  const Kernel wave = make_kernel("{[i, j]: 1 <= i < n and 0 <= j < n}",
                                  "u[i, j] = 0.5*u[i - 1, j + 1]", {.default_type = cgen::f32});
  EXPECT_ERROR("loopy.prioritize_loops.carried_value", prioritize_loops(wave, {"j", "i"}));
  EXPECT_EQ(why_not([&] {
              return prioritize_loops(wave, {"j", "i"});
            }),
            "loops cannot come in the order [j, i]: an element of 'u' is used in two iterations: "
            "first 'set_u' writes it at i = 1, j = 1, then 'set_u' reads it at i = 2, j = 0; they "
            "would change places");
  EXPECT_EQ(why_not([&] { return prioritize_loops(wave, {"i", "j"}); }), std::nullopt);
}

TEST(PrioritizeLoops, RefusesToReverseTwoWritesAndPartsOfOneLoop) {
  const Kernel last_wins =
      make_kernel("{[i, j]: 0 <= i, j < n}", "last[i + j] = 1.0*i", {.default_type = cgen::f32});
  EXPECT_ERROR("loopy.prioritize_loops.carried_value", prioritize_loops(last_wins, {"j", "i"}));
  const Kernel chain = split_iname(
      make_kernel("{[i]: 1 <= i < n}", "u[i] = 0.5*u[i - 1]", {.default_type = cgen::f32}), "i", 4);
  EXPECT_ERROR("loopy.prioritize_loops.carried_value",
               prioritize_loops(chain, {"i_inner", "i_outer"}));
}

TEST(PrioritizeLoops, ReordersWhatIterationsDoNotHandOn) {
  // forwards in both loops
  const Kernel forwards = make_kernel("{[i, j]: 1 <= i, j < n}", "u[i, j] = 0.5*u[i - 1, j - 1]",
                                      {.default_type = cgen::f32});
  expect_same_results(forwards, prioritize_loops(forwards, {"j", "i"}), {{"n", 5}});
  // a sum that goes on, and variables that each iteration sets anew
  const Kernel sums = make_kernel("{[i, j]: 0 <= i, j < n}",
                                  "<> t = 2*a[i, j]\n"
                                  "<> s = t + 1\n"
                                  "total[0] = total[0] + s*t",
                                  {.default_type = cgen::f32});
  EXPECT_EQ(why_not([&] { return prioritize_loops(sums, {"j", "i"}); }), std::nullopt);
  // tiles of a product that is added up by statements
  Kernel product = make_kernel("{[i, j, k]: 0 <= i, j, k < n}",
                               "c[i, j] = c[i, j] + a[i, k]*b[k, j]", {.default_type = cgen::f32});
  for (const char* iname : {"i", "j", "k"}) {
    product = split_iname(product, iname, 4);
  }
  EXPECT_EQ(why_not([&] {
              return prioritize_loops(
                  product, {"k_outer", "i_outer", "j_outer", "k_inner", "i_inner", "j_inner"});
            }),
            std::nullopt);
}

TEST(PrioritizeLoops, SeesWhatStatementsHandToEachOther) {
  const Kernel two = make_kernel("{[i, j]: 1 <= i < n and 0 <= j < n}",
                                 "for i, j\n"
                                 "u[i, j] = v[i - 1, j + 1]\n"
                                 "v[i, j] = 2*u[i, j]\n"
                                 "end",
                                 {.default_type = cgen::f32});
  EXPECT_ERROR("loopy.prioritize_loops.carried_value", prioritize_loops(two, {"j", "i"}));
}

}  // namespace
}  // namespace rtcg::loopy
