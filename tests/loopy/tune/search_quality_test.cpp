// How good searches are, on devices that are none: each launch takes what the model says, changed
// by factors of each decision, and of pairs of them, that the model knows nothing of.
#include <gtest/gtest.h>

#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/tune/tune.h"
#include "tests/loopy/tune/fake_runner.h"

namespace rtcg::loopy {
namespace {

/// A device that likes some values of each decision better than others, by up to `spread`.
class Device {
 public:
  Device(const SlicingStream& stream, std::uint64_t number, double spread) {
    for (std::size_t place = 0; place < stream.count(); ++place) {
      double us = stream.predicted_seconds(place) * 1e6;
      const std::vector<std::int64_t> decisions = stream.decisions(place);
      for (std::size_t i = 0; i < decisions.size(); ++i) {
        const auto value = static_cast<std::uint64_t>(decisions[i]);
        const auto next = static_cast<std::uint64_t>(decisions[(i + 1) % decisions.size()]);
        us *= 1 + spread * chance(((number * 64 + i) << 20) + value);
        us *= 1 + 0.2 * spread * chance(((number * 64 + i) << 40) + (value << 20) + next);
      }
      us_.push_back(us);
      best_us_ = std::min(best_us_, us);
      seconds_of_all_ += seconds_of_a_trial + 3e-6 * us;
    }
  }
  [[nodiscard]] double us(std::size_t place) const { return us_[place]; }
  [[nodiscard]] double best_us() const { return best_us_; }
  /// What an exhaustive search takes.
  [[nodiscard]] double seconds_of_all() const { return seconds_of_all_; }

  /// A compile that others hide in part, and the check.
  static constexpr double seconds_of_a_trial = 0.02;

 private:
  /// In [0, 1).
  static double chance(std::uint64_t number) {
    number = (number ^ (number >> 30)) * 0xBF58476D1CE4E5B9ULL;
    number = (number ^ (number >> 27)) * 0x94D049BB133111EBULL;
    return static_cast<double>((number ^ (number >> 31)) >> 40) / static_cast<double>(1 << 24);
  }
  std::vector<double> us_{};
  double best_us_ = 1e300;
  double seconds_of_all_ = 0;
};

struct Quality {
  double best_us = 0;
  double seconds_to_near = -1;  ///< until within 5 % of the best of all
};

Quality quality_of(const SlicingStream& stream, const Device& device, std::size_t trials) {
  Quality quality;
  FakeRunner runner(
      [&](const RankedSlicing& ranked) { return device.us(*stream.find(ranked.slicing)); });
  TuneOptions options;
  options.max_candidates = trials;
  options.budget_seconds = 1e9;
  options.compile_threads = 1;
  options.report = [&](const TuneProgress& progress) {
    const bool is_near = progress.best_us > 0 && progress.best_us <= 1.05 * device.best_us();
    if (is_near && quality.seconds_to_near < 0) {
      quality.seconds_to_near =
          static_cast<double>(progress.tried) * Device::seconds_of_a_trial + progress.seconds;
    }
  };
  quality.best_us = run_search(stream, runner, options).best().microseconds;
  return quality;
}

SlicingStream volume_slicings() {
  return SlicingStream(make_kernel("{[k, i, j]: 0 <= k < 22000 and 0 <= i, j < 128}",
                                   "p[k, i] = sum(j, (g[0, k]*d[0, i, j] + g[1, k]*d[1, i, j] + "
                                   "g[2, k]*d[2, i, j])*u[k, j])",
                                   {.default_type = cgen::f32}),
                       {});
}
SlicingStream all_matmul_slicings() {
  return SlicingStream(
      make_kernel("{[i, j, k]: 0 <= i, j, k < 1024}", "c[i, j] = sum(k, a[i, k]*b[k, j])",
                  {.default_type = cgen::f32}),
      {.min_threads = 128, .max_threads = 256, .max_items_per_thread = 16});
}

// E4: a kernel of the DG method with 128 nodes and 22000 elements.
TEST(SearchQuality, ComesWithinATenthInAHundredTrials) {
  const SlicingStream stream = volume_slicings();
  ASSERT_GT(stream.count(), 10000U);
  for (std::uint64_t number = 0; number < 4; ++number) {
    const Device device(stream, number, 0.1);
    EXPECT_LE(quality_of(stream, device, 100).best_us, 1.1 * device.best_us()) << number;
  }
}

TEST(SearchQuality, NeedsATenthOfTheTimeOfTryingAll) {
  for (const SlicingStream& stream : {volume_slicings(), all_matmul_slicings()}) {
    ASSERT_GT(stream.count(), 10000U);
    for (std::uint64_t number = 0; number < 2; ++number) {
      const Device device(stream, number, 0.3);
      const Quality quality =
          quality_of(stream, device, std::min<std::size_t>(2000, stream.count() / 12));
      ASSERT_GE(quality.seconds_to_near, 0) << "never within 5 %, on device " << number;
      EXPECT_LE(quality.seconds_to_near, 0.1 * device.seconds_of_all()) << number;
    }
  }
}

}  // namespace
}  // namespace rtcg::loopy
