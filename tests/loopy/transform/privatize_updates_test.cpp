#include "rtcg/loopy/transform/privatize_updates.h"

#include <tuple>

#include <gtest/gtest.h>

#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/recipe/apply_recipe.h"
#include "rtcg/loopy/symbolic/parse_expr.h"
#include "tests/loopy/support/kernel_text.h"
#include "tests/loopy/support/replay.h"
#include "tests/loopy/support/same_results.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

const char* const blocks_of_64 =
    "split_iname(i, 256, outer_tag=g.0)\nsplit_iname(i_inner, 64, outer_name=step, inner_name=t, "
    "inner_tag=l.0)\n";

Kernel counted(const std::string& statement = "count[x[i]] += 1 {atomic}",
               const std::string& arguments = "x: i32[n]; count: i32[8]; n: i32") {
  return make_kernel("{[i]: 0 <= i < n}", statement, {.arguments = arguments});
}

Kernel counted_in_blocks() {
  return apply_recipe(counted(), blocks_of_64);
}

TEST(PrivatizeUpdates, GivesEachBlockCopies) {
  const Kernel kernel = privatize_updates(counted_in_blocks(), "count", {.copies = 4});
  EXPECT_EQ(statements_of(kernel),
            "count_private[count_private_z // 4, count_private_z % 4] = 0\n"
            "count_private[x[256*i_outer + 64*step + t], t % 4] = "
            "count_private[x[256*i_outer + 64*step + t], t % 4] + 1\n"
            "count[count_private_b] = count[count_private_b] + "
            "sum(count_private_c, count_private[count_private_b, "
            "(count_private_c + count_private_b) % 4])\n");
  EXPECT_EQ(find_temporary(kernel, "count_private")->shape, (std::vector<Expr>{8, 4}));
  EXPECT_EQ(find_temporary(kernel, "count_private")->address_space, AddressSpace::local);
  EXPECT_TRUE(get_if<Assignment>(kernel.instructions[1])->is_atomic);
  EXPECT_TRUE(get_if<Assignment>(kernel.instructions[2])->is_atomic);
  expect_recipe(counted(), kernel, recipe_of(kernel));
}

TEST(PrivatizeUpdates, NeedsNoAtomicsWithACopyForEachThread) {
  const Kernel kernel =
      privatize_updates(counted_in_blocks(), "count", {.copies = 64, .temporary_name = "own"});
  EXPECT_EQ(to_string(kernel.instructions[1]),
            "own[x[256*i_outer + 64*step + t], t] = own[x[256*i_outer + 64*step + t], t] + 1");
  EXPECT_FALSE(get_if<Assignment>(kernel.instructions[1])->is_atomic);
  const Kernel alone = privatize_updates(counted_in_blocks(), "count");
  EXPECT_EQ(find_temporary(alone, "count_private")->shape, (std::vector<Expr>{8}));
}

TEST(PrivatizeUpdates, LeavesOutAxesThatABlockHasOneIndexOf) {
  const Kernel described =
      make_kernel("{[i, j, k]: 0 <= i < n and 0 <= j < 16 and 0 <= k < 3}",
                  "top[k, x[i], j] = max(top[k, x[i], j], a[i, j, k]) {atomic}",
                  {.arguments = "x: i32[n]; a: i32[n, 16, 3]; top: i32[3, 4, 16]; n: i32"});
  const Kernel kernel =
      privatize_updates(apply_recipe(described,
                                     "split_iname(i, 8, outer_tag=g.0, inner_tag=l.1)\n"
                                     "tag_inames(k:g.1, j:l.0)"),
                        "top", {.copies = 8});
  EXPECT_EQ(find_temporary(kernel, "top_private")->shape, (std::vector<Expr>{64, 8}));
  EXPECT_EQ(to_string(kernel.instructions[1]),
            "top_private[x[8*i_outer + i_inner]*16 + j, j % 8] = "
            "max(top_private[x[8*i_outer + i_inner]*16 + j, j % 8], "
            "a[8*i_outer + i_inner, j, k])");
  expect_same_results(described, kernel, {{"n", 19}});
}

TEST(PrivatizeUpdates, KeepsResults) {
  for (const char* statement :
       {"s[x[i]] += a[i] {atomic}", "s[x[i]] = s[x[i]]*a[i] {atomic}",
        "larger(a, b) := b if abs(b) > abs(a) or (abs(b) == abs(a) and b > a) else a\n"
        "s[x[i]] = larger(s[x[i]], a[i]) {atomic}"}) {
    SCOPED_TRACE(statement);
    const Kernel described = counted(statement, "x: i32[n]; a: f64[n]; s: f64[4]; n: i32");
    for (const std::int64_t copies : {1, 16, 64}) {
      expect_same_results(
          described,
          privatize_updates(apply_recipe(described, blocks_of_64), "s", {.copies = copies}),
          {{"n", 300}});
    }
  }
}

TEST(PrivatizeUpdates, KeepsIntegers) {
  for (const char* value : {"s[x[i]] & a[i]", "s[x[i]] | a[i]", "s[x[i]] ^ a[i]",
                            "min(s[x[i]], a[i])", "max(a[i], s[x[i]])"}) {
    const Kernel described = counted(std::string("s[x[i]] = ") + value + " {atomic}",
                                     "x: i32[n]; a: i32[n]; s: i32[4]; n: i32");
    expect_same_results(
        described, privatize_updates(apply_recipe(described, blocks_of_64), "s", {.copies = 2}),
        {{"n", 100}});
  }
}

TEST(PrivatizeUpdates, HasCopiesOfANarrowerType) {
  for (const auto& [statement, array, copies] :
       {std::tuple("s[x[i]] += 1 {atomic}", "i64", "i32"),
        std::tuple("s[x[i]] = max(s[x[i]], x[i]) {atomic}", "i64", "i32"),
        std::tuple("s[x[i]] += 0.5 {atomic}", "f64", "f32")}) {
    SCOPED_TRACE(statement);
    const Kernel described =
        counted(statement, std::string("x: i32[n]; n: i32; s: ") + array + "[4]");
    const Kernel kernel = privatize_updates(apply_recipe(described, blocks_of_64), "s",
                                            {.copies = 2, .type = copies});
    EXPECT_EQ(find_temporary(kernel, "s_private")->type, parse_scalar_type(copies));
    EXPECT_NE(to_string(kernel.instructions[2]).find(std::string("cast(") + array),
              std::string::npos)
        << to_string(kernel.instructions[2]);
    expect_recipe(described, kernel, recipe_of(kernel));
    expect_same_results(described, kernel, {{"n", 300}});
  }
}

TEST(PrivatizeUpdates, TakesSeveralUpdatesOfOneArray) {
  const Kernel described =
      counted("d[x[i]] += 1 {atomic}\nd[y[i]] += 2 {atomic}", "x, y: i32[n]; d: i32[4]; n: i32");
  const Kernel kernel =
      privatize_updates(apply_recipe(described, blocks_of_64), "d", {.copies = 32});
  EXPECT_EQ(kernel.instructions.size(), 4U);
  expect_same_results(described, kernel, {{"n", 300}});
}

TEST(PrivatizeUpdates, RefusesWhatIsNoUpdate) {
  const Kernel blocks = counted_in_blocks();
  EXPECT_ERROR("loopy.privatize_updates.unknown_array", privatize_updates(blocks, "n"));
  EXPECT_ERROR("loopy.privatize_updates.not_updated", privatize_updates(blocks, "x"));
  const std::string arguments = "x: i32[n]; count: i32[8]; y: i32[n]; n: i32";
  EXPECT_ERROR(
      "loopy.privatize_updates.not_updated",
      privatize_updates(counted("count[x[i]] += 1 {atomic}\ny[i] = count[0]", arguments), "count"));
  EXPECT_ERROR("loopy.privatize_updates.not_updated",
               privatize_updates(
                   make_kernel("{[i, j]: 0 <= i, j < n}",
                               "count[x[i]] += 1 {atomic}\n... gbarrier\ncount[x[j]] += 1 {atomic}",
                               {.arguments = arguments}),
                   "count"));
  EXPECT_ERROR("loopy.privatize_updates.other_operation",
               privatize_updates(counted("count[x[i]] = 3 {atomic}"), "count"));
  EXPECT_ERROR("loopy.privatize_updates.other_operation",
               privatize_updates(counted("count[x[i]] += 1 {atomic}\n"
                                         "count[x[i]] = max(count[x[i]], 1) {atomic}"),
                                 "count"));
}

// A negative number is a large one for the next update of an unsigned element.
TEST(PrivatizeUpdates, RefusesMinimaOfMixedSigns) {
  const auto extreme = [](const std::string& value) {
    return counted("low[k[i]] = " + value + " {atomic}", "x, k: i32[n]; low: u32[8]; n: i32");
  };
  EXPECT_ERROR("loopy.privatize_updates.other_operation",
               privatize_updates(extreme("min(low[k[i]], x[i])"), "low"));
  for (const char* value : {"min(low[k[i]], cast(u32, x[i]))", "max(low[k[i]], x[i] - 4)"}) {
    SCOPED_TRACE(value);
    const Kernel described = extreme(value);
    expect_same_results(described, privatize_updates(apply_recipe(described, blocks_of_64), "low"),
                        {{"n", 300}});
  }
}

TEST(PrivatizeUpdates, RefusesCopiesThatDoNotFit) {
  const Kernel blocks = counted_in_blocks();
  EXPECT_ERROR("loopy.privatize_updates.bad_copies",
               privatize_updates(blocks, "count", {.copies = 0}));
  EXPECT_ERROR("loopy.privatize_updates.bad_copies",
               privatize_updates(blocks, "count", {.copies = 65}));
  EXPECT_ERROR("loopy.privatize_updates.name_taken",
               privatize_updates(blocks, "count", {.temporary_name = "x"}));
  for (const char* type : {"f32", "i33", "c64"}) {
    EXPECT_ERROR("loopy.privatize_updates.bad_type",
                 privatize_updates(blocks, "count", {.type = type}));
  }
  const Kernel open = counted("count[x[i]] += 1 {atomic}", "x: i32[n]; count: i32[m]; n, m: i32");
  EXPECT_ERROR("loopy.privatize_updates.unknown_length", privatize_updates(open, "count"));
  const Kernel large = apply_recipe(
      counted("count[x[i]] += 1 {atomic}", "x: i32[n]; count: i32[4096]; n: i32"), blocks_of_64);
  EXPECT_EQ(privatize_updates(large, "count", {.copies = 8}).instructions.size(), 3U);
  EXPECT_ERROR("loopy.privatize_updates.too_large",
               privatize_updates(large, "count", {.copies = 16}));
}

}  // namespace
}  // namespace rtcg::loopy
