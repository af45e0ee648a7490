// Loops that go through the elements of a reduction in their order.
#include "rtcg/loopy/analyze/reduction_order.h"

#include <gtest/gtest.h>

#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/kernel/kernel_file.h"
#include "rtcg/loopy/kernel/print_kernel.h"
#include "rtcg/loopy/recipe/apply_recipe.h"
#include "rtcg/loopy/recipe/parse_kernel_file.h"
#include "rtcg/loopy/symbolic/parse_expr.h"
#include "rtcg/loopy/symbolic/print_expr.h"
#include "rtcg/loopy/symbolic/traverse.h"
#include "rtcg/loopy/transform/reduce_over_grid.h"
#include "rtcg/loopy/transform/split_reduction.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

using Inames = std::vector<std::string>;

const std::string after = "after(a, b, c, d) := make_tuple(c*a, c*b + d) {neutral=1:0}\n";
const std::string last = "last(a, b) := if(b != 0, b, a) {neutral=0}\n";

Kernel maps_of(const std::string& recipe = "", const std::string& order = "") {
  return apply_recipe(make_kernel("{[j]: 0 <= j < n}",
                                  after + "u[0], v[0] = reduce(after, j, a[j], b[j]" + order + ")",
                                  {.arguments = "u, v: i64[1]; a, b: i64[n]"}),
                      recipe);
}

Kernel last_of_rows(const std::string& recipe = "", const std::string& order = "") {
  return apply_recipe(make_kernel("{[i, j]: 0 <= i < 6 and 0 <= j < 10}",
                                  last + "z[0] = reduce(last, (i, j), a[i, j]" + order + ")",
                                  {.arguments = "z: i64[1]; a: i64[6, 10]"}),
                      recipe);
}

Reduction reduction_of(const Kernel& kernel) {
  Reduction found;
  for_each_expression(kernel.instructions.front(), [&](const Expr& expr) {
    walk(expr, [&](const Expr& part) {
      found = found.inames.empty() && is<Reduction>(part) ? *get_if<Reduction>(part) : found;
      return true;
    });
  });
  return found;
}

std::string text_of(const Kernel& kernel) {
  return to_string(Expr(reduction_of(kernel)));
}

std::optional<Inames> levels_of(const Kernel& kernel, const Inames& preferred) {
  return levels_in_order(kernel, reduction_of(kernel), preferred);
}

TEST(InOrder, IsAddedReadAndWritten) {
  EXPECT_EQ(text_of(maps_of()), "reduce(after, j, a[j], b[j], in_order(j))");
  EXPECT_EQ(text_of(last_of_rows()), "reduce(last, (i, j), a[i, j], in_order(i, j))");
  EXPECT_EQ(text_of(last_of_rows("", ", in_order(j, i)")),
            "reduce(last, (i, j), a[i, j], in_order(j, i))");
  const Expr read = parse_expr("reduce(after, j, a[j], in_order(-1*j))");
  ASSERT_EQ(get_if<Reduction>(read)->operands.size(), 1U);
  EXPECT_EQ(to_string(read), "reduce(after, j, a[j], in_order(-j))");
  const Kernel again = described_kernel(parse_kernel_file(to_string(to_kernel_file(maps_of()))));
  EXPECT_EQ(text_of(again), text_of(maps_of()));
  EXPECT_EQ(text_of(maps_of("split_iname(j, 8)")),
            "reduce(after, (j_outer, j_inner), a[8*j_outer + j_inner], b[8*j_outer + j_inner], "
            "in_order(8*j_outer + j_inner))");
}

TEST(InOrder, IsRefusedWhereItMeansNothing) {
  const auto kernel_of = [](const std::string& value) {
    return make_kernel("{[i, j]: 0 <= i < 5 and 0 <= j <= i}", last + "z[i] = " + value,
                       {.arguments = "z, a: i64[5]"});
  };
  EXPECT_ERROR("loopy.in_order.operation", kernel_of("sum(j, a[j], in_order(j))"));
  EXPECT_ERROR("loopy.in_order.scan", kernel_of("scan(last, j, a[j], in_order(j))"));
  EXPECT_ERROR("loopy.in_order.place", kernel_of("reduce(last, j, in_order(j) + a[j])"));
  EXPECT_ERROR("loopy.in_order.values", kernel_of("reduce(last, j, a[j], in_order(a[j]))"));
  EXPECT_ERROR("loopy.in_order.values", kernel_of("reduce(last, j, a[j], in_order(j*j))"));
}

TEST(ReductionOrder, IsThatOfThePartsOfALoop) {
  const Kernel split = maps_of("split_iname(j, 8)");
  const Inames parts = {"j_outer", "j_inner"};
  EXPECT_EQ(levels_of(split, {"j_outer", "j_inner"}), parts);
  EXPECT_EQ(levels_of(split, {"j_inner", "j_outer"}), parts);
  EXPECT_EQ(levels_of(maps_of("split_iname(j, 8)\nsplit_iname(j_outer, 4)"),
                      {"j_inner", "j_outer_inner", "j_outer_outer"}),
            (Inames{"j_outer_outer", "j_outer_inner", "j_inner"}));
}

TEST(ReductionOrder, OfSeveralInamesIsTheFirstOneOutermost) {
  EXPECT_EQ(levels_of(last_of_rows(), {"j", "i"}), (Inames{"i", "j"}));
  EXPECT_EQ(levels_of(last_of_rows("", ", in_order(j, i)"), {"i", "j"}), (Inames{"j", "i"}));
  // equal values in any order
  EXPECT_EQ(levels_of(last_of_rows("", ", in_order(j)"), {"i", "j"}), (Inames{"j", "i"}));
  EXPECT_EQ(levels_of(last_of_rows("join_inames([i, j], name=f)"), {"f"}), (Inames{"f"}));
  EXPECT_EQ(levels_of(last_of_rows("join_inames([i, j], name=f)\nsplit_iname(f, 4)"),
                      {"f_inner", "f_outer"}),
            (Inames{"f_outer", "f_inner"}));
}

TEST(ReductionOrder, IsNoneOfLoopsThatGoBackwards) {
  EXPECT_EQ(levels_of(maps_of("", ", in_order(-1*j)"), {"j"}), std::nullopt);
  EXPECT_ERROR("loopy.reduction_order.not_in_order",
               generate_text(maps_of("", ", in_order(-1*j)"), Target::host));
}

TEST(ReductionOrder, OfNestsThatMixThreadsAndLoopsIsRefused) {
  EXPECT_ERROR("loopy.reduction_order.levels",
               generate_text(last_of_rows("tag_inames(i:ilp, j:l.0)"), Target::cuda));
  EXPECT_ERROR("loopy.reduction_order.levels",
               generate_text(last_of_rows("split_iname(j, 5, inner_tag=l.0)\ntag_inames(i:l.1)"),
                             Target::cuda));
}

TEST(ReductionOrder, SettlesTheOrderOfLoops) {
  const std::string text =
      generate_text(last_of_rows("", ", in_order(j, i)"), Target::host, {.recipe_comment = false});
  EXPECT_LT(text.find("int j = 0"), text.find("int i = 0")) << text;
  EXPECT_ERROR("loopy.schedule.priority_conflict",
               generate_text(last_of_rows("prioritize_loops(j, i)"), Target::host));
}

TEST(ReductionOrder, SplitsOffNeighboursOnly) {
  const Kernel rows = last_of_rows("split_reduction_inward(j)");
  EXPECT_EQ(text_of(rows),
            "reduce(last, i, reduce(last, j, a[i, j], in_order(i, j)), in_order(i))");
  EXPECT_EQ(text_of(last_of_rows("split_reduction_outward(i)")), text_of(rows));
  EXPECT_ERROR("loopy.split_reduction_inward.order", last_of_rows("split_reduction_inward(i)"));
  EXPECT_ERROR("loopy.split_reduction_outward.order", last_of_rows("split_reduction_outward(j)"));
}

TEST(ReductionOrder, TakesBlocksOfNeighboursOnly) {
  const auto kernel_of = [](const std::string& recipe, const std::string& how) {
    return reduce_over_grid(
        maps_of(recipe), recipe.find("outer_tag=g.0") != std::string::npos ? "j_outer" : "j_inner",
        {.how = how == "atomic" ? GridReduction::atomic : GridReduction::two_stage});
  };
  const std::string blocks = "split_iname(j, 64, outer_tag=g.0, inner_tag=l.0)";
  EXPECT_NO_THROW(static_cast<void>(generate(kernel_of(blocks, ""), Target::cuda)));
  EXPECT_ERROR("loopy.reduce_over_grid.no_atomic", kernel_of(blocks, "atomic"));
  EXPECT_ERROR("loopy.reduce_over_grid.order", kernel_of("split_iname(j, 64, inner_tag=g.0)", ""));
  EXPECT_ERROR("loopy.realize_reductions.parallel_iname",
               generate_text(maps_of("split_iname(j, 64, inner_tag=g.0)"), Target::cuda));
}

}  // namespace
}  // namespace rtcg::loopy
