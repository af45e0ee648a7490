#pragma once
// Internal header: it is not installed.

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "rtcg/loopy/tune/candidate_runner.h"
#include "rtcg/loopy/tune/tune.h"
#include "rtcg/loopy/tune/tune_log.h"

namespace rtcg::loopy {

/// A candidate that was compiled, was refused, or is known from the log.
struct Candidate {
  std::size_t place = 0;
  TunedCandidate tuned{};
  CandidateRunner::Prepared prepared{};
  bool is_resumed = false;
  /// The least of its samples: of a few samples, one is usually free of what a busy machine adds.
  double least_us = 0;
  /// Timed only roughly, since another one takes so much less.
  bool is_hopeless = false;
  bool is_judged = false;  ///< or refused, or known from the log
  int judgement = 0;       ///< CandidateRunner::judgement() at that time
};

/// Compiles ahead with several threads, and delivers candidates in the order of the search; but
/// while the next one takes long to compile, others that are compiled are delivered before it. If
/// candidates run on the cores that compile, a batch of one candidate per thread is compiled and
/// then delivered: nothing is compiled while the caller runs one. Candidates that are no longer
/// needed leave the queue; running compiles are stopped and their results dropped. For one thread.
class CompileAhead {
 public:
  /// What the end does with compiles that go on.
  enum class AtEnd {
    wait,   ///< for them
    leave,  ///< they finish in the background, and keep the runner until then
  };

  CompileAhead(const SearchSpace& space, std::shared_ptr<CandidateRunner> runner,
               const SearchOptions& options, Search& search, const TuneLog& log, AtEnd at_end);
  ~CompileAhead();
  CompileAhead(const CompileAhead&) = delete;
  CompileAhead& operator=(const CompileAhead&) = delete;

  /// Begins to compile before a first one is asked for.
  void start();
  /// The next one; nothing at the end of the search, or when `is_over` says so while it compiles.
  ///
  /// @param best_us  of all so far; what cannot be half as fast even in theory is refused without
  ///                 being compiled. 0: none yet
  [[nodiscard]] std::optional<Candidate> next(double best_us, const std::function<bool()>& is_over);
  /// One of those that threads compile or have compiled, and that are predicted to take less than
  /// half of `best_us`; nothing where there is none, or when `is_over` says so.
  [[nodiscard]] std::optional<Candidate> next_promising(double best_us,
                                                        const std::function<bool()>& is_over);
  /// Stops what the new best one leaves no chance.
  void drop_beaten(double best_us);
  /// Destroys candidates that were not handed over on a thread of its own, since unloading waits
  /// for a launch that was left. The end of the search.
  void leave_rest();
  /// Given by the search and not yet handed over.
  [[nodiscard]] std::size_t waiting() const { return open_.size(); }

 private:
  struct Job;
  struct Queue;
  static void work(const std::shared_ptr<Queue>& queue,
                   const std::shared_ptr<CandidateRunner>& runner);
  void fill(double best_us);
  [[nodiscard]] bool is_ready(const Job& first) const;
  /// Takes one that has been compiled; null where there is none, or candidates run on the cores
  /// that compile.
  [[nodiscard]] std::shared_ptr<Job> take_quickest();
  static bool is_compiled(const std::shared_ptr<Job>& job);

  const SearchSpace& space_;
  const SearchOptions& options_;
  Search& search_;
  const TuneLog& log_;
  AtEnd at_end_;
  std::size_t depth_ = 1;
  bool shares_cores_;
  std::size_t given_ = 0;
  /// Since when the first of those that are open is waited for.
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::shared_ptr<Queue> queue_;
  std::vector<std::thread> threads_{};
  std::deque<std::shared_ptr<Job>> open_{};
};

}  // namespace rtcg::loopy
