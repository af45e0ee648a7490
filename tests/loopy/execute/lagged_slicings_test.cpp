// Slicings of sums of which results shift what is read keep the numbers.
#include <random>

#include <gtest/gtest.h>

#include "rtcg/loopy/slice/slicing_source.h"
#include "tests/loopy/execute/on_every_target.h"
#include "tests/loopy/slice/lagged_kernels.h"

namespace rtcg::loopy {
namespace {

/// Some of those that are listed for a large problem, at a size of a few tiles whose last one is
/// not whole. Sums by atomic functions depend on the order of blocks, but those of integers.
void expect_listed_to_keep(const Kernel& kernel, const IntegerValues& large,
                           const IntegerValues& small, int count) {
  const auto lagged = detail::lagged_slicings(
      kernel, {.parameters = large, .max_threads = 64, .max_items_per_thread = 16});
  ASSERT_NE(lagged, nullptr);
  const bool is_exact = kernel.arguments.front().type == cgen::i32;
  std::mt19937_64 random(7);
  for (int drawn = 0; drawn < count;) {
    Slicing slicing = lagged->at(random() % lagged->count()).slicing;
    if (slicing.atomic_reductions.empty() == is_exact) {
      continue;
    }
    ++drawn;
    for (InameSlicing& each : slicing.inames) {
      for (SlicingFactor& factor : each.factors) {  // blocks of a few tiles
        factor.length =
            factor.axis.kind == AxisKind::sequential && factor.length > 3 ? 3 : factor.length;
      }
    }
    SCOPED_TRACE(to_string(slicing));
    expect_same_everywhere(apply(kernel, slicing), kernel, small);
  }
}

TEST(LaggedSlicingsOnEveryTarget, KeepCorrelationsOfSeries) {
  expect_listed_to_keep(autocorrelation(), {{"n", 1000000}}, {{"n", 1999}}, 3);
  expect_listed_to_keep(cross_correlations(), {{"nb", 20}, {"n", 100000}}, {{"nb", 2}, {"n", 1501}},
                        4);
}

TEST(LaggedSlicingsOnEveryTarget, KeepIntegersThatBlocksAddAtomically) {
  expect_listed_to_keep(autocorrelation(cgen::i32), {{"n", 1000000}}, {{"n", 1234}}, 3);
}

TEST(LaggedSlicingsOnEveryTarget, KeepLargestValues) {
  expect_listed_to_keep(largest_jumps(), {{"n", 1000000}}, {{"n", 1777}}, 3);
}

TEST(LaggedSlicingsOnEveryTarget, KeepCorrelationsOfImages) {
  expect_listed_to_keep(image_correlation(), {{"m", 1000}, {"n", 1000}}, {{"m", 23}, {"n", 401}},
                        4);
}

}  // namespace
}  // namespace rtcg::loopy
