#include "rtcg/loopy/slice/count_work.h"

#include <algorithm>
#include <cctype>

#include <gtest/gtest.h>

#include "rtcg/loopy/analyze/infer_types.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/recipe/parse_kernel_file.h"
#include "rtcg/loopy/slice/enumerate_slicings.h"
#include "rtcg/loopy/transform/expand_subst.h"
#include "rtcg/loopy/transform/fix_parameters.h"

namespace rtcg::loopy::detail {
namespace {

KernelWork work_of(const char* domains, const char* statements, const char* arguments,
                   const std::string& cut) {
  const Kernel kernel = make_kernel(domains, statements, {.arguments = arguments});
  return count_work(infer_types(expand_subst(kernel)), {}, cut);
}

TEST(CountWork, TellsTheSumThatIsCutFromTheRest) {
  const KernelWork work = work_of("{[i, j, k]: 0 <= i, j < 10 and 0 <= k < 30}",
                                  "c[i, j] = 2*c[i, j] + sum(k, a[i, k]*b[k, j])",
                                  "a: f32[10, 30]; b: f32[30, 10]; c: f32[10, 10]", "k");
  EXPECT_EQ(work.in_sum.floats, 100 * 30 * 2);
  EXPECT_EQ(work.outside.floats, 100 * 2);
  EXPECT_EQ(work.least_steps, 100 * 30);
  EXPECT_EQ(work.compulsory_bytes, 4 * (300 + 300 + 100 + 100));
  EXPECT_EQ(work.written_bytes, 4 * 100);
}

TEST(CountWork, AddsUpSumsSideBySide) {
  const KernelWork work = work_of("{[i, k, l]: 0 <= i < 10 and 0 <= k < 30 and 0 <= l < 20}",
                                  "c[i] = sum(k, a[i, k]) + sum(l, b[i, l])",
                                  "a: f64[10, 30]; b: f64[10, 20]; c: f64[10]", "k");
  EXPECT_EQ(work.in_sum.doubles, 10 * 30);
  EXPECT_EQ(work.outside.doubles, 10 * 20 + 10);
}

TEST(CountWork, CountsThePointsOfTriangles) {
  const KernelWork work =
      work_of("{[i, j]: 0 <= i < 10 and 0 <= j < 4} {[k]: 0 <= k <= i}",
              "c[i, j] = sum(k, a[i, k]*b[k, j])", "a: f32[10, 10]; b, c: f32[10, 4]", "k");
  EXPECT_EQ(work.in_sum.floats, 55 * 4 * 2);
  EXPECT_EQ(work.compulsory_bytes, 4 * (55 + 40 + 40));
}

double untouched(const char* domains, const char* statements, const char* arguments) {
  return untouched_bytes(
      infer_types(expand_subst(make_kernel(domains, statements, {.arguments = arguments}))), {});
}

TEST(CountWork, FindsWhatIsNeverTouched) {
  const char* const triangle = "{[i, j]: 0 <= i < 10 and 0 <= j < 4} {[k]: 0 <= k <= i}";
  EXPECT_EQ(
      untouched(triangle, "c[i, j] = sum(k, a[i, k]*b[k, j])", "a: f32[10, 10]; b, c: f32[10, 4]"),
      4 * 45);
  EXPECT_EQ(untouched("{[i, j, k]: 0 <= k <= j and j <= i and i < 9}", "t[i, j, k] = x[i]*x[k]",
                      "x: f64[9]; t: f64[9, 9, 9]"),
            8 * (729 - 165));
  // some read all of it
  EXPECT_EQ(untouched(triangle, "c[i, j] = sum(k, a[i, k]) + a[i, 9 - j]",
                      "a: f32[10, 10]; c: f32[10, 4]"),
            4 * 45);
  EXPECT_EQ(untouched("{[i, j]: 0 <= i, j < 10} {[k]: 0 <= k <= i}",
                      "c[i, j] = sum(k, a[i, k]) + a[j, i]", "a, c: f32[10, 10]"),
            0);
}

TEST(CountWork, TakesArraysWholeWhereAccessesAreNotCounted) {
  const char* const row = "{[i, j]: 0 <= i < 10 and 0 <= j < 4}";
  EXPECT_EQ(untouched(row, "c[i, j] = a[p[i], j]", "a: f32[90, 4]; p: i32[10]; c: f32[10, 4]"), 0);
  EXPECT_EQ(untouched(row, "c[i, j] = a[2*i, i + j]", "a: f32[20, 20]; c: f32[10, 4]"), 0);
}

// Each part of a pixel, of a row, of a pair; neighbours may be the same elements.
TEST(CountWork, AddsUpAccessesWithoutElementsInCommon) {
  const auto compulsory = [](const char* domains, const char* statements, const char* arguments) {
    return work_of(domains, statements, arguments, "").compulsory_bytes;
  };
  const char* const ten = "{[i]: 0 <= i < 10}";
  const char* const pixels = "c[i] = a[i, 0] + a[i, 1]*a[i, 2]";
  EXPECT_EQ(untouched(ten, pixels, "a: f32[10, 4]; c: f32[10]"), 4 * 10);
  EXPECT_EQ(compulsory(ten, pixels, "a: f32[10, 4]; c: f32[10]"), 4 * (30 + 10));
  EXPECT_EQ(untouched(ten, "c[i] = a[i] - a[i + 10]", "a: f32[20]; c: f32[10]"), 0);
  EXPECT_EQ(untouched(ten, "c[i] = a[i] - a[i + 1]", "a: f32[11]; c: f32[10]"), 4 * 1);
  EXPECT_EQ(compulsory(ten, "c[i] = a[2*i] - a[2*i + 1]", "a: f32[20]; c: f32[10]"), 4 * 30);
  EXPECT_EQ(compulsory(ten, "c[i] = a[2*i] - a[2*i + 2]", "a: f32[22]; c: f32[10]"), 4 * 20);
  EXPECT_EQ(compulsory("{[i, j]: 0 <= i < 10 and 0 <= j < 3}", "c[i, j] = a[3*i + j] + a[3*i + 1]",
                       "a: f32[30]; c: f32[10, 3]"),
            4 * (10 + 30));
}

TEST(CountWork, KnowsWhatMovesTwice) {
  const auto updated = [](const char* statements, const char* arguments) {
    return updated_bytes(infer_types(expand_subst(make_kernel(
                             "{[i, j]: 0 <= i, j < 10}", statements, {.arguments = arguments}))),
                         {});
  };
  EXPECT_EQ(updated("y[i, j] = y[i, j] + x[i]", "y: f32[10, 10]; x: f32[10]"), 4 * 100);
  EXPECT_EQ(updated("y[i, 2] = y[i, 1] + x[i, j]", "y: f64[10, 3]; x: f64[10, 10]"), 8 * 10);
  EXPECT_EQ(updated("t[i, j] = x[i]; y[i, j] = t[i, j]", "t, y: f32[10, 10]; x: f32[10]"), 0);
}

TEST(CountWork, CountsOneInstructionForAProductAndItsAddition) {
  const char* const domain = "{[i, j, k]: 0 <= i, j < 10 and 0 <= k < 30}";
  const char* const arguments = "a: f32[10, 30]; b: f32[30, 10]; c: f32[10, 10]; f: f32";
  const auto count = [&](const char* statement) {
    return work_of(domain, statement, arguments, "k").in_sum.count() / (100 * 30);
  };
  EXPECT_EQ(count("c[i, j] = sum(k, a[i, k]*b[k, j])"), 1);
  EXPECT_EQ(count("c[i, j] = sum(k, (a[i, k] - b[k, j])**2)"), 2);
  EXPECT_EQ(count("c[i, j] = sum(k, a[i, k] + b[k, j])"), 2);
  // neighbours share the leading product
  EXPECT_EQ(count("c[i, j] = sum(k, f*a[i, k]*b[k, j])"), 1.25);
  const OperationMix of_doubles = work_of(domain, "c[i, j] = sum(k, a[i, k]*b[k, j])",
                                          "a: c128[10, 30]; b: c128[30, 10]; c: c128[10, 10]", "k")
                                      .in_sum;
  EXPECT_EQ(of_doubles.count(), 4 * 100 * 30);
}

TEST(CountWork, CountsWhatRulesRepeatOnce) {
  const auto floats_of = [](const char* statement) {
    return work_of("{[i, k]: 0 <= i < 1 and 0 <= k < 10}", statement, "a: f32[10]; c: f32[1]", "k")
        .in_sum.count();
  };
  EXPECT_EQ(floats_of("w(k) := a[k] - c[i]\nc[i] = sum(k, w(k)*w(k))"),
            floats_of("c[i] = sum(k, (a[k] - c[i])**2)"));
}

TEST(CountWork, KnowsWhatTypesAndFunctionsTake) {
  const MachineModel machine;
  const auto floats_of = [&](const char* statement, const char* arguments) {
    return work_of("{[i]: 0 <= i < 1}", statement, arguments, "").outside.as_floats(machine);
  };
  EXPECT_EQ(floats_of("c[i] = a[i]*b[i]", "a, b, c: f32[1]"), 1);
  EXPECT_EQ(floats_of("c[i] = a[i]*b[i]", "a, b, c: f64[1]"), 2);
  EXPECT_EQ(floats_of("c[i] = a[i]*b[i]", "a, b, c: i32[1]"), 2);
  EXPECT_EQ(floats_of("c[i] = a[i]*b[i]", "a, b, c: c64[1]"), 6);
  EXPECT_EQ(floats_of("c[i] = a[i] + b[i]", "a, b, c: c128[1]"), 4);
  EXPECT_EQ(floats_of("c[i] = exp(a[i])", "a, c: f32[1]"), 12);
  EXPECT_GT(floats_of("c[i] = exp(a[i])", "a, c: f64[1]"), 30);
}

// ---- kernels of the gallery at their full sizes
// -------------------------------------------------- What the model predicts for the best slicing,
// against what no kernel can do without: its arithmetic at the full rate, and each array once
// through memory.

struct CostOfFile {
  const char* name;
  std::int64_t most_items;  ///< of a thread, so that listing is quick
};

class GalleryCosts : public testing::TestWithParam<CostOfFile> {};

TEST_P(GalleryCosts, AreAtMostThreeTimesWhatNoKernelCanDoWithout) {
  const KernelFile file = read_kernel_file(RTCG_SOURCE_DIR "/examples/gallery/" +
                                           std::string(GetParam().name) + ".loopy");
  const Kernel kernel =
      fix_parameters(described_kernel(file), {file.sizes.begin(), file.sizes.end()});
  SlicingConstraints constraints;
  constraints.machine.shared_bytes = 227 * 1024;
  constraints.min_threads = 128;
  constraints.max_threads = 256;
  constraints.max_items_per_thread = GetParam().most_items;
  const MachineModel& machine = constraints.machine;
  const KernelWork work = count_work(infer_types(expand_subst(kernel)), {}, "");
  const double bound =
      std::max(work.outside.as_floats(machine) /
                   (machine.flops_per_clock * machine.multiprocessors * machine.clock_hz),
               work.compulsory_bytes / machine.memory_bytes_per_second);
  const SlicingStream stream(kernel, constraints);
  const double ratio = stream.predicted_seconds(0) / bound;
  RecordProperty("ratio", std::to_string(ratio));
  EXPECT_GE(ratio, 1) << to_string(stream.at(0).slicing);
  EXPECT_LE(ratio, 3) << to_string(stream.at(0).slicing);
}

INSTANTIATE_TEST_SUITE_P(
    Files, GalleryCosts,
    testing::Values(
        CostOfFile{"batched/clebsch_gordan", 64}, CostOfFile{"convolutions/bias_relu_residual", 64},
        CostOfFile{"convolutions/conv_depthwise", 16}, CostOfFile{"finance/black_scholes", 64},
        CostOfFile{"finance/moving_average", 64}, CostOfFile{"histograms/weighted_histogram", 64},
        CostOfFile{"pairs/k_means_assign", 64}, CostOfFile{"pairs/n_body", 64},
        CostOfFile{"pairs/nearest_neighbour", 64}, CostOfFile{"pairs/rbf_product", 64},
        CostOfFile{"polybench/gesummv", 64}),
    [](const auto& info) {
      std::string name = info.param.name;
      std::replace_if(
          name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
      return name;
    });

TEST(CountWork, TellsWhichLoopsOperationsDependOn) {
  const auto shares = [](const char* statement) {
    const Kernel kernel =
        make_kernel("{[i, j, k]: 0 <= i, j < 10 and 0 <= k < 30}", statement,
                    {.arguments = "a: f32[10, 30]; b: f32[30, 10]; c: f32[10, 10]"});
    return shares_of_loops(infer_types(expand_subst(kernel)), {}, "k", {"j", "i"});
  };
  using Shares = std::array<double, 4>;
  EXPECT_EQ(shares("c[i, j] = sum(k, a[i, k]*b[k, j])"), (Shares{0, 0, 0, 1}));
  // a square of a's, which all j share, a product, and the sum
  EXPECT_EQ(shares("c[i, j] = sum(k, a[i, k]**2*b[k, j])"), (Shares{0, 0, 1.0 / 3, 2.0 / 3}));
  // of the two equal differences one is computed
  EXPECT_EQ(shares("c[i, j] = sum(k, (b[k, j] - 1)*(b[k, j] - 1))"),
            (Shares{0, 2.0 / 4, 0, 1.0 / 4}));
  EXPECT_EQ(shares("c[i, j] = 3*b[0, j]"), (Shares{0, 0, 0, 1}));
}

}  // namespace
}  // namespace rtcg::loopy::detail
