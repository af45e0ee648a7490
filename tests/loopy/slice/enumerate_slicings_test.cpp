#include "rtcg/loopy/slice/enumerate_slicings.h"

#include <set>

#include <gtest/gtest.h>

#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

Kernel matmul() {
  return make_kernel("{[i, j, k]: 0 <= i, j, k < n}", "c[i, j] = sum(k, a[i, k]*b[k, j])",
                     {.default_type = cgen::f32, .assumptions = "n >= 1"});
}

std::vector<std::string> first(const Kernel& kernel, const SlicingConstraints& constraints,
                               std::size_t count) {
  SlicingStream stream(kernel, constraints);
  std::vector<std::string> result;
  while (result.size() < count) {
    const auto next = stream.next();
    if (!next) {
      break;
    }
    result.push_back(to_string(next->slicing));
  }
  return result;
}

TEST(SlicingStream, IsDeterministicAndHasNothingTwice) {
  SlicingConstraints constraints;
  constraints.parameters = {{"n", 4096}};
  constraints.min_threads = 1;
  constraints.max_threads = 1024;
  constraints.max_lanes = 256;
  constraints.max_shared_bytes = 200 * 1024;
  const std::vector<std::string> all = first(matmul(), constraints, SIZE_MAX);
  EXPECT_GT(all.size(), 50000U);
  EXPECT_EQ(all.size(), SlicingStream(matmul(), constraints).count());
  EXPECT_EQ(std::set<std::string>(all.begin(), all.end()).size(), all.size());
  EXPECT_EQ(first(matmul(), constraints, 1000),
            std::vector<std::string>(all.begin(), all.begin() + 1000));
}

TEST(SlicingStream, KeepsItsConstraintsAndItsOrder) {
  SlicingConstraints constraints;
  constraints.parameters = {{"n", 1000}};
  constraints.min_threads = 64;
  constraints.max_threads = 128;
  constraints.min_blocks = 100;
  constraints.max_shared_bytes = 8000;
  SlicingStream stream(matmul(), constraints);
  double last = 0;
  std::size_t count = 0;
  while (const auto each = stream.next()) {
    EXPECT_GE(each->threads, 64);
    EXPECT_LE(each->threads, 128);
    EXPECT_GE(each->blocks, 100);
    EXPECT_LE(each->shared_bytes, 8000);
    EXPECT_GE(each->predicted_seconds, last);
    last = each->predicted_seconds;
    ++count;
  }
  EXPECT_EQ(count, stream.count());
  EXPECT_GT(count, 100U);
}

TEST(SlicingStream, LikesTilesForMatmul) {
  SlicingConstraints constraints;
  constraints.parameters = {{"n", 2048}};
  const RankedSlicing best = SlicingStream(matmul(), constraints).at(0);
  EXPECT_GE(best.slicing.fetches.size(), 1U);
}

TEST(SlicingStream, OffersCopiesThatRunAhead) {
  const std::vector<std::string> all = first(matmul(), {.parameters = {{"n", 512}}}, SIZE_MAX);
  for (const char* stages : {"stages 2", "stages 3", "stages 4"}) {
    EXPECT_TRUE(std::any_of(all.begin(), all.end(), [&](const std::string& each) {
      return each.find(stages) != std::string::npos;
    })) << stages;
  }
}

TEST(SlicingStream, SpreadsRowSumsOverTheBlock) {
  const Kernel sums =
      make_kernel("{[i, j]: 0 <= i, j < n}", "c[i] = sum(j, a[i, j])", {.default_type = cgen::f32});
  const std::vector<std::string> all = first(sums, {.parameters = {{"n", 4096}}}, SIZE_MAX);
  EXPECT_NE(std::find(all.begin(), all.end(), "i: g.0; j: for l.0*256"), all.end());
}

TEST(SlicingStream, FetchesWhatIsReadAcrossRows) {
  const Kernel transpose =
      make_kernel("{[i, j]: 0 <= i, j < n}", "out[j, i] = a[i, j]", {.default_type = cgen::f32});
  const RankedSlicing best = SlicingStream(transpose, {.parameters = {{"n", 4096}}}).at(0);
  EXPECT_EQ(best.slicing.fetches, (std::vector<FetchPlan>{{"a", false, 1}}));
}

TEST(SlicingStream, HasStepsFromEachSlicing) {
  const SlicingStream stream(matmul(), {.parameters = {{"n", 512}}});
  const std::vector<std::size_t> near = stream.neighbours(0);
  EXPECT_GT(near.size(), 4U);
  for (const std::size_t each : near) {
    const std::vector<std::size_t> back = stream.neighbours(each);
    EXPECT_NE(std::find(back.begin(), back.end(), 0U), back.end());
  }
}

TEST(SlicingStream, RefusesKernelsWithoutSizesOrResults) {
  EXPECT_ERROR("loopy.slicings.missing_parameter", SlicingStream(matmul(), {}));
  EXPECT_ERROR("loopy.slicings.nothing_to_slice",
               SlicingStream(make_kernel("{[i]: 0 <= i < 8}", "c[0] = sum(i, a[i])",
                                         {.default_type = cgen::f32}),
                             {}));
}

}  // namespace
}  // namespace rtcg::loopy
