// Slicings from the whole space of a kernel keep its numbers.
#include <cstdlib>
#include <random>

#include <gtest/gtest.h>

#include "rtcg/loopy/slice/enumerate_slicings.h"
#include "tests/loopy/execute/on_every_target.h"
#include "tests/loopy/slice/kernels_to_slice.h"

namespace rtcg::loopy {
namespace {

class SlicingsOfClasses : public ::testing::TestWithParam<KernelToSlice> {};

TEST_P(SlicingsOfClasses, KeepTheNumbers) {
  const char* wanted = std::getenv("RTCG_SLICINGS_DRAWN");
  const int draws = wanted != nullptr ? std::atoi(wanted) : 2;
  const Kernel kernel = GetParam().of(GetParam().small);
  SlicingConstraints constraints;
  constraints.min_threads = 1;
  constraints.max_threads = 128;
  constraints.max_items_per_thread = 16;
  const SlicingStream stream(kernel, constraints);
  ASSERT_GT(stream.count(), 20U);
  CompareOptions options;
  if (GetParam().name == "gather") {
    for (int i = 0; i < GetParam().small.at("n"); ++i) {
      options.values["p"].push_back(i * 7 % 19);
    }
  }
  std::mt19937_64 random(1);
  for (int i = 0; i < draws; ++i) {
    const Slicing slicing = stream.at(random() % stream.count()).slicing;
    SCOPED_TRACE(to_string(slicing));
    // with PoCL 3.1 some tiles lose elements: see Slicings in tune_test.cpp
    expect_same_everywhere(apply(kernel, slicing), kernel, {}, options,
                           slicing.fetches.empty() ? "" : "pthread");
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, SlicingsOfClasses, ::testing::ValuesIn(kernels_to_slice()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace rtcg::loopy
