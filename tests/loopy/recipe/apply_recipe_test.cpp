// What recipes read, write and refuse, and refusals of transformations through recipes.
#include "rtcg/loopy/recipe/apply_recipe.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/kernel/print_kernel.h"
#include "tests/loopy/support/replay.h"
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

void expect_same_text(const RecipeStep& step, const std::string& text) {
  EXPECT_EQ(to_string(step), text);
  EXPECT_EQ(parse_recipe(text), std::vector<RecipeStep>{step});
}

TEST(Recipes, AreReadAsTheyAreWritten) {
  const Kernel kernel = after(R"(
      split_iname(i, 16, outer_tag=g.0, inner_tag=l.0)  # rows
      duplicate_inames([m], within="id:four*"); prioritize_loops(j, i_outer)
  )");
  expect_recipe(base(), kernel,
                "split_iname(i, 16, inner_tag=l.0, outer_tag=g.0)\n"
                "duplicate_inames([m], within=id:four*)\nprioritize_loops(j, i_outer)\n");
}

TEST(Recipes, PutQuotesAroundWhatWouldBeReadOtherwise) {
  expect_same_text({"fold_constants", {}, {}}, "fold_constants()");
  expect_same_text({"f", {"[a, b]", "g(x, y)", "x == y"}, {}}, "f([a, b], g(x, y), x == y)");
  expect_same_text({"f", {"", " a", "a, b", "n = 1", "(a", "a)"}, {}},
                   R"_(f("", " a", "a, b", "n = 1", "(a", "a)"))_");
  expect_same_text({"f", {R"_(say "a\b")_"}, {{"x", "a,b"}, {"y", R"(a\b)"}}},
                   R"_(f("say \"a\\b\"", x="a,b", y=a\b))_");
}

TEST(Recipes, SkipBlanksAndComments) {
  EXPECT_EQ(parse_recipe(" # nothing\n\n ; fold_constants( ) ;; # end").size(), 1U);
  EXPECT_TRUE(parse_recipe("").empty());
}

TEST(Recipes, TakeListsWithColons) {
  EXPECT_EQ(to_string(after("duplicate_inames(i:k, within=third)")),
            to_string(after("duplicate_inames([i, k], within=third)")));
}

TEST(Recipes, KnowAllTransformations) {
  const std::vector<std::string> names = transformation_names();
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  for (const std::string name : {"add_prefetch", "assume", "split_iname", "tag_instructions"}) {
    EXPECT_TRUE(std::binary_search(names.begin(), names.end(), name)) << name;
  }
}

TEST(Recipes, RefuseWhatTheyCannotRead) {
  for (const std::string text : {"split_iname(i, 16", "split_iname", "split iname(i)", "f(a, )",
                                 "f(\"a)", "f(\"a\" b)", "f(x=, 2) g", "(a)"}) {
    SCOPED_TRACE(text);
    EXPECT_ERROR("loopy.parse_recipe.syntax", parse_recipe(text));
  }
  EXPECT_ERROR("loopy.match_instructions.syntax", after("tag_instructions(x, match=\"id:a and\")"));
}

TEST(Recipes, RefuseUnknownTransformations) {
  EXPECT_ERROR("loopy.apply_recipe.unknown_transformation", after("split_inames(i, 16)"));
  EXPECT_ERROR("loopy.apply_recipe.unknown_transformation", after("zzz()"));
}

TEST(Recipes, RefuseArgumentsThatDoNotFit) {
  for (const std::string text :
       {"split_iname(i)", "split_iname(i, 16, 17)", "split_iname(i, 16, outer=x)",
        "split_iname(i, many)", "fold_constants(x=1)", "tag_inames(i)", "fix_parameters(n:few)",
        "add_padding(a, -1, 1)", "precompute(square, [j], address_space=heap)"}) {
    SCOPED_TRACE(text);
    EXPECT_ERROR("loopy.apply_recipe.bad_arguments", after(text));
  }
  try {
    static_cast<void>(after("privatize_temporaries([i], [j])"));
    FAIL();
  } catch (const InvalidInput& error) {
    EXPECT_TRUE(error.message().ends_with("it takes only 1 argument")) << error.message();
  }
}

TEST(Refusals, OfJoinInames) {
  EXPECT_ERROR("loopy.join_inames.unknown_iname", after("join_inames([i, q])"));
  EXPECT_ERROR("loopy.join_inames.too_few", after("join_inames([i])"));
  EXPECT_ERROR("loopy.join_inames.tagged_already", after("tag_inames(i:g.0); join_inames([m, i])"));
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

TEST(Refusals, OfPriorities) {
  EXPECT_ERROR("loopy.prioritize_loops.unknown_iname", after("prioritize_loops(q, i)"));
  EXPECT_ERROR("loopy.prioritize_loops.circle",
               after("prioritize_loops(i, j); prioritize_loops(j, i)"));
}

TEST(Refusals, OfSplitReductions) {
  EXPECT_ERROR("loopy.split_reduction_inward.unknown_iname", after("split_reduction_inward(q)"));
  EXPECT_ERROR("loopy.split_reduction_inward.no_reduction", after("split_reduction_inward(k)"));
  EXPECT_ERROR("loopy.split_reduction_outward.unknown_iname", after("split_reduction_outward(q)"));
  EXPECT_ERROR("loopy.split_reduction_outward.no_reduction", after("split_reduction_outward(m)"));
}

TEST(Refusals, OfPrecompute) {
  EXPECT_ERROR("loopy.precompute.not_possible", after("precompute(cube, [j])"));
  EXPECT_ERROR("loopy.precompute.nothing_replaced", after("precompute(square, [m])"));
  EXPECT_ERROR("loopy.footprint.not_affine",
               apply_recipe(make_kernel("{[i, k]: 0 <= i, k < 16}", "c[i] = sum(k, a[k*k + i])",
                                        {.arguments = "a: f32[241]; c: f32[16]"}),
                            "add_prefetch(a, [k])"));
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
