// Nothing that a stream lists is refused, whatever the class of the kernel.
#include <cstdlib>
#include <random>

#include <gtest/gtest.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/slice/enumerate_slicings.h"
#include "tests/loopy/slice/kernels_to_slice.h"

namespace rtcg::loopy {
namespace {

/// RTCG_SLICINGS_DRAWN=1000 draws so many of each kernel from all that are listed by default.
int wanted_draws() {
  const char* wanted = std::getenv("RTCG_SLICINGS_DRAWN");
  return wanted != nullptr ? std::atoi(wanted) : 0;
}

class SlicingSpace : public ::testing::TestWithParam<KernelToSlice> {};

TEST_P(SlicingSpace, HoldsNothingThatIsRefused) {
  for (const bool is_fixed : {true, false}) {
    const Kernel kernel = is_fixed ? GetParam().of(GetParam().large) : GetParam().kernel();
    SlicingConstraints constraints;
    constraints.parameters = is_fixed ? IntegerValues() : GetParam().large;
    if (wanted_draws() == 0) {
      constraints.max_items_per_thread = 16;  // fewer, so that listing them is quick
    }
    const SlicingStream stream(kernel, constraints);
    ASSERT_GT(stream.count(), 20U);
    std::mt19937_64 random(1);
    for (int i = 0; i < (wanted_draws() != 0 ? wanted_draws() : 20); ++i) {
      const RankedSlicing ranked = stream.at(random() % stream.count());
      try {
        static_cast<void>(generate(apply(kernel, ranked.slicing), Target::cuda));
      } catch (const Error& error) {
        ADD_FAILURE() << to_string(ranked.slicing) << ": " << error.what();
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, SlicingSpace, ::testing::ValuesIn(kernels_to_slice()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace rtcg::loopy
