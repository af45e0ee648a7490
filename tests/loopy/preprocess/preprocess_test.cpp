#include "rtcg/loopy/preprocess/preprocess.h"

#include <gtest/gtest.h>

#include "rtcg/cgen/ast/describe.h"
#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/transform/recipe.h"
#include "tests/loopy/support/run_schedule.h"
#include "tests/loopy/support/same_results.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

Kernel kernel_of(std::string_view domains, std::string_view statements,
                 std::string_view recipe = "",
                 const KernelOptions& options = {.default_type = cgen::f64}) {
  return apply_recipe(make_kernel(domains, statements, options), recipe);
}

AddressSpace space_of(const Kernel& kernel, const std::string& temporary) {
  const Temporary* found = find_temporary(kernel, temporary);
  EXPECT_NE(found, nullptr) << temporary;
  return found == nullptr ? AddressSpace::automatic : found->address_space;
}

std::string tags_of(const Kernel& kernel) {
  std::string text;
  for (const auto& [iname, tag] : kernel.iname_tags) {
    text += iname + ":" + to_string(tag) + " ";
  }
  return text;
}

TEST(Preprocess, LeavesNoRulesAndNoReductions) {
  const Kernel kernel = preprocess(kernel_of("{[i, k]: 0 <= i, k < n}",
                                             "f(x) := 2*x\n"
                                             "b[i] = sum(k, f(a[i, k])) + f(b[i])"));
  EXPECT_TRUE(kernel.rules.empty());
  for (const Instruction& each : kernel.instructions) {
    EXPECT_TRUE(reduction_inames(each).empty()) << to_string(each);
  }
  for (const Temporary& each : kernel.temporaries) {
    EXPECT_TRUE(each.type.has_value()) << each.name;
    EXPECT_NE(each.address_space, AddressSpace::automatic) << each.name;
  }
}

TEST(Preprocess, KeepsTheRecipeAsTheUserWroteIt) {
  const Kernel kernel = kernel_of(
      "{[i, j]: 0 <= i, j < 32}", "f(x) := 2*x\n<> t[j] = f(a[i, j])\nb[i, j] = t[31 - j]",
      "split_iname(i, 8, outer_tag=g.0, inner_tag=l.0)\ntag_inames(j:l.auto)");
  EXPECT_EQ(preprocess(kernel).recipe, kernel.recipe);
}

TEST(Preprocess, KeepsTheNumbers) {
  const Kernel kernel = kernel_of("{[i, k]: 0 <= i < n and 0 <= k <= i}",
                                  "f(x) := 3*x + 1\n"
                                  "far(u, v) := if(u*u < v*v, v, u) {neutral=0}\n"
                                  "b[i] = sum(k, f(a[i, k])) - reduce(max, k, a[k, i])"
                                  " + reduce(far, k, a[k, k] - a[i, k])",
                                  "", {.arguments = "a: f64[n, n]; b: f64[n]"});
  const ScheduleRun run = run_schedule(kernel, {{"n", 6}});
  EXPECT_EQ(run.problem(), "");
  expect_equal(as_results(run.results()), results_of(kernel, {{"n", 6}}), kernel);
}

TEST(Preprocess, DropsAxesThatNoStatementLiesOn) {
  Kernel kernel =
      kernel_of("{[i]: 0 <= i < 8} {[j]: 0 <= j < 8}", "b[i] = a[i]", "tag_inames(i:l.0)");
  kernel.iname_tags["j"] = {AxisKind::grid, 0};
  EXPECT_EQ(tags_of(preprocess(kernel)), "i:l.0 ");
}

TEST(ChooseAddressSpaces, SharesWhatThreadsWriteElementByElement) {
  const Kernel kernel = choose_address_spaces(
      kernel_of("{[i, j]: 0 <= i, j < 8}",
                "<> shared[i] = a[i]\n<> scalar = a[i]\n<> row[j] = a[i + j]\n"
                "b[i, j] = shared[7 - i] + scalar + row[j]",
                "tag_inames(i:l.0)", {.arguments = "a: f64[16]; b: f64[8, 8]"}));
  EXPECT_EQ(space_of(kernel, "shared"), AddressSpace::local);
  EXPECT_EQ(space_of(kernel, "scalar"), AddressSpace::private_);
  EXPECT_EQ(space_of(kernel, "row"), AddressSpace::private_);
}

// Checks ask before l.auto has become an axis.
TEST(ChooseAddressSpaces, SharesWhatIsOnAnAxisByItself) {
  const auto space = [](const char* tags) {
    return space_of(
        choose_address_spaces(kernel_of("{[i, j]: 0 <= i, j < 8}",
                                        "<> row[j] = a[j] {id=put, inames=j}\nb[i] = row[7 - i]",
                                        tags, {.arguments = "a: f64[16]; b: f64[8]"})),
        "row");
  };
  EXPECT_EQ(space("tag_inames(i:l.1, j:l.auto)"), AddressSpace::local);
  EXPECT_EQ(space("tag_inames(i:g.0, j:l.auto)"), AddressSpace::private_);
}

TEST(ChooseAddressSpaces, KeepsWhatIsStated) {
  const Kernel kernel = choose_address_spaces(
      kernel_of("{[i]: 0 <= i < 8}", "<> t[i] = a[i]\nb[i] = t[i]",
                "tag_inames(i:l.0); set_temporary_address_space([t], private)"));
  EXPECT_EQ(space_of(kernel, "t"), AddressSpace::private_);
}

TEST(ChooseAddressSpaces, RefusesWhatIsHalfShared) {
  const Kernel kernel =
      kernel_of("{[i, j]: 0 <= i, j < 16}",
                "<> t[i] = a[i, j] {id=put, inames=i:j}\nb[i, j] = t[15 - i] {inames=i:j}",
                "tag_inames(i:l.0, j:l.1)");
  EXPECT_ERROR("loopy.choose_address_spaces.ambiguous", choose_address_spaces(kernel));
  try {
    static_cast<void>(choose_address_spaces(kernel));
  } catch (const InvalidInput& error) {
    for (const char* part : {"'put'", "'t'", "index i", "'j'"}) {
      EXPECT_NE(error.message().find(part), std::string::npos) << error.message();
    }
  }
}

TEST(AssignAutoAxes, PutsTheContiguousAxisOnThreadsSideBySide) {
  // b's rows are contiguous along j, those of its transpose along i
  const char* domains = "{[x, y]: 0 <= x, y < 8} {[i, j]: 0 <= i, j < 8}";
  const char* axes = "tag_inames(x:l.0, y:l.1, i:l.auto, j:l.auto)";
  EXPECT_EQ(tags_of(assign_auto_axes(kernel_of(domains, "a[x, y] = 1.0\nc[i, j] = b[i, j]", axes))),
            "i:l.1 j:l.0 x:l.0 y:l.1 ");
  EXPECT_EQ(
      tags_of(assign_auto_axes(kernel_of(domains, "a[x, y] = 1.0\n<> t[i, j] = b[j, i]", axes))),
      "i:l.0 j:l.1 x:l.0 y:l.1 ");
}

TEST(AssignAutoAxes, SplitsWhatIsLongerThanItsAxis) {
  const Kernel kernel = kernel_of(
      "{[x]: 0 <= x < 8} {[i]: 0 <= i < 20}", "<> t[i] = b[i] {id=fetch}\na[x] = t[x + 12]",
      "tag_inames(x:l.0, i:l.auto)", {.arguments = "b: f64[20]; a: f64[8]"});
  EXPECT_EQ(tags_of(assign_auto_axes(kernel)), "i_inner:l.0 x:l.0 ");
  const ScheduleRun run = run_schedule(kernel, {});
  EXPECT_EQ(run.problem(), "");
  EXPECT_EQ(run.barriers_passed(), 1);
  expect_equal(as_results(run.results()), results_of(kernel, {}), kernel);
}

TEST(AssignAutoAxes, MakesLoopsOfWhatFindsNoAxis) {
  const char* domains = "{[x]: 0 <= x < 8} {[i, j]: 0 <= i, j < 8}";
  EXPECT_EQ(tags_of(assign_auto_axes(kernel_of(domains, "a[x] = 1.0\nc[i, j] = b[i, j]",
                                               "tag_inames(x:l.0, i:l.auto, j:l.auto)"))),
            "j:l.0 x:l.0 ");
  EXPECT_EQ(tags_of(assign_auto_axes(
                kernel_of(domains, "c[i, j] = b[i, j]", "tag_inames(i:l.auto, j:l.auto)"))),
            "");
}

TEST(AssignAutoAxes, LeavesAxesAloneThatTheStatementUses) {
  EXPECT_EQ(tags_of(assign_auto_axes(kernel_of("{[x, y, i]: 0 <= x, y, i < 8}",
                                               "c[x, i] = b[x, i]\nd[x, y] = 1.0",
                                               "tag_inames(x:l.0, y:l.1, i:l.auto)"))),
            "i:l.1 x:l.0 y:l.1 ");
}

}  // namespace
}  // namespace rtcg::loopy
