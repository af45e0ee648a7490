#pragma once

#include <atomic>
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/slice/enumerate_slicings.h"
#include "rtcg/loopy/tune/candidate_runner.h"

namespace rtcg::loopy {

/// A device and a clock that are none: each launch takes as long as a formula says, and only
/// launches let time pass.
class FakeRunner : public CandidateRunner {
 public:
  struct Fake : PreparedCandidate {
    RankedSlicing ranked{};
  };
  using Formula = std::function<double(const RankedSlicing&)>;

  explicit FakeRunner(Formula microseconds) : microseconds_(std::move(microseconds)) {}

  Prepared prepare(const RankedCandidate& candidate, const std::stop_token& stop) override {
    const RankedSlicing ranked{candidate, parse_slicing(candidate.words)};
    ++prepared_count;
    if (while_compiling) {
      while_compiling(ranked, stop);
    }
    auto fake = std::make_shared<Fake>();
    fake->ranked = ranked;
    fake->program_hash = program_hash ? program_hash(ranked) : ++last_hash_;
    fake->resources.spill_store_bytes = spilled_bytes ? spilled_bytes(ranked) : 0;
    return fake;
  }
  bool is_judge_ready() override {
    seconds_ += seconds_of_an_answer;
    is_judging = is_judging || !has_judge || has_judge();
    return is_judging;
  }
  void judge_by_what_is_known() override { is_judging = true; }
  [[nodiscard]] int judgement() const override { return judgement_number; }
  std::string check(const PreparedCandidate& candidate) override {
    return is_wrong && is_wrong(ranked_of(candidate)) ? "wrong: c[0] is 1, not 2" : "";
  }
  double time_us(const PreparedCandidate& candidate, int launches) override {
    const RankedSlicing& ranked = ranked_of(candidate);
    const double once = microseconds_(ranked) * (slowdown ? slowdown(seconds_) : 1);
    ++timed[ranked.words];
    seconds_ += seconds_of_a_timing;
    seconds_ += once * launches * 1e-6;
    return once;
  }
  double seconds() const override { return seconds_; }

  std::atomic<int> prepared_count = 0;
  /// How often each slicing was timed.
  std::map<std::string, int> timed{};
  double seconds_of_a_timing = 0;
  /// Whether candidates can be checked, and what an answer costs; empty: always.
  std::function<bool()> has_judge{};
  double seconds_of_an_answer = 0;
  bool is_judging = false;
  int judgement_number = 0;
  /// What the rest of the machine makes of a time, by the clock.
  std::function<double(double seconds)> slowdown{};
  /// Called by the threads that compile.
  std::function<void(const RankedSlicing&, const std::stop_token&)> while_compiling{};
  std::function<std::uint64_t(const RankedSlicing&)> program_hash{};
  std::function<bool(const RankedSlicing&)> is_wrong{};
  std::function<std::size_t(const RankedSlicing&)> spilled_bytes{};

 private:
  static const RankedSlicing& ranked_of(const PreparedCandidate& candidate) {
    return static_cast<const Fake&>(candidate).ranked;
  }
  Formula microseconds_;
  std::atomic<std::uint64_t> last_hash_ = 0;
  std::atomic<double> seconds_ = 0;  // read by the thread that waits
};

/// A landscape with one valley: 256 threads, 16 lanes in the fast direction, tiles of 16, three
/// stages, both arrays fetched. Steps away from it cost more the further they lead.
inline double valley_us(const RankedSlicing& ranked) {
  const auto apart = [](double value, double best) {
    return std::abs(std::log2(std::max(value, 0.5) / best));
  };
  double lanes = 1;
  double depth = 1;
  for (const InameSlicing& each : ranked.slicing.inames) {
    for (const SlicingFactor& factor : each.factors) {
      if (each.iname == "k" && factor.axis.kind == AxisKind::sequential && factor.length != 0) {
        depth = static_cast<double>(factor.length);
      } else if (factor.axis.is_lane()) {
        lanes *= static_cast<double>(factor.length);
      }
    }
  }
  const double steps = apart(static_cast<double>(ranked.threads), 256) + apart(lanes, 16) +
                       apart(depth, 16) + std::abs(static_cast<double>(ranked.slicing.stages) - 3) +
                       std::abs(static_cast<double>(ranked.slicing.fetches.size()) - 2) +
                       (ranked.slicing.swizzle_rows != 0 ? 0.5 : 0);
  return 100 * (1 + 0.3 * steps);
}

}  // namespace rtcg::loopy
