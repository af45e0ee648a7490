// Acceptance cases of plain loops: each transformed kernel gives what the plain one gives.
#include <gtest/gtest.h>

#include "rtcg/loopy/analyze/infer_types.h"
#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/transform/prioritize_loops.h"
#include "rtcg/loopy/transform/split_iname.h"
#include "rtcg/loopy/transform/tag_inames.h"
#include "tests/loopy/execute/on_every_target.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

KernelOptions f32_options(std::string assumptions = {}) {
  KernelOptions options;
  options.default_type = cgen::f32;
  options.assumptions = std::move(assumptions);
  return options;
}

SplitOptions tags(std::string outer, std::string inner) {
  SplitOptions options;
  options.outer_tag = std::move(outer);
  options.inner_tag = std::move(inner);
  return options;
}

Kernel twice(const std::string& assumptions = {}) {
  return make_kernel("{[i]: 0 <= i < n}", "out[i] = 2*a[i]", f32_options(assumptions));
}

TEST(PlainLoops, DoubleAnArrayInOneLoop) {
  const std::string text = generate_text(twice(), Target::cuda);
  EXPECT_EQ(count_of("for (", text), 1);
  EXPECT_EQ(count_of("if (", text), 0);
  expect_same_everywhere(twice(), twice(), {{"n", 1000}});
}

TEST(PlainLoops, NeedNoConditionWhenSplit) {
  const Kernel split = split_iname(twice(), "i", 16);
  const std::string text = generate_text(split, Target::cuda);
  EXPECT_EQ(count_of("for (", text), 2);
  EXPECT_EQ(count_of("if (", text), 0);
  for (const int n : {0, 1, 15, 16, 17, 100}) {
    expect_same_everywhere(split, twice(), {{"n", n}});
  }
}

TEST(PlainLoops, NeedNoGuardWhereTilesDivide) {
  const Kernel transpose = make_kernel("{[i, j]: 0 <= i, j < n}", "out[i, j] = a[j, i]",
                                       f32_options("n mod 16 = 0 and n >= 1"));
  Kernel tiled = split_iname(split_iname(transpose, "i", 16), "j", 16);
  tiled = prioritize_loops(tiled, {"i_outer", "j_outer", "i_inner", "j_inner"});
  const std::string text = generate_text(tiled, Target::cuda);
  EXPECT_EQ(count_of("for (", text), 4);
  EXPECT_EQ(count_of("if (", text), 0);
  EXPECT_EQ(count_of("min(", text), 0);
  expect_same_everywhere(tiled, transpose, {{"n", 48}});
}

TEST(PlainLoops, AreUnrolledWithGuardsButForTheFirstCopy) {
  const Kernel unrolled = split_iname(twice(), "i", 4, tags("", "unr"));
  EXPECT_EQ(count_of("if (", generate_text(unrolled, Target::cuda)), 3);
  for (const int n : {0, 1, 4, 7}) {
    expect_same_everywhere(unrolled, twice(), {{"n", n}});
  }
}

TEST(Grids, CoverAnArrayWithOneGuard) {
  const Kernel sliced = split_iname(twice(), "i", 128, tags("g.0", "l.0"));
  const GeneratedProgram program = generate(sliced, Target::cuda);
  ASSERT_EQ(program.launches.size(), 1U);
  EXPECT_EQ(program.launches[0].block[0], 128);
  EXPECT_EQ(evaluate_integer(program.launches[0].grid[0], {{"n", 1000}}), 8);
  EXPECT_EQ(count_of("if (", generate_text(sliced, Target::cuda)), 1);
  for (const int n : {0, 1, 128, 1000}) {
    expect_same_everywhere(sliced, twice(), {{"n", n}});
  }
}

TEST(Grids, RunMatrixProductsWithOneGuard) {
  const Kernel product = make_kernel("{[i, j, k]: 0 <= i, j, k < n}",
                                     "c[i, j] = sum(k, a[i, k]*b[k, j])", f32_options());
  Kernel tiled = split_iname(product, "i", 16, tags("g.0", "l.1"));
  tiled = split_iname(tiled, "j", 16, tags("g.1", "l.0"));
  EXPECT_EQ(count_of("if (", generate_text(tiled, Target::cuda)), 1);
  for (const int n : {1, 15, 16, 33}) {
    expect_same_everywhere(tiled, product, {{"n", n}});
  }
}

TEST(Ilp, CopiesStatements) {
  const Kernel product = make_kernel("{[i, j, k]: 0 <= i, j, k < n}",
                                     "c[i, j] = sum(k, a[i, k]*b[k, j])", f32_options());
  Kernel tiled = split_iname(product, "i", 2, tags("g.0", "ilp"));
  tiled = split_iname(tiled, "j", 16, tags("g.1", ""));
  tiled = split_iname(tiled, "j_inner", 2, tags("l.0", "ilp"));
  for (const int n : {1, 4, 32, 33}) {
    expect_same_everywhere(tiled, product, {{"n", n}});
  }
}

TEST(Reductions, OverTheThreadsOfABlock) {
  for (const int length : {1, 5, 67, 113, 128}) {
    KernelOptions options = f32_options();
    options.fixed_parameters = {{"m", length}};
    const Kernel sums =
        make_kernel("{[i, j]: 0 <= i < n and 0 <= j < m}", "z[i] = sum(j, a[i, j])", options);
    expect_same_everywhere(tag_inames(sums, "i:g.0, j:l.0"), sums, {{"n", 7}});
    if (length < 100) {
      expect_same_everywhere(tag_inames(split_iname(sums, "i", 4, tags("g.0", "l.1")), "j:l.0"),
                             sums, {{"n", 7}});
    }
  }
}

TEST(Reductions, OfAllOperations) {
  for (const char* operation : {"sum", "product", "min", "max", "minimum", "maximum"}) {
    const Kernel kernel =
        make_kernel("{[i, j]: 0 <= i < n and 0 <= j < 50}",
                    std::string("z[i] = reduce(") + operation + ", j, a[i, j])", f32_options());
    expect_same_everywhere(kernel, kernel, {{"n", 5}});
    expect_same_everywhere(tag_inames(kernel, "i:g.0, j:l.0"), kernel, {{"n", 5}});
  }
  const Kernel extremum = make_kernel("{[i, j]: 0 <= i < n and 0 <= j < 50}",
                                      "v[i], p[i] = argmax(j, a[i, j], j)", f32_options());
  expect_same_everywhere(tag_inames(extremum, "i:g.0"), extremum, {{"n", 5}});
}

// Roots of negative numbers are in all, some and none of the rows.
TEST(Reductions, ByMinimumAndMaximumGiveNans) {
  for (const char* operation : {"minimum", "maximum", "min", "max"}) {
    SCOPED_TRACE(operation);
    const Kernel kernel = make_kernel(
        "{[i, j]: 0 <= i < n and 0 <= j < 64}",
        std::string("z[i] = reduce(") + operation + ", j, sqrt(a[i, j] + i - 1))", f32_options());
    expect_same_everywhere(kernel, kernel, {{"n", 4}});
    expect_same_everywhere(tag_inames(kernel, "i:g.0, j:l.0"), kernel, {{"n", 4}});
  }
}

TEST(Reductions, OverTheBlockKeepLanesApart) {
  const Kernel sums =
      make_kernel("{[i, j]: 0 <= i < n and 0 <= j < 100}", "z[i] = sum(j, a[i, j])", f32_options());
  Kernel kernel = split_iname(sums, "i", 3, tags("g.0", "ilp"));
  kernel = split_iname(kernel, "j", 32, tags("", "l.0"));
  expect_same_everywhere(kernel, sums, {{"n", 7}});
}

TEST(Reductions, OverNothingGiveTheNeutralElement) {
  KernelOptions options = f32_options();
  options.arguments = "a: f32[n, m + 1]";
  const Kernel kernel =
      make_kernel("{[i, j]: 0 <= i < n and 0 <= j < m}", "z[i] = sum(j, a[i, j])", options);
  EXPECT_EQ(count_of("if (", generate_text(kernel, Target::cuda)), 0);
  ArgumentData data = random_arguments(infer_types(kernel), {{"n", 3}, {"m", 0}}, 1);
  data = run_kernel(kernel, {{"n", 3}, {"m", 0}}, data, runtime::Device::host());
  EXPECT_EQ(data.at("z").element(0), 0);
  EXPECT_EQ(data.at("z").element(2), 0);
}

TEST(Domains, OfTrianglesStayBelowTheDiagonal) {
  const Kernel triangle =
      make_kernel("{[i, j]: 0 <= i < n and i <= j < n}", "a[i, j] = 17", f32_options());
  expect_same_everywhere(triangle, triangle, {{"n", 20}});
  Kernel parallel = split_iname(triangle, "i", 16, tags("g.1", "l.1"));
  parallel = split_iname(parallel, "j", 16, tags("g.0", "l.0"));
  EXPECT_EQ(count_of("if (", generate_text(parallel, Target::cuda)), 1);
  expect_same_everywhere(parallel, triangle, {{"n", 20}});
}

TEST(Domains, WithStridesNeedNoTest) {
  const Kernel even =
      make_kernel("{[i]: 0 <= i < n and exists l: i = 2l}", "a[i] = 5", f32_options());
  const std::string text = generate_text(even, Target::cuda);
  EXPECT_NE(text.find("i += 2"), std::string::npos);
  EXPECT_EQ(count_of("if (", text), 0);
  expect_same_everywhere(even, even, {{"n", 11}});
}

TEST(Domains, MayDependOnData) {
  KernelOptions options = f32_options();
  options.arguments = "starts: i32[n + 1]; values: f32[nz]; columns: i32[nz]; x: f32[n]";
  const Kernel spmv = make_kernel("{[i]: 0 <= i < n} {[jj]: 0 <= jj < row_length}", R"(
      <i32> row_start = starts[i]
      <i32> row_length = starts[i + 1] - row_start
      ax[i] = sum(jj, values[[row_start + jj]]*x[columns[row_start + jj]])
  )",
                                  options);
  const Kernel sliced = split_iname(spmv, "i", 4, tags("g.0", "l.0"));
  CompareOptions compare;
  compare.values = {{"starts", {0, 2, 2, 5, 6, 9}}, {"columns", {0, 4, 1, 2, 3, 0, 1, 2, 4}}};
  expect_same_everywhere(sliced, spmv, {{"n", 5}, {"nz", 9}}, compare);
  EXPECT_EQ(count_of("if (", generate_text(sliced, Target::cuda)), 1);
}

TEST(Barriers, StandOnlyWhereThreadsMeet) {
  const Kernel same_lane = make_kernel("{[io, ii]: 0 <= io < n and 0 <= ii < 16}", R"(
      <> s_a[ii] = a[16*io + ii]
      out[16*io + ii] = 2*s_a[ii]
  )",
                                       f32_options());
  const Kernel sliced = tag_inames(same_lane, "io:g.0, ii:l.0");
  EXPECT_EQ(count_of("__syncthreads", generate_text(sliced, Target::cuda)), 0);
  expect_same_everywhere(sliced, same_lane, {{"n", 3}});

  const Kernel shared = make_kernel("{[io, ii, k]: 0 <= io < n and 0 <= ii, k < 16}", R"(
      <> s_a[ii] = a[16*io + ii]
      out[16*io + ii] = sum(k, s_a[k])
  )",
                                    f32_options());
  const Kernel shared_sliced = tag_inames(shared, "io:g.0, ii:l.0");
  EXPECT_EQ(count_of("__syncthreads", generate_text(shared_sliced, Target::cuda)), 1);
  const Kernel reference = make_kernel("{[io, ii, k]: 0 <= io < n and 0 <= ii, k < 16}",
                                       "out[16*io + ii] = sum(k, a[16*io + k])", f32_options());
  expect_same_everywhere(shared_sliced, reference, {{"n", 3}});
}

TEST(Barriers, BetweenBlocksAreRefused) {
  const Kernel rotate =
      make_kernel("{[i]: 0 <= i < n - 1}", "<> t = a[i]\na[i + 1] = t", f32_options("n >= 2"));
  EXPECT_ERROR("loopy.insert_barriers.needs_global_barrier",
               generate(split_iname(rotate, "i", 16, tags("g.0", "l.0")), Target::cuda));
}

}  // namespace
}  // namespace rtcg::loopy
