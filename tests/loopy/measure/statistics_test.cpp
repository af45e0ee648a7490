#include "rtcg/loopy/measure/statistics.h"

#include <gtest/gtest.h>

#include "rtcg/loopy/analyze/infer_types.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/preprocess/preprocess.h"
#include "rtcg/loopy/recipe/apply_recipe.h"
#include "rtcg/loopy/schedule/insert_barriers.h"
#include "rtcg/loopy/symbolic/print_expr.h"
#include "rtcg/loopy/transform/expand_subst.h"
#include "tests/loopy/check/build_kernel.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

const Expr i = name("i");
const Expr j = name("j");
const Expr k = name("k");

std::string form(const Count& count) {
  const auto polynomial = count.closed_form();
  return polynomial ? to_string(*polynomial) : "(none)";
}

/// c[i, j] = sum(k, a[i, k] * b[k, j])
Kernel matmul() {
  Kernel kernel;
  kernel.domains = {loop("i", "n"), loop("j", "l"), loop("k", "m")};
  kernel.arguments = {array("a", {name("n"), name("m")}), array("b", {name("m"), name("l")}),
                      array("c", {name("n"), name("l")})};
  kernel.instructions = {
      assign("s", access("c", {i, j}),
             Reduction{"sum", {"k"}, {access("a", {i, k}) * access("b", {k, j})}}, {"i", "j"})};
  return kernel;
}

TEST(CountOperations, CountsAMatrixProduct) {
  Statistics statistics = count_operations(matmul());
  EXPECT_EQ(form(statistics.loads["a"]), "l*m*n");
  EXPECT_EQ(form(statistics.loads["b"]), "l*m*n");
  EXPECT_EQ(form(statistics.stores["c"]), "l*n");
  EXPECT_EQ(form((statistics.operations[{"multiply", "f32"}])), "l*m*n");
  EXPECT_EQ(form((statistics.operations[{"add", "f32"}])), "l*m*n");
  EXPECT_EQ(statistics.loads["a"].evaluate({{"n", 512}, {"m", 256}, {"l", 128}}), 512 * 256 * 128);
  EXPECT_EQ(statistics.loads["a"].evaluate({{"n", 0}, {"m", 256}, {"l", 128}}), 0);
}

TEST(CountOperations, CountsMoreThan32BitsHoldOfConstantLengths) {
  const Kernel kernel =
      make_kernel("{[i, j, k]: 0 <= i, j, k < 4096}", "c[i, j] = sum(k, a[i, k]*b[k, j])",
                  {.default_type = cgen::f32});
  EXPECT_EQ(count_operations(infer_types(kernel)).loads["a"].evaluate({}),
            std::int64_t{4096} * 4096 * 4096);
  const Kernel sliced = apply_recipe(kernel, "split_iname(i, 16)\nsplit_iname(j, 64)");
  EXPECT_EQ(count_operations(infer_types(sliced)).stores["c"].evaluate({}), 4096 * 4096);
}

TEST(CountOperations, CountsAStatementOncePerLoopAroundIt) {
  // split by 16; the second statement is within the outer loop alone
  Kernel kernel;
  kernel.domains = {{{"io", "ii"}, {}}};
  ConstraintSet& points = kernel.domains.front().constraints;
  points.add_nonnegative(Affine("ii"));
  points.add_nonnegative(Affine(15) - Affine("ii"));
  points.add_nonnegative(Affine("io", 16) + Affine("ii"));
  points.add_nonnegative(Affine("n") - 1 - Affine("io", 16) - Affine("ii"));
  kernel.arguments = {array("out", {name("n")}), array("first", {name("n")})};
  kernel.instructions = {
      assign("s", access("out", {16 * name("io") + name("ii")}), 2, {"io", "ii"}),
      assign("t", access("first", {name("io")}), 2, {"io"})};
  Statistics statistics = count_operations(kernel);
  EXPECT_EQ(statistics.stores["out"].evaluate({{"n", 33}}), 33);
  EXPECT_EQ(statistics.stores["first"].evaluate({{"n", 33}}), 3);
}

/// out[i] = 2 for i in [0, n), j in [0, m), with i < j.
Kernel triangle() {
  Kernel kernel;
  kernel.domains = {loop("i", "n"), loop("j", "m")};
  kernel.domains[1].constraints.add_nonnegative(Affine("j") - Affine("i") - 1);
  kernel.arguments = {array("out", {name("n")})};
  kernel.instructions = {assign("s", access("out", {i}), 2, {"i", "j"})};
  return kernel;
}

TEST(CountOperations, CountsTriangles) {
  Kernel kernel = triangle();
  Statistics statistics = count_operations(kernel);
  EXPECT_EQ(statistics.stores["out"].evaluate({{"n", 200}, {"m", 13}}), 78);
  EXPECT_EQ(statistics.stores["out"].evaluate({{"n", 3}, {"m", 13}}), 12 + 11 + 10);
  EXPECT_EQ(form(statistics.stores["out"]), "(none)");
  kernel.assumptions.add_nonnegative(Affine("n") - Affine("m"));
  statistics = count_operations(kernel);
  EXPECT_EQ(form(statistics.stores["out"]), "1/2*m^2 - 1/2*m");
}

TEST(CountOperations, CountsSplitLoopsAsOne) {
  Kernel kernel;
  kernel.domains = {{.inames = {"i_outer", "i_inner"}}};
  ConstraintSet& set = kernel.domains[0].constraints;
  const Affine place = Affine("i_outer", 16) + Affine("i_inner");
  set.add_nonnegative(place);
  set.add_nonnegative(Affine("n") - place - 1);
  set.add_nonnegative(Affine("i_inner"));
  set.add_nonnegative(Affine(15) - Affine("i_inner"));
  kernel.arguments = {array("out", {name("n")})};
  kernel.instructions = {assign("s", access("out", {i}), 0, {"i_outer", "i_inner"})};
  Statistics statistics = count_operations(kernel);
  EXPECT_EQ(form(statistics.stores["out"]), "n");
  for (const std::int64_t n : {1, 15, 16, 17, 1000000}) {
    EXPECT_EQ(statistics.stores["out"].evaluate({{"n", n}}), n);
  }
  // the inner part split once more, and cut at 10: no split of 16
  kernel.domains[0].inames = {"i_outer", "m", "l"};
  set = set.substitute("i_inner", Affine("m", 4) + Affine("l"));
  set.add_nonnegative(Affine("l"));
  set.add_nonnegative(Affine(3) - Affine("l"));
  kernel.instructions = {assign("s", access("out", {i}), 0, {"i_outer", "m", "l"})};
  EXPECT_EQ(form(count_operations(kernel).stores["out"]), "n");
  set.add_nonnegative(Affine(9) - Affine("m", 4) - Affine("l"));
  statistics = count_operations(kernel);
  EXPECT_EQ(form(statistics.stores["out"]), "(none)");
}

TEST(CountOperations, CountsWhatFillsTemporariesForEachBlock) {
  Kernel kernel;
  kernel.domains = {loop("i", "n"), loop("j", "m")};
  kernel.temporaries = {{.name = "t", .type = cgen::f32, .shape = {1}}};
  kernel.arguments = {array("a", {name("n")}), array("out", {name("n"), name("m")})};
  kernel.instructions = {assign("fill", access("t", {0}), access("a", {i}), {"i"}),
                         assign("use", access("out", {i, j}), access("t", {0}), {"i", "j"})};
  EXPECT_EQ(form(count_operations(kernel).loads["a"]), "n");
  kernel.iname_tags["i"] = {AxisKind::grid, 0};
  kernel.iname_tags["j"] = {AxisKind::grid, 1};
  EXPECT_EQ(form(count_operations(kernel).loads["a"]), "m*n");
}

TEST(CountOperations, CountsUnderAffineConditionsOnly) {
  Kernel kernel = triangle();
  kernel.domains = {loop("i", "n")};
  kernel.arguments.push_back(array("a", {name("n")}));
  const Expr is_low = compare(ComparisonOp::less, i, 3);
  const Expr value = Conditional{is_low, access("a", {i}) / Expr(2.0), call("sin", {2.0})};
  kernel.instructions = {assign("s", access("out", {i}), value, {"i"})};
  Statistics statistics = count_operations(kernel);
  EXPECT_EQ(statistics.loads["a"].evaluate({{"n", 10}}), 3);
  EXPECT_EQ((statistics.operations[{"divide", "f32"}].evaluate({{"n", 2}})), 2);
  EXPECT_EQ((statistics.operations[{"sin", "f64"}].evaluate({{"n", 10}})), 7);
  // what a statement computes is not known: as if the condition held
  Statistics filtered = count_operations(
      make_kernel("{[i]: 0 <= i < n}", "<i32> bin = x[i]\ny[bin] += 1 {atomic, if=bin >= 0}",
                  {.arguments = "x: i32[n]; y: i32[8]"}));
  EXPECT_EQ(filtered.stores["y"].evaluate({{"n", 10}}), 10);
}

TEST(CountOperations, CountsWhatConditionsCompute) {
  Statistics statistics = count_operations(make_kernel(
      "{[i, k]: 0 <= i < n and 0 <= k < 5}",
      "y[i] = 1.0 if i < 3 or (x[i] < 2*x[i + 1] and sum(k, x[i + k]) == 4) else 0.0",
      {.arguments = "x: [n + 5]; y: [n]; n: i32", .default_type = cgen::f32}));
  const auto count = [&](const std::string& operation) {
    return statistics.operations[{operation, "f32"}].evaluate({{"n", 10}});
  };
  EXPECT_EQ(count("compare"), 20);  // of elements and sums; not of indices
  EXPECT_EQ(count("multiply"), 10);
  EXPECT_EQ(count("add"), 50);
}

/// A product in tiles of 16 x 16 through shared memory.
Kernel tiled_matmul() {
  return apply_recipe(
      make_kernel("{[i, j, k]: 0 <= i < n and 0 <= j < l and 0 <= k < m}",
                  "c[i, j] = sum(k, a[i, k]*b[k, j])",
                  {.arguments = "a: f32[n, m]; b: f32[m, l]; c: f32[n, l]; n, m, l: i32",
                   .assumptions = "n mod 16 = 0 and m mod 16 = 0 and l mod 16 = 0 and n >= 16 and "
                                  "m >= 16 and l >= 16"}),
      "split_iname(i, 16, outer_tag=g.1, inner_tag=l.1)\n"
      "split_iname(j, 16, outer_tag=g.0, inner_tag=l.0)\n"
      "split_iname(k, 16)\n"
      "add_prefetch(a, [i_inner, k_inner], default_tag=for)\n"
      "add_prefetch(b, [k_inner, j_inner], default_tag=for)\n"
      "tag_inames(a_fetch_0:l.1, a_fetch_1:l.0, b_fetch_0:l.1, b_fetch_1:l.0)");
}

TEST(CountOperations, CountsRepeatedValuesOnceIfAsked) {
  const auto additions = [](const char* statements, RepeatedValues repeated) {
    const Kernel kernel =
        infer_types(expand_subst(make_kernel("{[i]: 0 <= i < 8}", statements,
                                             {.arguments = "a: [9]; b, c: [8]",
                                              .default_type = cgen::f32})));
    return count_operations(kernel, repeated).operations[{"add", "f32"}].evaluate({}) / 8;
  };
  const char* const twice = "next(i) := a[i] + a[i + 1]\nb[i] = next(i)*next(i) + 1";
  EXPECT_EQ(additions(twice, RepeatedValues::each_time), 3);
  EXPECT_EQ(additions(twice, RepeatedValues::once), 2);
  // also of several statements in the same loops
  const char* const shared = "next(i) := a[i] + a[i + 1]\nb[i] = next(i)\nc[i] = next(i)";
  EXPECT_EQ(additions(shared, RepeatedValues::once), 1);
  // but not where what they read has changed
  const char* const changed =
      "b[i] = a[i] + 0.5 {id=b}\na[i] = 0 {id=a, dep=b}\nc[i] = a[i] + 0.5 {dep=a}";
  EXPECT_EQ(additions(changed, RepeatedValues::once), 2);
}

TEST(CountOperations, TellsHowFarNeighboursAreApart) {
  const Kernel kernel = infer_types(tiled_matmul());
  Statistics statistics = count_operations(kernel);
  const IntegerValues sizes = {{"n", 512}, {"m", 256}, {"l", 128}};
  EXPECT_EQ(statistics.loads["a"].evaluate(sizes), 512 * 256 * 128 / 16);
  EXPECT_EQ(statistics.loads["b"].evaluate(sizes), 512 * 256 * 128 / 16);
  EXPECT_EQ(statistics.loads["a_fetch"].evaluate(sizes), 512 * 256 * 128);
  EXPECT_EQ(statistics.stores["c"].evaluate(sizes), 512 * 128);
  const auto listed = [&](const std::string& array, bool is_write) {
    std::string text;
    for (const AccessCount& each : statistics.accesses) {
      if (each.array == array && each.is_write == is_write) {
        for (const auto& [axis, stride] : each.strides) {
          text += axis + ":" + (stride ? to_string(*stride) : "?") + " ";
        }
        text += std::to_string(each.count.evaluate(sizes)) + "\n";
      }
    }
    return text;
  };
  EXPECT_EQ(listed("a", false), "g.0:0 g.1:16*m l.0:1 l.1:m 1048576\n");
  EXPECT_EQ(listed("b", false), "g.0:16 g.1:0 l.0:1 l.1:l 1048576\n");
  EXPECT_EQ(listed("a_fetch", false), "g.0:0 g.1:0 l.0:0 l.1:16 16777216\n");
  EXPECT_EQ(listed("b_fetch", false), "g.0:0 g.1:0 l.0:1 l.1:0 16777216\n");
  EXPECT_EQ(listed("c", true), "g.0:16 g.1:16*l l.0:1 l.1:l 65536\n");
}

TEST(CountBarriers, CountsThoseOfABlock) {
  const Kernel ready = preprocess(tiled_matmul());
  const Count tiles = count_barriers(ready, insert_barriers(ready, build_loop_tree(ready)));
  EXPECT_EQ(tiles.evaluate({{"n", 512}, {"m", 256}, {"l", 128}}), 2 * 256 / 16);
  const Kernel loops =
      preprocess(apply_recipe(make_kernel("{[i, j, k]: 0 <= i < 10 and 0 <= j < n and 0 <= k <= j}",
                                          "<f32> s[10]\nfor j, k\ns[i] = a[i, j] {id=put}\n"
                                          "b[i, j] = s[9 - i] + k {id=get, dep=put}\nend",
                                          {.arguments = "a, b: f32[10, n]; n: i32"}),
                              "set_temporary_address_space([s], local)\ntag_inames(i:l.0)"));
  const Count within = count_barriers(loops, insert_barriers(loops, build_loop_tree(loops)));
  // two in each of k's turns, and one before them in each of j's
  EXPECT_EQ(within.evaluate({{"n", 50}}), 2 * 50 * 51 / 2 + 50);
}

TEST(CountLaunches, MultipliesThoseInLoopsOfTheHost) {
  const Kernel ready = preprocess(
      apply_recipe(make_kernel("{[t, s, i, j, k]: 0 <= t < m and 0 <= s <= t and 0 <= i, j, k < n}",
                               "u[k] = 1\nfor t\n  v[i] = u[n - 1 - i] {id=there}\n  for s\n"
                               "    ... gbarrier\n    u[j] = v[j] {id=back}\n  end\nend",
                               {.arguments = "u, v: f32[n]; n, m: i32"}),
                   "tag_inames(i:g.0, j:g.0, k:g.0)"));
  const LoopTree tree = insert_barriers(ready, build_loop_tree(ready));
  EXPECT_EQ(count_launches(ready, tree).evaluate({{"m", 5}}), 1 + 5 + 5 * 6 / 2);
  EXPECT_EQ(count_launches(ready, tree).evaluate({{"m", 0}}), 1);
  EXPECT_EQ(to_string(*count_launches(ready, tree).closed_form()), "1/2*m^2 + 3/2*m + 1");
  // what launches do over and over counts as often
  EXPECT_EQ(count_operations(ready).stores["u"].evaluate({{"n", 10}, {"m", 5}}), 10 + 10 * 15);
}

TEST(Count, RefusesMissingParameters) {
  Statistics statistics = count_operations(matmul());
  EXPECT_ERROR("loopy.statistics.missing_parameter",
               statistics.loads["a"].evaluate({{"n", 5}, {"m", 5}}));
}

TEST(Count, RefusesPointsThatItCannotCount) {
  Kernel kernel = triangle();
  kernel.domains[0].constraints.add(Congruence{Affine("i"), 2});
  Statistics statistics = count_operations(kernel);
  EXPECT_ERROR("loopy.statistics.not_countable",
               statistics.stores["out"].evaluate({{"n", 5}, {"m", 5}}));
}

}  // namespace
}  // namespace rtcg::loopy
