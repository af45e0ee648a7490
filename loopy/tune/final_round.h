#pragma once
// Internal header: it is not installed.

#include <stop_token>
#include <vector>

#include "rtcg/loopy/tune/compile_ahead.h"

namespace rtcg::loopy {

struct FinalResult {
  std::size_t ties = 1;       ///< of the first, the winner included
  std::size_t finalists = 0;  ///< of the first, that ran in turns
};

/// Sorts by the times of the search, and counts those within a fifth of the first.
std::size_t sort_without_final_round(std::vector<Candidate>& fine);

/// Runs the best candidates in turns until it is clear which is the fastest.
///
/// Each round has one sample of each, so a slow phase of the machine affects all: candidates are
/// compared by the medians of the ratios within rounds. A candidate is slower than the winner if
/// its ratios are above 1 in so many rounds that the probability of that by chance is 1/40; all
/// others are tied with the winner. Fewer than six rounds cannot show that: a candidate is then
/// slower only if it takes at least 1.5 times as long in each of them.
struct FinalRound {
  CandidateRunner& runner;
  /// No round begins after this time, or if it would last longer.
  double seconds = 1;
  /// The time is over: candidates with a time from the log are not compiled.
  bool is_stopped = false;
  std::stop_token stop{};  ///< ends compiles

  /// @param fine     not empty; sorted by their times at the end, contenders first
  /// @param refused  gets those that fail to run
  FinalResult operator()(std::vector<Candidate>& fine, std::vector<TunedCandidate>& refused) const;
};

}  // namespace rtcg::loopy
