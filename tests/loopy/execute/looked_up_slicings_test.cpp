// What blocks look up in shared memory are the same numbers.
#include <algorithm>
#include <cstdlib>
#include <random>

#include <gtest/gtest.h>

#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/slice/enumerate_slicings.h"
#include "rtcg/loopy/tune/tune.h"
#include "tests/loopy/execute/on_every_target.h"
#include "tests/loopy/slice/lookups.h"

namespace rtcg::loopy {
namespace {

class LookedUpSlicings : public ::testing::TestWithParam<Lookup> {};

TEST_P(LookedUpSlicings, KeepTheNumbers) {
  const char* wanted = std::getenv("RTCG_SLICINGS_DRAWN");
  const int draws = wanted != nullptr ? std::atoi(wanted) : 3;
  const Kernel kernel = GetParam().of(GetParam().small);
  SlicingConstraints constraints;
  constraints.min_threads = 1;
  constraints.max_threads = 128;
  constraints.max_items_per_thread = 16;
  const SlicingStream stream(kernel, constraints);
  std::mt19937_64 random(1);
  for (int i = 0, tried = 0; i < draws && tried < 1000; ++tried) {
    const Slicing slicing = stream.at(random() % stream.count()).slicing;
    const bool is_looked_up =
        std::any_of(slicing.fetches.begin(), slicing.fetches.end(),
                    [&](const auto& each) { return each.array == GetParam().fetched; });
    if (is_looked_up) {
      SCOPED_TRACE(to_string(slicing));
      // with PoCL 3.1 some tiles lose elements: see Slicings in tune_test.cpp
      expect_same_everywhere(apply(kernel, slicing), kernel, {}, GetParam().options(), "pthread");
      ++i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, LookedUpSlicings, ::testing::ValuesIn(lookups()),
                         [](const auto& info) { return info.param.name; });

TEST(SizesPutIn, AreThoseOfLoopsAndOfShortTables) {
  const Kernel kernel = make_kernel("{[i]: 0 <= i < n}", "out[i] = table[p[i]] + other[q[i]]",
                                    {.arguments = "out: f32[n]; table: f32[nt]; other: f32[no]; "
                                                  "p, q: i32[n]; nt, no: i32"});
  EXPECT_EQ(sizes_put_in(kernel, {{"n", 1000}, {"nt", 256}, {"no", 1000000}, {"unknown", 3}}),
            (IntegerValues{{"n", 1000}, {"nt", 256}}));
}

}  // namespace
}  // namespace rtcg::loopy
