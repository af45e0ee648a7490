#include "rtcg/loopy/analyze/statistics.h"

#include <gtest/gtest.h>

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
