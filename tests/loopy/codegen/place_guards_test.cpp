#include "rtcg/loopy/codegen/place_guards.h"

#include <gtest/gtest.h>

#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/preprocess/preprocess.h"
#include "rtcg/loopy/recipe/apply_recipe.h"

namespace rtcg::loopy {
namespace {

/// An indented listing: the tests of conditions, the bounds of loops, the values that inames have.
std::string listing(const GuardedTree& tree, const std::string& indent = "\n") {
  std::string text;
  for (const GuardedNode& node : tree) {
    text += match(
        node,
        [&](const GuardedIf& each) {
          std::string tests;
          for (const Constraint& test : each.tests) {
            tests += " " + to_string(test);
          }
          const std::string other = each.else_body.empty()
                                        ? std::string()
                                        : indent + "else" + listing(each.else_body, indent + "  ");
          return indent + "if" + tests + listing(each.then_body, indent + "  ") + other;
        },
        [&](const GuardedLoop& each) {
          return indent + "for " + each.iname + listing(each.body, indent + "  ");
        },
        [&](const ThreadLoops& each) {
          return indent + "for threads" + listing(each.body, indent + "  ");
        },
        [&](const GuardedCall& each) {
          return indent + "call" + listing(each.body, indent + "  ");
        },
        [&](const GuardedStatement& each) {
          std::string values;
          for (const auto& [iname, value] : each.context->values) {
            values += " " + iname + "=" + std::to_string(value.constant());
          }
          return indent + "statement" + values;
        },
        [&](const GuardedBarrier&) { return indent + "barrier"; });
  }
  return text;
}

std::string guarded(const char* recipe, Target target) {
  const TargetRules rules = target_rules(target);
  const Kernel kernel = preprocess(apply_recipe(
      make_kernel("{[i]: 0 <= i < n}", "out[i] = 2*a[i]", {.default_type = cgen::f32}), recipe));
  const LoopTree tree = build_loop_tree(kernel);
  const LaunchAxes axes = launch_axes(kernel, statements_in(tree));
  const GenerateOptions options;
  return listing(place_guards(LaunchFacts(kernel, tree, axes, rules, options), tree));
}

TEST(PlaceGuards, TestsWhatAxesDoNotEnsure) {
  EXPECT_EQ(guarded("split_iname(i, 16, outer_tag=g.0, inner_tag=l.0)", Target::cuda), R"(
if 16*i_outer + i_inner < n
  statement)");
}

TEST(PlaceGuards, PutsThreadsOfTheHostIntoLoops) {
  EXPECT_EQ(guarded("split_iname(i, 16, outer_tag=g.0, inner_tag=l.0)", Target::host), R"(
for threads
  if 16*i_outer + i_inner < n
    statement)");
}

TEST(PlaceGuards, WritesUnrolledLoopsOut) {
  EXPECT_EQ(guarded("split_iname(i, 2, inner_tag=unr)", Target::cuda), R"(
for i_outer
  statement i_inner=0
  if 2*i_outer < n - 1
    statement i_inner=1)");
}

TEST(PlaceGuards, HasTwoVersionsOfLongTiles) {
  EXPECT_EQ(guarded("split_iname(i, 128, outer_tag=g.0)\n"
                    "split_iname(i_inner, 16, outer_tag=ilp, inner_tag=l.0)",
                    Target::cuda),
            R"(
if 128*i_outer + i_inner_inner < n - 112
  statement
else
  statement)");
}

TEST(PlaceGuards, LeavesOutBlocksWithoutPoints) {
  const Kernel triangle =
      make_kernel("{[i, j, k]: 0 <= j <= i < 64 and 0 <= k < 8}",
                  "c[i, j] = sum(k, a[i, k]*b[j, k])", {.default_type = cgen::f32});
  const Kernel tiled = apply_recipe(triangle,
                                    "split_iname(i, 16, outer_tag=g.1, inner_tag=l.1)\n"
                                    "split_iname(j, 16, outer_tag=g.0, inner_tag=l.0)\n"
                                    "add_prefetch(a, [i_inner, k])\n"
                                    "add_prefetch(b, [j_inner, k])");
  const std::string text = generate_text(tiled, Target::cuda, {.recipe_comment = false});
  EXPECT_EQ(text.substr(text.find("  if (")), R"(  if (j_outer <= i_outer) {
    if (j_inner < 8) {
      a_fetch[i_inner][j_inner] = a[128 * i_outer + 8 * i_inner + j_inner];
      b_fetch[i_inner][j_inner] = b[128 * j_outer + 8 * i_inner + j_inner];
    }
    float acc_k = 0.0f;
    __syncthreads();
    if (16 * j_outer + j_inner <= 16 * i_outer + i_inner) {
      for (int k = 0; k < 8; ++k) {
        acc_k += a_fetch[i_inner][k] * b_fetch[j_inner][k];
      }
      c[1024 * i_outer + 64 * i_inner + 16 * j_outer + j_inner] = acc_k;
    }
  }
}
)");
}

}  // namespace
}  // namespace rtcg::loopy
