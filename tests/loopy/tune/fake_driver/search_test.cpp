// Searches on a driver that is none: what is done before the first launch.
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/tune/tune.h"
#include "tests/runtime/cuda/fake/fake_device.h"

namespace rtcg::loopy {
namespace {

using SearchOnFakeDriver = runtime::FakeDevice;

// What moves along rows of computed lengths is estimated for names that have no value.
TEST_F(SearchOnFakeDriver, PreparesRowsOfComputedLengths) {
  const Kernel kernel =
      make_kernel("{[s]: 0 <= s < ns} {[k]: begin <= k < end}",
                  "<> begin = first[s] {id=begin}\n"
                  "<> end = first[s + 1] {id=end}\n"
                  "out[s] = sum(k, x[k]) {dep=begin:end}",
                  {.arguments = "x: f32[n]; out: f32[ns]; first: i32[ns + 1]; n: i32"});
  TuneOptions options;
  options.constraints.parameters = {{"ns", 100}, {"n", 1000}};
  options.budget_seconds = 0.05;
  options.max_candidates = 1;
  const TuneResult result = tune(kernel, device(), options);
  EXPECT_GT(result.known, 0U);
}

}  // namespace
}  // namespace rtcg::loopy
