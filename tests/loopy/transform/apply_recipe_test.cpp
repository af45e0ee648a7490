// Every refusal of every transformation, through recipes, and what recipes themselves refuse.
#include <gtest/gtest.h>

#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/kernel/print_kernel.h"
#include "rtcg/loopy/symbolic/parse_expr.h"
#include "rtcg/loopy/transform/expand_subst.h"
#include "rtcg/loopy/transform/recipe.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

Kernel base() {
  return make_kernel("{[i, j, k]: 0 <= i, j < n and 0 <= k < 16} {[m]: 0 <= m < 16}", R"(
      square(x) := x*x
      <> t = 2*a[i, j] {id=first}
      b[i, j] = t + square(a[i, j]) {id=second}
      c[i] = sum(k, d[i, k]) {id=third}
      e[m] = 1.0 {id=fourth}
  )",
                     {.default_type = cgen::f64, .assumptions = "n >= 1"});
}

Kernel after(std::string_view recipe) {
  return apply_recipe(base(), recipe);
}

TEST(Recipes, AreReadAsTheyAreWritten) {
  const Kernel kernel = after(R"(
      split_iname(i, 16, outer_tag=g.0, inner_tag=l.0)  # rows
      duplicate_inames([m], within="id:four*"); prioritize_loops(j, i_outer)
  )");
  std::string text;
  for (const RecipeStep& step : kernel.recipe) {
    text += to_string(step) + "\n";
  }
  EXPECT_EQ(parse_recipe(text), kernel.recipe);
  EXPECT_EQ(to_string(after(text)), to_string(kernel));
}

TEST(Recipes, RefuseWhatTheyCannotRead) {
  EXPECT_ERROR("loopy.parse_recipe.syntax", after("split_iname(i, 16"));
  EXPECT_ERROR("loopy.apply_recipe.unknown_transformation", after("split_inames(i, 16)"));
  EXPECT_ERROR("loopy.apply_recipe.bad_arguments", after("split_iname(i)"));
  EXPECT_ERROR("loopy.apply_recipe.bad_arguments", after("split_iname(i, 16, outer=x)"));
  EXPECT_ERROR("loopy.apply_recipe.bad_arguments", after("split_iname(i, many)"));
  EXPECT_ERROR("loopy.match_instructions.syntax", after("tag_instructions(x, match=\"id:a and\")"));
}

TEST(Refusals, OfChunkIname) {
  EXPECT_ERROR("loopy.chunk_iname.unknown_iname", after("chunk_iname(q, 2)"));
  EXPECT_ERROR("loopy.chunk_iname.bad_count", after("chunk_iname(m, 0)"));
  EXPECT_ERROR("loopy.chunk_iname.no_constant_length", after("chunk_iname(i, 2)"));
  EXPECT_ERROR("loopy.chunk_iname.tagged_already", after("tag_inames(m:l.0); chunk_iname(m, 2)"));
  EXPECT_ERROR("loopy.chunk_iname.name_taken", after("chunk_iname(m, 2, outer_name=i)"));
  EXPECT_ERROR("loopy.chunk_iname.axis_used_twice",
               after("chunk_iname(m, 2, outer_tag=l.0, inner_tag=l.0)"));
}

TEST(Refusals, OfDuplicateInames) {
  EXPECT_ERROR("loopy.duplicate_inames.unknown_iname", after("duplicate_inames([q])"));
  EXPECT_ERROR("loopy.duplicate_inames.unused",
               after("duplicate_inames([m], within=\"id:first\")"));
  EXPECT_ERROR("loopy.duplicate_inames.name_taken", after("duplicate_inames([m], new_names=[i])"));
  EXPECT_ERROR("loopy.duplicate_inames.bounds_depend",
               apply_recipe(make_kernel("{[i]: 0 <= i < n} {[j]: 0 <= j < i}", "a[i, j] = 1.0",
                                        {.arguments = "a: f32[n, n]"}),
                            "duplicate_inames([i])"));
}

TEST(Refusals, OfJoinInames) {
  EXPECT_ERROR("loopy.join_inames.unknown_iname", after("join_inames([i, q])"));
  EXPECT_ERROR("loopy.join_inames.too_few", after("join_inames([i])"));
  EXPECT_ERROR("loopy.join_inames.tagged_already", after("tag_inames(i:g.0); join_inames([m, i])"));
  EXPECT_ERROR("loopy.join_inames.not_a_box", after("join_inames([i, j])"));
  const auto boxes = [](std::string_view recipe) {
    return apply_recipe(
        make_kernel("{[i, j, k]: 0 <= i, j, k < 8}", "a[i, j] = 1.0 {id=a}\nb[i, k] = 2.0 {id=b}",
                    {.default_type = cgen::f32}),
        recipe);
  };
  EXPECT_ERROR("loopy.join_inames.not_together", boxes("join_inames([i, j])"));
  EXPECT_ERROR("loopy.join_inames.name_taken",
               boxes("remove_instructions(\"id:b\"); join_inames([i, j], name=k)"));
  EXPECT_ERROR("loopy.join_inames.axis_used_twice",
               apply_recipe(make_kernel("{[i, j, k]: 0 <= i, j, k < 8}", "a[i, j, k] = 1.0",
                                        {.default_type = cgen::f32}),
                            "tag_inames(k:l.0); join_inames([i, j], tag=l.0)"));
}

TEST(Refusals, OfRenameIname) {
  EXPECT_ERROR("loopy.rename_iname.unknown_iname", after("rename_iname(q, p)"));
  EXPECT_ERROR("loopy.rename_iname.name_taken", after("rename_iname(i, a)"));
  EXPECT_ERROR("loopy.rename_iname.used_together", after("rename_iname(i, j)"));
  EXPECT_ERROR("loopy.rename_iname.different_bounds", after("rename_iname(m, j)"));
}

TEST(Refusals, OfInamesOfStatements) {
  EXPECT_ERROR("loopy.add_inames_to_instructions.unknown_iname",
               after("add_inames_to_instructions([q], \"id:third\")"));
  EXPECT_ERROR("loopy.add_inames_to_instructions.reduced",
               after("add_inames_to_instructions([k], \"id:third\")"));
  EXPECT_ERROR("loopy.remove_inames_from_instructions.unknown_iname",
               after("remove_inames_from_instructions([q], \"id:third\")"));
  EXPECT_ERROR("loopy.remove_inames_from_instructions.used",
               after("remove_inames_from_instructions([i], \"id:third\")"));
}

TEST(Refusals, OfPriorities) {
  EXPECT_ERROR("loopy.prioritize_loops.unknown_iname", after("prioritize_loops(q, i)"));
  EXPECT_ERROR("loopy.prioritize_loops.circle",
               after("prioritize_loops(i, j); prioritize_loops(j, i)"));
}

TEST(Refusals, OfParameters) {
  EXPECT_ERROR("loopy.fix_parameters.unknown_parameter", after("fix_parameters(q:1)"));
  EXPECT_ERROR("loopy.fix_parameters.contradiction", after("fix_parameters(n:0)"));
  EXPECT_ERROR("loopy.assume.about_inames", after("assume(\"i >= 2\")"));
  EXPECT_ERROR("loopy.assume.contradiction", after("assume(\"n <= 0\")"));
}

TEST(Refusals, OfSplitReductions) {
  EXPECT_ERROR("loopy.split_reduction_inward.unknown_iname", after("split_reduction_inward(q)"));
  EXPECT_ERROR("loopy.split_reduction_inward.no_reduction", after("split_reduction_inward(k)"));
  EXPECT_ERROR("loopy.split_reduction_outward.unknown_iname", after("split_reduction_outward(q)"));
  EXPECT_ERROR("loopy.split_reduction_outward.no_reduction", after("split_reduction_outward(m)"));
}

TEST(Refusals, OfRules) {
  EXPECT_ERROR("loopy.expand_subst.unknown_rule", after("expand_subst(cube)"));
  EXPECT_ERROR("loopy.extract_subst.name_taken", after("extract_subst(a, \"2*z\", [z])"));
  EXPECT_ERROR("loopy.extract_subst.unused_parameter", after("extract_subst(f, \"2*z\", [y])"));
  EXPECT_ERROR("loopy.extract_subst.not_found", after("extract_subst(f, \"3 - z\", [z])"));
  Kernel circle = base();
  circle.rules.front().body = parse_expr("square(x)");
  EXPECT_ERROR("loopy.expand_subst.recursive", expand_subst(circle));
}

TEST(Refusals, OfAssignmentToSubst) {
  const auto kernel = [](std::string_view statements) {
    return make_kernel("{[i, j, k]: 0 <= i, j, k < 16}", statements, {.default_type = cgen::f32});
  };
  const auto refused = [&](std::string_view statements, std::string_view recipe) {
    return apply_recipe(kernel(statements), recipe);
  };
  EXPECT_ERROR("loopy.assignment_to_subst.unknown_temporary", after("assignment_to_subst(q)"));
  EXPECT_ERROR("loopy.assignment_to_subst.name_taken", after("assignment_to_subst(t, rule=a)"));
  EXPECT_ERROR("loopy.assignment_to_subst.not_one_assignment",
               refused("<> t = a[i]\nt = b[i]\nc[i] = t", "assignment_to_subst(t)"));
  EXPECT_ERROR("loopy.assignment_to_subst.bad_target",
               refused("<> t[2*i] = a[i]\nc[i] = t[2*i]", "assignment_to_subst(t)"));
  EXPECT_ERROR("loopy.assignment_to_subst.input_changes",
               refused("<> t = a[i]\na[i] = 2.0\nc[i] = t", "assignment_to_subst(t)"));
  EXPECT_ERROR(
      "loopy.assignment_to_subst.reduced_twice",
      refused("<> t = sum(k, a[i, k])\nc[i] = t*sum(k, b[i, k])", "assignment_to_subst(t)"));
  EXPECT_ERROR(
      "loopy.assignment_to_subst.inactive_iname",
      refused("<> t[i] = a[i, j] {inames=i:j}\nc[k] = t[k] {inames=k}", "assignment_to_subst(t)"));
}

TEST(Refusals, OfPrecompute) {
  EXPECT_ERROR("loopy.precompute.not_possible", after("precompute(cube, [j])"));
  EXPECT_ERROR("loopy.precompute.nothing_replaced", after("precompute(square, [m])"));
  EXPECT_ERROR("loopy.footprint.not_affine",
               apply_recipe(make_kernel("{[i, k]: 0 <= i, k < 16}", "c[i] = sum(k, a[k*k + i])",
                                        {.arguments = "a: f32[241]; c: f32[16]"}),
                            "add_prefetch(a, [k])"));
}

TEST(Refusals, OfStatementEdits) {
  EXPECT_ERROR("loopy.add_dependency.nothing_fits",
               after("add_dependency(\"id:first\", \"id:nothing\")"));
  EXPECT_ERROR("loopy.add_dependency.circle", after("add_dependency(\"id:third\", \"id:fourth\"); "
                                                    "add_dependency(\"id:fourth\", \"id:third\")"));
  EXPECT_ERROR("loopy.add_barrier.nothing_fits", after("add_barrier(\"id:x\", \"id:fourth\")"));
  EXPECT_ERROR("loopy.add_barrier.circle", after("add_barrier(\"id:third\", \"id:third\")"));
  EXPECT_ERROR("loopy.add_barrier.unknown_scope",
               after("add_barrier(\"id:third\", \"id:fourth\", scope=warp)"));
  EXPECT_ERROR("loopy.add_barrier.name_taken",
               after("add_barrier(\"id:third\", \"id:fourth\", id=first)"));
  EXPECT_ERROR("loopy.replace_instruction_ids.unknown_id",
               after("replace_instruction_ids(last:final)"));
  EXPECT_ERROR("loopy.replace_instruction_ids.name_taken",
               after("replace_instruction_ids(first:second)"));
}

TEST(Refusals, OfArguments) {
  EXPECT_ERROR("loopy.add_dtypes.unknown_variable", after("add_dtypes(q:f32)"));
  EXPECT_ERROR("loopy.add_dtypes.unknown_type", after("add_dtypes(a:f31)"));
  EXPECT_ERROR("loopy.rename_argument.unknown_argument", after("rename_argument(q, p)"));
  EXPECT_ERROR("loopy.rename_argument.name_taken", after("rename_argument(a, b)"));
  EXPECT_ERROR("loopy.set_argument_order.unknown_argument", after("set_argument_order([q])"));
  Kernel raw = base();
  raw.instructions.push_back({.id = "raw", .kind = RawCode{"touch(a);", {"a"}, {}}});
  EXPECT_ERROR("loopy.rename_argument.raw_code", apply_recipe(raw, "rename_argument(a, z)"));
}

TEST(Refusals, OfArrayAxes) {
  EXPECT_ERROR("loopy.tag_array_axes.unknown_array", after("tag_array_axes([q], C)"));
  EXPECT_ERROR("loopy.tag_array_axes.bad_layout", after("tag_array_axes([a], Z)"));
  EXPECT_ERROR("loopy.add_padding.unknown_array", after("add_padding(q, 0, 1)"));
  EXPECT_ERROR("loopy.add_padding.bad_axis", after("add_padding(a, 2, 1)"));
  EXPECT_ERROR("loopy.add_padding.bad_count", after("add_padding(a, 0, -1)"));
  EXPECT_ERROR("loopy.add_padding.unknown_order",
               after("tag_array_axes([d], \"stride:p,stride:q\"); add_padding(d, 0, 1)"));
  EXPECT_ERROR("loopy.split_array_axis.unknown_array", after("split_array_axis(q, 0, 4)"));
  EXPECT_ERROR("loopy.split_array_axis.bad_axis", after("split_array_axis(a, 2, 4)"));
  EXPECT_ERROR("loopy.split_array_axis.bad_length", after("split_array_axis(a, 0, 0)"));
  EXPECT_ERROR(
      "loopy.split_array_axis.linear_access",
      apply_recipe(make_kernel("{[i]: 0 <= i < 16}", "a[[i]] = 1.0", {.arguments = "a: f32[4, 4]"}),
                   "split_array_axis(a, 0, 2)"));
}

TEST(Refusals, OfTemporaries) {
  EXPECT_ERROR("loopy.set_temporary_address_space.unknown_temporary",
               after("set_temporary_address_space([q], local)"));
  EXPECT_ERROR("loopy.set_temporary_address_space.unknown_space",
               after("set_temporary_address_space([t], heap)"));
  EXPECT_ERROR("loopy.privatize_temporaries.unknown_iname", after("privatize_temporaries([q])"));
  EXPECT_ERROR("loopy.privatize_temporaries.no_constant_length",
               after("privatize_temporaries([i])"));
  EXPECT_ERROR("loopy.privatize_temporaries.unknown_temporary",
               after("privatize_temporaries([m], temporaries=[q])"));
  EXPECT_ERROR("loopy.privatize_temporaries.used_outside",
               apply_recipe(make_kernel("{[i, j]: 0 <= i, j < 8}",
                                        "<> t[i] = a[i] {inames=i:j}\nc[i] = t[i] {inames=i}",
                                        {.default_type = cgen::f32}),
                            "privatize_temporaries([j], temporaries=[t])"));
}

}  // namespace
}  // namespace rtcg::loopy
