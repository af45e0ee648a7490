#include "rtcg/loopy/transform/hold_array.h"

#include <gtest/gtest.h>

#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/transform/rename_inames.h"
#include "rtcg/loopy/transform/split_iname.h"
#include "rtcg/loopy/transform/tag_inames.h"
#include "rtcg/loopy/transform/temporaries.h"
#include "tests/loopy/slice/held_kernels.h"
#include "tests/loopy/support/kernel_text.h"
#include "tests/loopy/support/replay.h"
#include "tests/loopy/support/same_results.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

/// Blocks of `rows` iterations of a loop.
Kernel in_blocks(Kernel kernel, const std::vector<std::string>& loops, std::int64_t rows) {
  kernel = rename_inames(std::move(kernel), loops, loops.front());
  return split_iname(std::move(kernel), loops.front(), rows,
                     {.outer_tag = "g.0", .inner_tag = "l.1"});
}

TEST(HoldArray, KeepsThePartOfABlockInSharedMemory) {
  const Kernel blocks = in_blocks(lifted_fluxes(), {"c", "e"}, 8);
  const Kernel held = hold_array(blocks, "flux");
  const Temporary& flux = *find_temporary(held, "flux");
  EXPECT_EQ(flux.address_space, AddressSpace::local);
  EXPECT_EQ(to_string(access("flux", flux.shape)), "flux[8, 2, 12]");
  EXPECT_EQ(
      statements_of(held),
      R"(flux[c_inner, 0, f] = scale[8*c_outer + c_inner]*u[8*c_outer + c_inner, 0, inside[f] % 4]
flux[c_inner, 1, f] = scale[8*c_outer + c_inner]*u[8*c_outer + c_inner, 1, inside[f] % 4] - u[8*c_outer + c_inner, 0, inside[f] % 4]
rhs[8*c_outer + c_inner, 0, i] = sum(j, D[i, j]*u[8*c_outer + c_inner, 1, j]) + sum(m, lift[i, m]*flux[c_inner, 0, m])
rhs[8*c_outer + c_inner, 1, i] = sum(j, D[i, j]*u[8*c_outer + c_inner, 0, j]) + sum(m, lift[i, m]*flux[c_inner, 1, m])
)");
  EXPECT_EQ(to_string(held.recipe.back()), "hold_array(flux)");
  expect_same_results(lifted_fluxes(), held, {{"n", 11}});
}

TEST(HoldArray, SeesThroughLoopsThatAreCutTwice) {
  const Kernel blocks = in_blocks(perceptrons(), {"a", "b"}, 4);
  Kernel cut = split_iname(split_iname(blocks, "h", 4), "h_inner", 2);
  cut = split_iname(std::move(cut), "m", 3);
  expect_same_results(perceptrons(), hold_array(cut, "hidden"), {{"n", 6}});
}

TEST(HoldArray, KeepsAnIterationOfALoopThatIsShared) {
  const Kernel shared = rename_inames(lifted_fluxes_as_results(), {"c", "e"}, "c");
  const Kernel held = hold_array(shared, "flux", {.temporary_name = "of_element"});
  EXPECT_EQ(statements_of(held), R"(of_element[f] = scale[c]*u[c, f // 2]
flux[c, f] = of_element[f]
rhs[c, i] = sum(m, lift[i, m]*of_element[m])
)");
  expect_same_results(lifted_fluxes_as_results(), held, {{"n", 3}});
  expect_recipe(lifted_fluxes_as_results(), held,
                "rename_inames([c, e], c)\nhold_array(flux, temporary_name=of_element)\n");
}

TEST(HoldArray, HoldsWholeAxesWherePlacesAreComputed) {
  const Kernel blocks = in_blocks(histograms_of_rows(), {"r", "o"}, 4);
  const Kernel held = hold_array(blocks, "count");
  EXPECT_NE(statements_of(held).find("count[r_inner, bin[4*r_outer + r_inner, k] % 8]"),
            std::string::npos)
      << statements_of(held);
  expect_same_results(histograms_of_rows(), held, {{"n", 6}});
}

TEST(HoldArray, KeepsWhatAThreadHandsOn) {
  const Kernel kernel =
      make_kernel("{[i, j]: 0 <= i < n and 0 <= j < 3}\n{[k]: 0 <= k < 3}",
                  "<f32> t[n, 3]\nt[i, j] = 2*a[i, j]\nb[i] = sum(k, t[i, k])",
                  {.arguments = "a: f32[n, 3]; b: f32[n]", .default_type = cgen::f32});
  const Kernel threads = split_iname(kernel, "i", 32, {.outer_tag = "g.0", .inner_tag = "l.0"});
  const Kernel held = hold_array(threads, "t", {.address_space = AddressSpace::private_});
  EXPECT_EQ(statements_of(held), R"(t[j] = 2*a[32*i_outer + i_inner, j]
b[32*i_outer + i_inner] = sum(k, t[k])
)");
  EXPECT_EQ(find_temporary(held, "t")->address_space, AddressSpace::private_);
  expect_same_results(kernel, held, {{"n", 40}});
  expect_recipe(kernel, held,
                "split_iname(i, 32, inner_tag=l.0, outer_tag=g.0)\n"
                "hold_array(t, address_space=private)\n");
  EXPECT_EQ(statements_of(hold_array(threads, "t")), R"(t[i_inner, j] = 2*a[32*i_outer + i_inner, j]
b[32*i_outer + i_inner] = sum(k, t[i_inner, k])
)");
}

TEST(HoldArray, SeesHalosAndConditions) {
  // what is read at the rim is written, too
  const Kernel kernel = make_kernel(
      "{[r, j]: 0 <= r < n and 0 <= j < 9}\n{[i]: 0 <= i < 8}",
      "<f32> t[n, 9]\nt[r, j] = a[r, j]\nb[r, i] = t[r, i + 1] - if(i > 0, t[r, i - 1], 0)",
      {.arguments = "a: f32[n, 9]; b: f32[n, 8]", .default_type = cgen::f32});
  const Kernel held = hold_array(kernel, "t");
  EXPECT_EQ(to_string(access("t", find_temporary(held, "t")->shape)), "t[9]");
  expect_same_results(kernel, held, {{"n", 3}});
}

TEST(HoldArray, RefusesWhatIsNoArray) {
  EXPECT_ERROR("loopy.hold_array.unknown_array", hold_array(lifted_fluxes(), "q"));
  EXPECT_ERROR("loopy.hold_array.unknown_array", hold_array(lifted_fluxes(), "n"));
  EXPECT_ERROR("loopy.hold_array.bad_space",
               hold_array(lifted_fluxes(), "flux", {.address_space = AddressSpace::global}));
  EXPECT_ERROR("loopy.hold_array.name_taken",
               hold_array(lifted_fluxes(), "flux", {.temporary_name = "u"}));
}

TEST(HoldArray, RefusesNestsInOtherBlocks) {
  // nests share no loop: the fluxes of all elements are handed on
  EXPECT_ERROR("loopy.hold_array.no_constant_length", hold_array(lifted_fluxes(), "flux"));
  const Kernel blocks =
      split_iname(lifted_fluxes(), "e", 8, {.outer_tag = "g.0", .inner_tag = "l.1"});
  EXPECT_ERROR("loopy.hold_array.other_blocks", hold_array(blocks, "flux"));
}

TEST(HoldArray, RefusesElementsOfOtherIterations) {
  const Kernel neighbours = make_kernel(
      "{[r, i]: 1 <= r < n and 0 <= i < 4}", "t[r, i] = a[r, i]\nb[r, i] = t[r, i] + t[r - 1, i]",
      {.arguments = "t, a, b: f32[n, 4]", .default_type = cgen::f32});
  EXPECT_ERROR("loopy.hold_array.not_written_before", hold_array(neighbours, "t"));
  const Kernel turned = make_kernel("{[r, i]: 0 <= r < n and 0 <= i < 4}",
                                    "t[r, i] = a[r, i]\nb[r, i] = t[n - 1 - r, i]",
                                    {.arguments = "t, a, b: f32[n, 4]",
                                     .default_type = cgen::f32,
                                     .sequential_dependencies = true});
  EXPECT_ERROR("loopy.hold_array.different_accesses", hold_array(turned, "t"));
}

TEST(HoldArray, RefusesToReadWhatIsNotWrittenBefore) {
  const auto refused = [](const std::string& statements) {
    const Kernel kernel = make_kernel(
        "{[r, i]: 0 <= r < n and 0 <= i < 4}\n{[j]: 0 <= j < 4}\n{[k]: 0 <= k < 3}", statements,
        {.arguments = "t, a: f32[n, 4]; b: f32[n]",
         .default_type = cgen::f32,
         .sequential_dependencies = true});
    EXPECT_ERROR("loopy.hold_array.not_written_before", hold_array(kernel, "t"));
  };
  refused("b[r] = sum(j, t[r, j])\nt[r, i] = a[r, i]");
  refused("t[r, i] = a[r, i] {if=a[r, i] > 0}\nb[r] = sum(j, t[r, j])");
  refused("t[r, k] = a[r, k]\nb[r] = sum(j, t[r, j])");
  refused("t[r, 0] = a[r, 0]\nt[r, 1] = a[r, 1]\nt[r, 3] = a[r, 3]\nb[r] = sum(j, t[r, j])");
  refused("t[r, i] = t[r, i] + a[r, i]");
}

TEST(HoldArray, TakesWhatSeveralStatementsWrite) {
  const Kernel kernel =
      make_kernel("{[r]: 0 <= r < n}\n{[j]: 0 <= j < 3}\n{[k]: 0 <= k < 2}",
                  "<f32> t[n, 3]\nt[r, 0] = a[r]\nt[r, k + 1] = 2*a[r] + k\nb[r] = sum(j, t[r, j])",
                  {.arguments = "a, b: f32[n]", .default_type = cgen::f32});
  expect_same_results(kernel, hold_array(kernel, "t"), {{"n", 3}});
}

TEST(HoldArray, RefusesUpdatesOfArgumentsAndSeveralLaunches) {
  const Kernel updated =
      make_kernel("{[r, i]: 0 <= r < n and 0 <= i < 4}\n{[j]: 0 <= j < 4}",
                  "t[r, i] = a[r, i]\nt[r, i] = 2*t[r, i]\nb[r] = sum(j, t[r, j])",
                  {.arguments = "t, a: f32[n, 4]; b: f32[n]",
                   .default_type = cgen::f32,
                   .sequential_dependencies = true});
  EXPECT_ERROR("loopy.hold_array.different_accesses", hold_array(updated, "t"));
  const Kernel launches = make_kernel("{[r, i]: 0 <= r < n and 0 <= i < 4}\n{[j]: 0 <= j < 4}",
                                      "t[r, i] = a[r, i]\n... gbarrier\nb[r] = sum(j, t[r, j])",
                                      {.arguments = "t, a: f32[n, 4]; b: f32[n]",
                                       .default_type = cgen::f32,
                                       .sequential_dependencies = true});
  EXPECT_ERROR("loopy.hold_array.several_launches", hold_array(launches, "t"));
}

}  // namespace
}  // namespace rtcg::loopy
