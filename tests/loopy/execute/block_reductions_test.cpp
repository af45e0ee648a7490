// Reductions over the threads of a block: shuffles within warps on CUDA, trees elsewhere.
#include <bit>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "rtcg/loopy/analyze/infer_types.h"
#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/transform/assignment_to_subst.h"
#include "rtcg/loopy/transform/split_iname.h"
#include "rtcg/loopy/transform/tag_inames.h"
#include "tests/loopy/execute/on_every_target.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

KernelOptions with_type(const cgen::Type& type) {
  KernelOptions options;
  options.default_type = type;
  return options;
}

KernelOptions with_arguments(std::string arguments) {
  KernelOptions options;
  options.arguments = std::move(arguments);
  return options;
}

SplitOptions block_tags(std::string outer, std::string inner) {
  SplitOptions options;
  options.outer_tag = std::move(outer);
  options.inner_tag = std::move(inner);
  return options;
}

Kernel rows(const std::string& operation, const std::string& type, int length,
            const std::string& result_type) {
  return make_kernel("{[i, j]: 0 <= i < n and 0 <= j < " + std::to_string(length) + "}",
                     "z[i] = reduce(" + operation + ", j, a[i, j])",
                     with_arguments("z: " + result_type + "[n]; a: " + type + "[n, " +
                                    std::to_string(length) + "]"));
}

TEST(BlockReductions, ShuffleWithinWarpsWithOneBarrier) {
  const Kernel sums = rows("sum", "f32", 256, "f32");
  const std::string text = generate_text(tag_inames(sums, "i:g.0, j:l.0"), Target::cuda);
  EXPECT_EQ(count_of("__syncthreads", text), 1);
  EXPECT_EQ(count_of("__shfl_xor_sync", text), 5 + 3);
  EXPECT_EQ(count_of("__shared__", text), 1);
  EXPECT_NE(text.find("[8]"), std::string::npos);  // one element for each warp
}

TEST(BlockReductions, OfOneWarpNeedNoSharedMemory) {
  const Kernel sums = rows("sum", "f32", 32, "f32");
  const std::string text = generate_text(tag_inames(sums, "i:g.0, j:l.0"), Target::cuda);
  EXPECT_EQ(count_of("__syncthreads", text), 0);
  EXPECT_EQ(count_of("__shfl_xor_sync", text), 5);
  EXPECT_EQ(count_of("__shared__", text), 0);
  expect_same_everywhere(tag_inames(sums, "i:g.0, j:l.0"), sums, {{"n", 5}});
  expect_same_everywhere(tag_inames(split_iname(sums, "i", 3, block_tags("g.0", "l.1")), "j:l.0"),
                         sums, {{"n", 7}});
}

TEST(BlockReductions, OfOddLengthsAndOfOtherTargetsAreTrees) {
  for (const int length : {1, 31, 33, 100}) {
    const Kernel sliced = tag_inames(rows("sum", "f32", length, "f32"), "i:g.0, j:l.0");
    EXPECT_EQ(count_of("__shfl", generate_text(sliced, Target::cuda)), 0) << length;
  }
  const Kernel sliced = tag_inames(rows("sum", "f32", 64, "f32"), "i:g.0, j:l.0");
  EXPECT_EQ(count_of("barrier(", generate_text(sliced, Target::opencl)), 6);
  // rows of 40 threads begin within warps
  const Kernel uneven =
      make_kernel("{[i, j, k]: 0 <= i < n and 0 <= j < 32 and 0 <= k < 40}",
                  "z[i] = sum(j, a[i, j])\nb[i, k] = 2*c[i, k]", with_type(cgen::f32));
  const Kernel two_rows =
      tag_inames(split_iname(uneven, "i", 2, block_tags("g.0", "l.1")), "j:l.0, k:l.0");
  EXPECT_EQ(count_of("__shfl", generate_text(two_rows, Target::cuda)), 0);
  expect_same_everywhere(two_rows, uneven, {{"n", 5}});
}

TEST(BlockReductions, OfPartsOfWarpsExchangeAmongTheirOwnLanes) {
  const std::vector<std::pair<int, std::string>> cases = {
      {2, "f32"}, {4, "f64"}, {8, "i32"}, {16, "u64"}};
  for (const auto& [length, type] : cases) {
    SCOPED_TRACE(type);
    const Kernel sums = rows("sum", type, length, type);
    // 7 rows in blocks of 5: the second block has lanes without a row
    const Kernel sliced = tag_inames(split_iname(sums, "i", 5, block_tags("g.0", "l.1")), "j:l.0");
    const std::string text = generate_text(sliced, Target::cuda);
    EXPECT_EQ(count_of("exchange_" + std::to_string(length) + "_" + type + "(", text),
              1 + std::countr_zero(static_cast<unsigned>(length)));
    EXPECT_EQ(count_of("__syncthreads", text), 0);
    EXPECT_EQ(count_of("__shared__", text), 0);
    expect_same_everywhere(sliced, sums, {{"n", 7}});
  }
  // two values go together, and a condition is no number
  const Kernel places =
      make_kernel("{[i, j]: 0 <= i < n and 0 <= j < 8}",
                  "v[i], p[i] = argmin(j, a[i, j], j)\nq[i] = any(j, a[i, j] > 0)",
                  with_arguments("v: f32[n]; p, q: i32[n]; a: f32[n, 8]"));
  expect_same_everywhere(tag_inames(split_iname(places, "i", 3, block_tags("g.0", "l.1")), "j:l.0"),
                         places, {{"n", 7}});
}

TEST(BlockReductions, OfEveryOperationAndTypeGiveWhatLoopsGive) {
  for (const std::string type : {"f32", "f64", "i32", "i64", "u32", "u64"}) {
    const Kernel kernel =
        make_kernel("{[i, j]: 0 <= i < n and 0 <= j < 96}", R"(
        s[i] = sum(j, a[i, j])
        p[i] = product(j, a[i, j])
        l[i] = reduce(min, j, a[i, j])
        g[i] = reduce(max, j, a[i, j])
    )",
                    with_arguments("s, p, l, g: " + type + "[n]; a: " + type + "[n, 96]"));
    const Kernel sliced = tag_inames(kernel, "i:g.0, j:l.0");
    EXPECT_EQ(count_of("__shfl_xor_sync", generate_text(sliced, Target::cuda)), 4 * (5 + 2));
    SCOPED_TRACE(type);
    expect_same_everywhere(sliced, kernel, {{"n", 3}});
  }
}

// Numbers below 32 bits go as such, complex ones by parts.
TEST(BlockReductions, OfSmallAndComplexNumbersShuffleToo) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"u8", "min"}, {"i16", "max"}, {"f16", "max"}, {"bf16", "min"}, {"c64", "sum"}};
  for (const auto& [type, operation] : cases) {
    SCOPED_TRACE(type);
    const Kernel warps = rows(operation, type, 96, type);
    const Kernel sliced = tag_inames(warps, "i:g.0, j:l.0");
    const std::string text = generate_text(sliced, Target::cuda);
    EXPECT_EQ(count_of("__syncthreads", text), 1) << text;
    expect_same_everywhere(sliced, warps, {{"n", 3}});
    const Kernel parts = rows(operation, type, 8, type);
    const Kernel exchanged =
        tag_inames(split_iname(parts, "i", 5, block_tags("g.0", "l.1")), "j:l.0");
    EXPECT_EQ(count_of("__syncthreads", generate_text(exchanged, Target::cuda)), 0);
    expect_same_everywhere(exchanged, parts, {{"n", 7}});
  }
}

TEST(BlockReductions, OfConditionsVote) {
  for (const int length : {32, 160, 50}) {
    const std::string n = std::to_string(length);
    const Kernel kernel =
        make_kernel("{[i, j]: 0 <= i < n and 0 <= j < " + n + "}", R"(
        y[i] = 1 if any(j, a[i, j] < c[i]) else 0
        z[i] = 1 if all(j, a[i, j] < c[i]) else 0
    )",
                    with_arguments("y, z: i32[n]; c: f32[n]; a: f32[n, " + n + "]"));
    const Kernel sliced = tag_inames(kernel, "i:g.0, j:l.0");
    const int votes = length == 32 ? 1 : length == 50 ? 0 : 2;
    const std::string text = generate_text(sliced, Target::cuda);
    EXPECT_EQ(count_of("__any_sync", text), votes);
    EXPECT_EQ(count_of("__all_sync", text), votes);
    CompareOptions compare;
    compare.values = {{"c", {-2, 2, -0.97, 0.97, 0}}};
    expect_same_everywhere(sliced, kernel, {{"n", 5}}, compare);
  }
}

TEST(BlockReductions, FindPlacesAndTakeTheSmallestOfEquals) {
  for (const int length : {1, 50, 96}) {
    const std::string n = std::to_string(length);
    // places in falling order: the last of equal values has the smallest
    const Kernel kernel =
        make_kernel("{[i, j]: 0 <= i < n and 0 <= j < " + n + "}", R"(
        v[i], p[i] = argmin(j, abs(a[i, j]), 1000 - j)
        w[i], q[i] = argmax(j, abs(a[i, j]), 1000 - j)
    )",
                    with_arguments("v, w: f32[n]; p, q: i32[n]; a: f32[n, " + n + "]"));
    CompareOptions compare;
    for (int i = 0; i < 3 * length; ++i) {
      compare.values["a"].push_back(static_cast<double>((i * 7) % 5) - 2);
    }
    expect_same_everywhere(tag_inames(kernel, "i:g.0, j:l.0"), kernel, {{"n", 3}}, compare);
    if (length > 32) {
      expect_same_everywhere(
          split_iname(tag_inames(kernel, "i:g.0"), "j", 32, block_tags("", "l.0")), kernel,
          {{"n", 3}}, compare);
    }
  }
}

TEST(BlockReductions, FindPlacesAmongTheSmallestNumbersThereAre) {
  const Kernel kernel = make_kernel("{[j]: 0 <= j < 64}", "v[0], p[0] = argmax(j, a[j], j + 5)",
                                    with_arguments("v: u32[1]; p: i32[1]; a: u32[64]"));
  ArgumentData data = random_arguments(infer_types(kernel), {}, 1);
  for (std::size_t i = 0; i < 64; ++i) {
    data.at("a").set_element(i, 0);
  }
  for (const Kernel& each : {kernel, tag_inames(kernel, "j:l.0")}) {
    const ArgumentData found = run_kernel(each, {}, data, runtime::Device::host());
    EXPECT_EQ(found.at("p").element(0), 5);
  }
}

TEST(BlockReductions, StandInLoopsBesideLanesAndInsideOneAnother) {
  const Kernel sums =
      make_kernel("{[i, j, k]: 0 <= i < n and 0 <= j < 128 and 0 <= k < 5}",
                  "z[i, k] = sum(j, a[i, j]*b[j, k])*2 + max(z0[i], 0)", with_type(cgen::f32));
  // a loop around, whose turns share one array
  expect_same_everywhere(tag_inames(sums, "i:g.0, j:l.0"), sums, {{"n", 3}});
  // lanes
  expect_same_everywhere(tag_inames(sums, "i:g.0, j:l.0, k:ilp"), sums, {{"n", 3}});
  // a part that does not fill its last turn
  const Kernel long_rows = rows("sum", "f64", 300, "f64");
  expect_same_everywhere(
      split_iname(tag_inames(long_rows, "i:g.0"), "j", 128, block_tags("", "l.0")), long_rows,
      {{"n", 3}});
  // a loop sums what threads sum
  const Kernel nested =
      make_kernel("{[i, j, k]: 0 <= i < n and 0 <= j < 64 and 0 <= k < 7}",
                  "z[i] = sum(k, b[k]*sum(j, a[i, j]*c[k, j]))", with_type(cgen::f64));
  expect_same_everywhere(tag_inames(nested, "i:g.0, j:l.0"), nested, {{"n", 3}});
}

TEST(BlockReductions, GoOverTwoAxesOneAfterTheOther) {
  const Kernel sums = make_kernel("{[b, i, j]: 0 <= b < n and 0 <= i < 6 and 0 <= j < 32}",
                                  "z[b] = sum((i, j), a[b, i, j])", with_type(cgen::f64));
  const Kernel tagged = tag_inames(sums, "b:g.0, i:l.1, j:l.0");
  const std::string text = generate_text(tagged, Target::cuda);
  EXPECT_EQ(count_of("__shfl_xor_sync", text), 5) << text;
  EXPECT_EQ(count_of("__shared__", text), 1) << text;
  expect_same_everywhere(tagged, sums, {{"n", 3}});
  // trees along both axes, and a loop within
  const Kernel odd =
      make_kernel("{[b, i, j, k]: 0 <= b < n and 0 <= i < 5 and 0 <= j < 7 and 0 <= k < 3}",
                  "z[b] = 2*reduce(max, (i, k, j), a[b, i, j, k]) + y[b]", with_type(cgen::f32));
  expect_same_everywhere(tag_inames(odd, "b:g.0, i:l.0, j:l.1"), odd, {{"n", 2}});
  const Kernel place = make_kernel("{[b, i, j]: 0 <= b < n and 0 <= i < 4 and 0 <= j < 8}",
                                   "v[b], p[b] = argmax((i, j), a[b, i, j], 8*i + j)",
                                   with_arguments("v: f64[n]; p: i32[n]; a: f64[n, 4, 8]"));
  expect_same_everywhere(tag_inames(place, "b:g.0, i:l.1, j:l.0"), place, {{"n", 3}});
}

// PoCL 3.1 let all threads of a block decide as the last one does (runtime/opencl/self_test).
TEST(DefectBranchesBetweenBarriers, OfSeveralLoopsGiveTheNumbersOfTheDescription) {
  KernelOptions options = with_arguments("a, b, c: f64[24, 24]; out: f64[24]; n: i32");
  options.assumptions = "1 <= n and n <= 13";
  const Kernel described =
      make_kernel("{[i, r]: 0 <= i < n and 0 <= r < 6}",
                  "<> t = a[i, 14 - i]*c[i, i] + reduce(min, r, a[i, r]*b[r, 14 - i])\n"
                  "out[i] = t*t + 2*t",
                  options);
  const Kernel rule = assignment_to_subst(described, "t");
  for (const int n : {1, 9, 13}) {
    expect_same_everywhere(split_iname(rule, "r", 8, block_tags("g.0", "l.0")), described,
                           {{"n", n}});
    expect_same_everywhere(tag_inames(rule, "r:l.0"), described, {{"n", n}});
  }
}

}  // namespace
}  // namespace rtcg::loopy
