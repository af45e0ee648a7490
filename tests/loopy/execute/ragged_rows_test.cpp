// Nests with loops whose bounds the kernel computes, sliced: numbers on every back end.
#include <gtest/gtest.h>

#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/slice/enumerate_slicings.h"
#include "tests/loopy/execute/on_every_target.h"
#include "tests/loopy/slice/ragged_kernels.h"

namespace rtcg::loopy {
namespace {

class RaggedRows : public testing::Test {
 protected:
  /// Each form of slicing that is listed, everywhere.
  static void expect_all_forms(const Kernel& kernel, const IntegerValues& sizes,
                               const std::vector<double>& first) {
    CompareOptions options;
    options.values["first"] = first;
    SlicingConstraints constraints = of_h100();
    constraints.parameters = sizes;
    const SlicingStream stream(kernel, constraints);
    ASSERT_GT(stream.count(), 0U);
    const std::size_t step = std::max<std::size_t>(1, stream.count() / 5);
    for (std::size_t place = 0; place < stream.count(); place += step) {
      const RankedSlicing ranked = stream.at(place);
      SCOPED_TRACE(ranked.words);
      expect_same_everywhere(apply(kernel, ranked.slicing), kernel, sizes, options);
    }
  }
};

TEST_F(RaggedRows, OfASparseMatrixAreSummed) {
  expect_all_forms(sparse_product(), {{"n", 7}, {"m", 9}, {"nz", 41}},
                   {0, 3, 3, 20, 21, 29, 40, 41});
}

TEST_F(RaggedRows, OfASparseMatrixTimesADenseOne) {
  expect_all_forms(sparse_times_dense(), {{"n", 5}, {"m", 19}, {"nz", 41}}, {0, 3, 3, 36, 37, 41});
}

// rows that begin anywhere would be many times longer, and what a tuner finds for them of no use
TEST_F(RaggedRows, OfTestDataGoThroughTheirArraysOnce) {
  const IntegerValues sizes = {{"n", 50}, {"m", 40}, {"nz", 800}};
  const ArgumentData data = runnable_arguments(sparse_product(), sizes);
  const ArrayData& first = data.at("first");
  for (std::size_t i = 0; i + 1 < first.count(); ++i) {
    EXPECT_LE(first.element(i), first.element(i + 1));
  }
  EXPECT_EQ(first.element(0), 0);
  EXPECT_GE(first.element(50), 790);
}

// no gallery has these
TEST_F(RaggedRows, OfOtherOperations) {
  const auto kernel = [](const std::string& statements, const std::string& arguments) {
    return make_kernel("{[i]: 0 <= i < n} {[k]: begin <= k < end}", bounds_of_rows + statements,
                       {.arguments = arguments + "; first: i32[n + 1]; x: f32[nz]; n, nz: i32",
                        .assumptions = "n >= 1 and nz >= 1"});
  };
  const IntegerValues sizes = {{"n", 6}, {"nz", 77}};
  const std::vector<double> first = {0, 1, 1, 40, 41, 76, 77};
  expect_all_forms(kernel("y[i] = reduce(max, k, x[k]) {dep=b:e}", "y: f32[n]"), sizes, first);
  // two sums of a row, in one statement and in two
  expect_all_forms(kernel("y[i] = sum(k, x[k])/(1 + sum(k, x[k]*x[k])) {dep=b:e}", "y: f64[n]"),
                   sizes, first);
  expect_all_forms(
      kernel("y[i] = sum(k, x[k]) {dep=b:e}\nz[i] = end - begin {dep=b:e}", "y: f32[n]; z: i32[n]"),
      sizes, first);
}

}  // namespace
}  // namespace rtcg::loopy
