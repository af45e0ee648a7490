#pragma once

#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>

#include "rtcg/loopy/slice/search_space.h"
#include "rtcg/runtime/compile/compile_request.h"

namespace rtcg::loopy {

/// A candidate that was compiled and loaded.
struct PreparedCandidate {
  virtual ~PreparedCandidate() = default;
  runtime::KernelResources resources{};  ///< of its first launch
  /// Of what runs: equal programs have equal ones.
  std::uint64_t program_hash = 0;
};

/// What a search needs of the world: a device, and a clock. tune() has one for real devices.
class CandidateRunner {
 public:
  using Prepared = std::shared_ptr<const PreparedCandidate>;

  virtual ~CandidateRunner() = default;
  /// Makes what a candidate needs to run, such as arrays. Called once, before all others but
  /// prepare(), while the first candidates are compiled. If it throws, the search ends.
  virtual void begin() {}
  /// Whether check() can decide. The reference may take longer than the first compiles: candidates
  /// are timed meanwhile, and checked later. Called between other calls; it
  /// may launch, but waits for no other thread. If it throws, the search ends.
  [[nodiscard]] virtual bool is_judge_ready() { return true; }
  /// Whether the judge compiles, runs or reads a reference without which nothing can be decided: a
  /// search that has no result yet times candidates meanwhile, also after its budget. Any thread.
  [[nodiscard]] virtual bool is_judge_at_work() const { return false; }
  /// The time is over: from now on check() decides by what is known.
  virtual void judge_by_what_is_known() {}
  /// If the number changes, earlier answers of check() are void.
  [[nodiscard]] virtual int judgement() const { return 0; }
  /// Any thread, several at once. May throw any Error as soon as `stop` is set: the result is then
  /// not needed. @throws Error  the candidate is refused
  [[nodiscard]] virtual Prepared prepare(const RankedCandidate& ranked,
                                         const std::stop_token& stop) = 0;
  /// Empty, or how the results differ from the reference's. Only after is_judge_ready().
  /// @throws Error  it is refused
  [[nodiscard]] virtual std::string check(const PreparedCandidate& candidate) = 0;
  /// Mean of this number of launches. @throws Error  it is refused
  [[nodiscard]] virtual double time_us(const PreparedCandidate& candidate, int launches) = 0;
  /// Share of a run that time_us() runs, to tell by it what all of the run takes.
  [[nodiscard]] virtual double timed_share() const { return 1; }
  /// Whether candidates run on the cores that compile: then none is compiled while one is timed.
  [[nodiscard]] virtual bool shares_cores() const { return false; }
  /// Since the search began.
  [[nodiscard]] virtual double seconds() const = 0;
};

}  // namespace rtcg::loopy
