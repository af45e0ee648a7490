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

/// Runs the best candidates in turns until it is clear who is the fastest.
///
/// Each round has one sample of each, so that what slows a machine down for a while slows all down:
/// they are compared by the medians of the ratios within the rounds. Those are slower than the
/// winner whose ratios are above 1 in so many rounds that chance would do that once in forty times;
/// all others are tied with it. Fewer than six rounds cannot tell that: there a candidate is slower
/// only if it takes half as long again in each of them.
struct FinalRound {
  CandidateRunner& runner;
  /// After which no round begins. There is none where one would last longer.
  double seconds = 1;
  /// Nobody wants to wait: what is known from the log alone is not compiled.
  bool is_stopped = false;
  std::stop_token stop{};  ///< ends compiles

  /// @param fine     not empty; sorted by their times at the end, contenders first
  /// @param refused  gets those that turn out not to run after all
  FinalResult operator()(std::vector<Candidate>& fine, std::vector<TunedSlicing>& refused) const;
};

}  // namespace rtcg::loopy
