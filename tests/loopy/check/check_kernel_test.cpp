#include "rtcg/loopy/check/check_kernel.h"

#include <gtest/gtest.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/symbolic/print_expr.h"
#include "tests/loopy/check/build_kernel.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

const Expr i = name("i");
const Expr j = name("j");
const Expr n = name("n");

/// out[i] = a[i], for 0 <= i < n, and another domain 0 <= j < i.
Kernel copy_kernel() {
  Kernel kernel;
  kernel.domains = {loop("i", "n"), loop("j", "i")};
  kernel.arguments = {array("a", {n}), array("out", {n}), scalar("n")};
  kernel.instructions = {assign("s", access("out", {i}), access("a", {i}), {"i"})};
  return kernel;
}

/// copy_kernel with other statements.
Kernel kernel_with(std::vector<Instruction> instructions) {
  Kernel kernel = copy_kernel();
  kernel.temporaries = {temporary("t")};
  kernel.instructions = std::move(instructions);
  return kernel;
}

bool passes(const Kernel& kernel) {
  check_kernel(kernel);
  return true;
}

Instruction writes(const std::string& id, const Expr& target, NameSet depends_on = {}) {
  Instruction instruction = assign(id, target, 0, {"i"});
  instruction.depends_on = std::move(depends_on);
  return instruction;
}

TEST(CheckKernel, AcceptsAGoodKernel) {
  Kernel kernel = copy_kernel();
  EXPECT_TRUE(passes(kernel));
  kernel.instructions.push_back(
      assign("r", access("out", {i}), Reduction{"sum", {"j"}, {access("a", {j})}}, {"i"}));
  kernel.instructions.back().depends_on = {"s"};
  kernel.iname_tags["i"] = {AxisKind::grid, 0};
  EXPECT_TRUE(passes(kernel));
}

TEST(CheckKernel, RefusesDuplicateIds) {
  EXPECT_ERROR("loopy.check_kernel.duplicate_id",
               passes(kernel_with({writes("s", name("t")), writes("s", access("out", {i}))})));
}

TEST(CheckKernel, RefusesUnknownDependencies) {
  EXPECT_ERROR("loopy.check_kernel.unknown_dependency",
               passes(kernel_with({writes("s", name("t"), {"r"})})));
}

TEST(CheckKernel, RefusesCyclesAndListsThem) {
  const Kernel kernel = kernel_with({writes("a", name("t")), writes("b", name("t"), {"d", "a"}),
                                     writes("c", name("t"), {"b"}), writes("d", name("t"), {"c"})});
  EXPECT_ERROR("loopy.check_kernel.dependency_cycle", passes(kernel));
  try {
    check_kernel(kernel);
  } catch (const InvalidInput& error) {
    EXPECT_NE(error.message().find("b -> d -> c -> b"), std::string::npos) << error.message();
  }
}

TEST(CheckKernel, RefusesTargetsThatAreNoVariables) {
  Kernel kernel = copy_kernel();
  kernel.rules = {{"rule", {}, 0}};
  kernel.temporaries = {temporary("table", {2})};
  kernel.temporaries[0].initial_values = {1, 2};
  kernel.arguments.push_back(array("fixed", {n}));
  kernel.arguments.back().address_space = AddressSpace::constant;
  kernel.domains.push_back(loop("k", "m"));
  for (const Expr& target :
       {i, n, name("m"), name("rule"), access("table", {0}), access("fixed", {i})}) {
    kernel.instructions = {writes("s", target)};
    EXPECT_ERROR("loopy.check_kernel.bad_target", passes(kernel));
  }
}

TEST(CheckKernel, RefusesTemporariesThatNobodyWrites) {
  Kernel kernel = kernel_with({assign("s", access("out", {i}), name("t"), {"i"})});
  EXPECT_ERROR("loopy.check_kernel.undefined_temporary", passes(kernel));
  kernel.temporaries[0].initial_values = {1};
  EXPECT_TRUE(passes(kernel));
  kernel.temporaries[0].initial_values = {};
  kernel.instructions.push_back({.id = "raw", .kind = RawCode{"t = 1;", {}, {"t"}}});
  EXPECT_TRUE(passes(kernel));
}

TEST(CheckKernel, RefusesUnknownNames) {
  EXPECT_ERROR("loopy.check_kernel.unknown_name",
               passes(kernel_with({assign("s", access("out", {i}), name("x"), {"i"})})));
  EXPECT_ERROR("loopy.check_kernel.unknown_name",
               passes(kernel_with({writes("s", access("outt", {i}))})));
}

TEST(CheckKernel, RefusesAWrongNumberOfIndices) {
  EXPECT_ERROR("loopy.check_kernel.index_count",
               passes(kernel_with({writes("s", access("out", {i, i}))})));
  EXPECT_ERROR("loopy.check_kernel.index_count", passes(kernel_with({writes("s", name("out"))})));
  EXPECT_ERROR("loopy.check_kernel.index_count",
               passes(kernel_with({writes("s", access("t", {i}))})));
  EXPECT_TRUE(passes(kernel_with({writes("s", LinearAccess{"out", i})})));
}

TEST(CheckKernel, RefusesIndicesThatAreNoIntegers) {
  EXPECT_ERROR("loopy.check_kernel.index_type",
               passes(kernel_with({writes("s", access("out", {access("a", {i})}))})));
  EXPECT_ERROR("loopy.check_kernel.index_type",
               passes(kernel_with({writes("s", access("out", {i / Expr(2)}))})));
}

TEST(CheckKernel, RefusesNamesThatNoTextCanHave) {
  Kernel kernel = copy_kernel();
  kernel.name = "copy it";
  EXPECT_ERROR("loopy.check_kernel.bad_name", passes(kernel));
  kernel = copy_kernel();
  kernel.arguments.push_back(scalar("m$p"));
  EXPECT_ERROR("loopy.check_kernel.bad_name", passes(kernel));
  kernel = copy_kernel();
  kernel.temporaries = {temporary("")};
  EXPECT_ERROR("loopy.check_kernel.bad_name", passes(kernel));
  for (const Domain& domain : {loop("2k", 4), loop("k", "m.n")}) {
    kernel = copy_kernel();
    kernel.domains.push_back(domain);
    EXPECT_ERROR("loopy.check_kernel.bad_name", passes(kernel));
  }
}

TEST(CheckKernel, RefusesLengthsThatAreNoIntegers) {
  for (const Expr& length : {n / Expr(2), Expr(Real{8.0, std::nullopt}), name("a"), name("q")}) {
    SCOPED_TRACE(to_string(length));
    Kernel kernel = copy_kernel();
    kernel.arguments.push_back(array("b", {length}));
    EXPECT_ERROR("loopy.check_kernel.bad_length", passes(kernel));
    kernel = copy_kernel();
    kernel.temporaries = {temporary("b", {n})};
    kernel.temporaries[0].strides_elements = {length};
    EXPECT_ERROR("loopy.check_kernel.bad_length", passes(kernel));
    kernel = copy_kernel();
    kernel.arguments[0].offset_elements = length;
    EXPECT_ERROR("loopy.check_kernel.bad_length", passes(kernel));
  }
  Kernel kernel = copy_kernel();
  kernel.arguments[2].type = cgen::f32;
  EXPECT_ERROR("loopy.check_kernel.bad_length", passes(kernel));
}

TEST(CheckKernel, RefusesUnknownInames) {
  Kernel kernel = copy_kernel();
  kernel.iname_tags["q"] = {AxisKind::grid, 0};
  EXPECT_ERROR("loopy.check_kernel.unknown_iname", passes(kernel));
  kernel = copy_kernel();
  kernel.loop_priorities = {{"i", "q"}};
  EXPECT_ERROR("loopy.check_kernel.unknown_iname", passes(kernel));
  kernel = copy_kernel();
  kernel.instructions[0].within_inames.insert("q");
  EXPECT_ERROR("loopy.check_kernel.unknown_iname", passes(kernel));
}

TEST(CheckKernel, RefusesInamesOutsideTheirLoop) {
  Kernel kernel = copy_kernel();
  kernel.instructions[0].within_inames = {};
  EXPECT_ERROR("loopy.check_kernel.inactive_iname", passes(kernel));
}

TEST(CheckKernel, RefusesInamesWithoutThoseTheirBoundsDependOn) {
  EXPECT_ERROR("loopy.check_kernel.missing_outer_iname",
               passes(kernel_with({assign("s", access("out", {j}), 0, {"j"})})));
}

TEST(CheckKernel, RefusesReductionsOverALoopAround) {
  EXPECT_ERROR(
      "loopy.check_kernel.reduced_twice",
      passes(kernel_with({assign("s", access("out", {i}),
                                 Reduction{"sum", {"j"}, {access("a", {j})}}, {"i", "j"})})));
}

TEST(CheckKernel, RefusesTwoInamesOnOneAxis) {
  Kernel kernel = copy_kernel();
  kernel.domains = {loop("i", "n"), loop("j", 4)};
  kernel.iname_tags = {{"i", {AxisKind::grid, 1}}, {"j", {AxisKind::grid, 1}}};
  EXPECT_TRUE(passes(kernel));
  kernel.instructions[0].within_inames = {"i", "j"};
  EXPECT_ERROR("loopy.check_kernel.axis_used_twice", passes(kernel));
}

TEST(CheckKernel, RefusesAxesWhoseBoundsAreComputed) {
  Kernel kernel = copy_kernel();
  kernel.temporaries = {{.name = "length", .type = cgen::i32}};
  kernel.domains[1] = loop("j", "length");
  kernel.instructions.push_back(assign("l", name("length"), access("a", {Expr(0)}), {}));
  kernel.instructions.push_back(assign("t", access("out", {j}), 0, {"j"}));
  EXPECT_TRUE(passes(kernel));
  kernel.iname_tags["j"] = {AxisKind::grid, 0};
  EXPECT_ERROR("loopy.check_kernel.data_dependent_axis", passes(kernel));
}

TEST(CheckKernel, AllowsAxesThatALaunchCanComputeAsWell) {
  Kernel kernel = copy_kernel();
  kernel.temporaries = {{.name = "length", .type = cgen::i32}};
  kernel.domains[1] = loop("j", "length");
  kernel.iname_tags["j"] = {AxisKind::grid, 0};
  kernel.instructions.push_back(assign("l", name("length"), n * n, {}));
  EXPECT_TRUE(passes(kernel));
  // but not by a value that changes, or under a condition
  kernel.instructions.push_back(assign("again", name("length"), n, {}));
  EXPECT_ERROR("loopy.check_kernel.data_dependent_axis", passes(kernel));
  kernel.instructions.pop_back();
  kernel.instructions.back().predicates = {compare(ComparisonOp::less, n, 7)};
  EXPECT_ERROR("loopy.check_kernel.data_dependent_axis", passes(kernel));
}

TEST(CheckKernel, AllowsThreadsOfConstantNumberInRowsWhoseBoundsAreComputed) {
  Kernel kernel = copy_kernel();
  kernel.temporaries = {{.name = "length", .type = cgen::i32}};
  kernel.domains[1] = loop("j", "length");
  kernel.domains[1].constraints.add_nonnegative(Affine(31) - Affine("j"));
  kernel.instructions.push_back(assign("l", name("length"), access("a", {Expr(0)}), {}));
  kernel.instructions.push_back(assign("t", access("out", {j}), 0, {"j"}));
  kernel.iname_tags["j"] = {AxisKind::block, 0};
  EXPECT_TRUE(passes(kernel));
  kernel.iname_tags["j"] = {AxisKind::grid, 0};
  EXPECT_ERROR("loopy.check_kernel.data_dependent_axis", passes(kernel));
}

TEST(CheckKernel, RefusesBlockAxesWithoutALength) {
  Kernel kernel = copy_kernel();
  kernel.iname_tags["i"] = {AxisKind::block, 0};
  EXPECT_ERROR("loopy.check_kernel.no_constant_length", passes(kernel));
  kernel.assumptions.add_nonnegative(Affine(256) - Affine("n"));
  EXPECT_TRUE(passes(kernel));
}

TEST(CheckKernel, RefusesTooManyThreads) {
  Kernel kernel = copy_kernel();
  kernel.domains = {loop("i", 32), loop("j", 33)};
  kernel.iname_tags = {{"i", {AxisKind::block, 0}}, {"j", {AxisKind::block, 1}}};
  EXPECT_ERROR("loopy.check_kernel.too_many_threads", passes(kernel));
  kernel.domains[1] = loop("j", 32);
  EXPECT_TRUE(passes(kernel));
}

}  // namespace
}  // namespace rtcg::loopy
