#pragma once

#include <vector>

#include "rtcg/loopy/tune/compile_ahead.h"

namespace rtcg::loopy {

/// Runs the best candidates in turns until it is clear who is the fastest. Internal to tune.
///
/// Each round has one sample of each, so that what slows a machine down for a while slows all down:
/// they are compared by the medians of the ratios within the rounds. Those are slower than the
/// winner whose ratios are above 1 in so many rounds that chance would do that once in forty times;
/// all others are tied with it.
struct FinalRound {
  CandidateRunner& runner;
  /// After which no round begins but the first.
  double seconds = 1;
  /// Nobody wants to wait: there is no round where one would last longer than `seconds`, and what
  /// is known from the log alone is not compiled.
  bool is_stopped = false;

  /// @param fine     not empty; sorted by their times at the end, contenders first
  /// @param refused  gets those that turn out not to run after all
  /// @returns how many of the first are tied, the winner included
  std::size_t operator()(std::vector<Candidate>& fine, std::vector<TunedSlicing>& refused) const;
};

}  // namespace rtcg::loopy
