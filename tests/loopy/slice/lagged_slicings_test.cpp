// Sums of which results shift what is read.
#include <gtest/gtest.h>

#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/slice/enumerate_slicings.h"
#include "rtcg/loopy/slice/slicing_source.h"
#include "rtcg/loopy/transform/why_not.h"
#include "tests/loopy/slice/lagged_kernels.h"

namespace rtcg::loopy {
namespace {

SlicingConstraints sizes(IntegerValues parameters) {
  return {.parameters = std::move(parameters)};
}

TEST(LaggedSlicings, GiveThreadsNeighbouringStepsForSeveralLags) {
  const auto lagged = detail::lagged_slicings(autocorrelation(), sizes({{"n", 20000000}}));
  ASSERT_NE(lagged, nullptr);
  const RankedSlicing best = lagged->at(0);
  ASSERT_EQ(best.slicing.inames.size(), 2U) << best.words;
  const std::vector<SlicingFactor>& steps = best.slicing.inames[0].factors;
  EXPECT_EQ(best.slicing.inames[0].iname, "i");
  ASSERT_EQ(steps.size(), 4U) << best.words;
  EXPECT_EQ(steps[3].length % 2, 1) << "lanes in one bank: " << best.words;
  EXPECT_EQ(best.slicing.fetches.size(), 2U) << best.words;
  EXPECT_EQ(lagged->find(best.slicing), 0U);
  EXPECT_TRUE(SlicingStream(autocorrelation(), sizes({{"n", 20000000}})).find(best.slicing));
}

TEST(LaggedSlicings, ShareTheRowsOfImages) {
  const auto lagged =
      detail::lagged_slicings(image_correlation(), sizes({{"m", 4096}, {"n", 4096}}));
  ASSERT_NE(lagged, nullptr);
  const RankedSlicing best = lagged->at(0);
  EXPECT_TRUE(best.words.starts_with("y: g.0 for*")) << best.words;
  EXPECT_NE(best.words.find("; x: for l.0*"), std::string::npos) << best.words;
}

TEST(LaggedSlicings, HaveTexts) {
  const std::vector<std::pair<Kernel, IntegerValues>> kernels = {
      {autocorrelation(), {{"n", 1000000}}},
      {cross_correlations(), {{"nb", 100}, {"n", 10000}}},
      {largest_jumps(), {{"n", 1000000}}},
      {image_correlation(), {{"m", 500}, {"n", 700}}}};
  for (const auto& [kernel, parameters] : kernels) {
    const auto lagged = detail::lagged_slicings(kernel, sizes(parameters));
    ASSERT_NE(lagged, nullptr) << "no such sum";
    for (std::size_t i = 0; i < lagged->count(); i += 1 + lagged->count() / 8) {
      const Slicing slicing = lagged->at(i).slicing;
      EXPECT_FALSE(why_not([&] { return generate_text(apply(kernel, slicing), Target::cuda); }))
          << to_string(slicing);
    }
  }
}

TEST(LaggedSlicings, AreNotOfOtherKernels) {
  const auto is_lagged = [](const char* domain, const char* statements) {
    const Kernel kernel = make_kernel(domain, statements, {.default_type = cgen::f32});
    return detail::lagged_slicings(kernel, sizes({{"n", 100000}})) != nullptr;
  };
  // a filter: its sum is the short one; no shift; a shift across the rows alone; two statements
  EXPECT_FALSE(is_lagged("{[i, k]: 0 <= i < n and 0 <= k < 64}", "y[i] = sum(k, h[k]*x[i + k])"));
  EXPECT_FALSE(is_lagged("{[l, i]: 0 <= l < 64 and 0 <= i < n}", "r[l] = sum(i, x[i]*y[l, i])"));
  EXPECT_FALSE(
      is_lagged("{[l, i]: 0 <= l < 64 and 0 <= i < n}", "r[l] = sum(i, x[i, 0]*x[i + l, 0])"));
  EXPECT_FALSE(is_lagged("{[l, i]: 0 <= l < 64 and 0 <= i < n}",
                         "r[l] = sum(i, x[i]*x[i + l])\ns[l] = sum(i, x[i + l])"));
  SlicingConstraints processor = sizes({{"n", 100000}});
  processor.machine.is_cpu = true;
  EXPECT_EQ(detail::lagged_slicings(autocorrelation(), processor), nullptr);
}

}  // namespace
}  // namespace rtcg::loopy
