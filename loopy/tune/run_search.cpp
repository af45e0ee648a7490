// The search itself: compiles ahead, checks, times, and settles who is the fastest.
#include "rtcg/loopy/tune/run_search.h"

#include <algorithm>
#include <unordered_map>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/tune/candidate_runner.h"
#include "rtcg/loopy/tune/compile_ahead.h"
#include "rtcg/loopy/tune/final_round.h"
#include "rtcg/loopy/tune/tune_log.h"

namespace rtcg::loopy {
namespace {

/// Of one launch.
struct Timing {
  double median_us = 0;
  double least_us = 0;
};

/// Stops when it is clear that it is three times `best_us`.
Timing time_candidate(CandidateRunner& runner, const PreparedCandidate& candidate, double best_us) {
  double once = runner.time_us(candidate, 1);
  // long launches differ little from one to the next
  const double hopeless = once > 1000 ? 1.3 : 3;
  const auto is_hopeless = [&] { return best_us > 0 && once > hopeless * best_us + 20; };
  if (is_hopeless() && once < 2 * hopeless * best_us) {
    once = std::min(once, runner.time_us(candidate, 1));  // another program may have been running
  }
  // a long launch differs little from the next one, and the budget is not for repeating it
  constexpr double long_launch_us = 2e5;
  if (is_hopeless() || once > long_launch_us) {
    return {once, once};
  }
  const int launches = std::clamp(static_cast<int>(300 / std::max(once, 1.0)), 1, 50);
  std::vector<double> times;
  double spent = 0;
  while (times.size() < 3 || (times.size() < 9 && spent < 15e3)) {
    times.push_back(runner.time_us(candidate, launches));
    spent += times.back() * launches;
    // three times slower is out; 1.5 times slower is not a contender and needs no more samples
    const double least = *std::min_element(times.begin(), times.end());
    if (best_us > 0 && (least > 3 * best_us || (times.size() >= 3 && least > 1.5 * best_us))) {
      break;
    }
  }
  std::sort(times.begin(), times.end());
  return {times[times.size() / 2], times.front()};
}

/// What a device says of a candidate.
struct Measured {
  std::string refusal{};
  Timing timing{};
};

void check_and_time(CandidateRunner& runner, const PreparedCandidate& prepared, double best_us,
                    Measured& measured) {
  // the check is a launch too: slow candidates without a chance skip it
  if (best_us > 1000) {
    const double once = runner.time_us(prepared, 1);
    if (once > 3 * best_us) {
      measured.timing = {once, once};
      return;
    }
  }
  measured.refusal = runner.check(prepared);
  if (measured.refusal.empty()) {
    measured.timing = time_candidate(runner, prepared, best_us);
  }
}

/// The final round of copies, which a thread that is left may keep.
struct Final {
  std::vector<Candidate> fine{};
  std::vector<TunedCandidate> refused{};
  FinalResult result{};
  std::stop_source stop{};
};

class SearchRun {
 public:
  SearchRun(const SearchSpace& space, std::unique_ptr<Search> search,
            std::shared_ptr<CandidateRunner> runner, const SearchOptions& options,
            const std::string& log_key, LeavableThread* device_thread)
      : space_(space),
        kept_(std::move(runner)),
        runner_(*kept_),
        options_(options),
        device_thread_(device_thread),
        search_(std::move(search)),
        log_(options.log, log_key) {
    progress_.known = space.count();
  }

  SearchResult run() {
    {
      CompileAhead ahead(
          space_, kept_, options_, *search_, log_,
          device_thread_ == nullptr ? CompileAhead::AtEnd::wait : CompileAhead::AtEnd::leave);
      if (const std::function<void()> begin = runner_.beginning()) {
        ahead.start();
        if (!on_device([runner = kept_, begin] { begin(); }, [this] { return is_given_up(); })) {
          is_left_at_beginning_ = true;
          return finish();
        }
      }
      // making the stream may have taken the whole budget
      while (!is_over() || (progress_.tried == 0 && !is_cancelled_)) {
        std::optional<Candidate> candidate =
            ahead.next(progress_.best_us, [this] { return is_given_up(); });
        if (!candidate) {
          break;
        }
        const double best_before = progress_.best_us;
        if (!measure(*candidate)) {
          break;
        }
        take(std::move(*candidate), ahead.waiting());
        if (progress_.best_us != best_before) {
          ahead.drop_beaten(progress_.best_us);
        }
      }
    }
    return finish();
  }

 private:
  bool is_over() {
    return ask_whether_cancelled() ||
           runner_.seconds() >= options_.budget_seconds - final_seconds() ||
           progress_.expected_gain < options_.min_expected_gain;
  }
  bool ask_whether_cancelled() {
    is_cancelled_ = is_cancelled_ || (options_.is_cancelled && options_.is_cancelled());
    return is_cancelled_;
  }
  [[nodiscard]] double final_seconds() const { return 0.1 * options_.budget_seconds; }
  /// Improvements become rarer: as many further candidates are expected to gain at most as much as
  /// the second half of the tried ones.
  [[nodiscard]] double expected_gain() const {
    constexpr std::size_t least_candidates = 32;
    const std::size_t count = best_us_.size();
    if (count < least_candidates || best_us_[(count - 1) / 2] == 0) {
      return 1;
    }
    return 1 - best_us_.back() / best_us_[(count - 1) / 2];
  }
  /// In the middle of a compile: something has to be known at the end of the budget.
  bool is_given_up() {
    constexpr double patience_seconds = 1.5;
    return is_over() && (is_cancelled_ || progress_.best_us > 0 ||
                         (device_thread_ != nullptr &&
                          runner_.seconds() >= options_.budget_seconds + patience_seconds));
  }

  /// On the thread that may be left, if there is one. False: it was.
  bool on_device(std::function<void()> task, const std::function<bool()>& is_given_up) {
    if (device_thread_ != nullptr) {
      return !device_thread_->is_left() && device_thread_->run(std::move(task), is_given_up);
    }
    task();
    return true;
  }

  /// False: the search ended before anything was known of the candidate.
  bool measure(Candidate& candidate) {
    TunedCandidate& tuned = candidate.tuned;
    if (candidate.is_resumed) {
      return true;
    }
    if (tuned.refusal.empty() && !run_on_device(candidate)) {
      return false;
    }
    log_.add(tuned);
    return true;
  }

  bool run_on_device(Candidate& candidate) {
    const auto [same, is_new] = times_.try_emplace(candidate.prepared->program_hash);
    if (!is_new) {
      candidate.tuned.microseconds = same->second.median_us;
      candidate.least_us = same->second.least_us;
      candidate.tuned.refusal =
          same->second.median_us == 0 ? "the same program as another that is wrong" : "";
      return true;
    }
    const auto measured = std::make_shared<Measured>();
    const auto task = [runner = kept_, prepared = candidate.prepared, measured,
                       best_us = progress_.best_us] {
      try {
        check_and_time(*runner, *prepared, best_us, *measured);
      } catch (const Error& error) {
        measured->refusal = error.what();
        measured->timing = {};
      }
    };
    if (!on_device(task, [this] { return is_given_up(); })) {
      return false;
    }
    same->second = measured->timing;
    candidate.tuned.refusal = measured->refusal;
    candidate.tuned.microseconds = measured->timing.median_us;
    candidate.least_us = measured->timing.least_us;
    return true;
  }

  void take(Candidate candidate, std::size_t waiting) {
    const TunedCandidate& tuned = candidate.tuned;
    const bool is_fine = tuned.refusal.empty();
    search_->learn(candidate.place, is_fine ? std::optional(tuned.microseconds) : std::nullopt);
    if (progress_.tried++ == 0) {
      first_seconds_ = runner_.seconds();
    }
    progress_.resumed += candidate.is_resumed ? 1 : 0;
    progress_.compiled = progress_.tried + waiting;
    if (is_fine && (progress_.best_us == 0 || tuned.microseconds < progress_.best_us)) {
      progress_.best_us = tuned.microseconds;
      progress_.best = tuned.words;
    }
    if (!is_fine) {
      refused_.push_back(std::move(candidate.tuned));
    } else {
      if (candidate.least_us > 1.5 * progress_.best_us) {
        candidate.prepared.reset();  // unloads what will not be run again
      }
      fine_.push_back(std::move(candidate));
    }
    best_us_.push_back(progress_.best_us);
    progress_.expected_gain = expected_gain();
    report();
  }

  SearchResult finish() {
    SearchResult result;
    result.known = space_.count();
    result.resumed = progress_.resumed;
    result.expected_gain = progress_.expected_gain;
    result.first_seconds = first_seconds_;
    result.cache = options_.cache;
    if (!fine_.empty()) {
      run_final_round(result);
    } else if (refused_.empty() && space_.count() > 0 && is_over()) {
      result.ended_while = is_left_at_beginning_ ? "while it made the reference"
                                                 : "before a first candidate was timed";
    }
    for (Candidate& each : fine_) {
      result.tried.push_back(std::move(each.tuned));
    }
    result.tried.insert(result.tried.end(), std::make_move_iterator(refused_.begin()),
                        std::make_move_iterator(refused_.end()));
    result.seconds = runner_.seconds();
    return result;
  }

  void run_final_round(SearchResult& result) {
    progress_.doing = "comparing the fastest";
    report();
    constexpr double patience = 0.3;  // of those who stopped the search
    const bool is_stopped = ask_whether_cancelled();
    const auto final = std::make_shared<Final>(Final{fine_, refused_, {}, {}});
    const double seconds = is_stopped ? patience : final_seconds();
    const auto task = [runner = kept_, final, seconds, is_stopped] {
      final->result = FinalRound{*runner, seconds, is_stopped, final->stop.get_token()}(
          final->fine, final->refused);
    };
    const double begin = runner_.seconds();
    const double most = is_stopped ? 2 * patience : seconds + 1.5;
    const bool is_done = on_device(task, [&] {
      return runner_.seconds() - begin > most || (!is_stopped && ask_whether_cancelled());
    });
    if (is_done) {
      fine_ = std::move(final->fine);
      refused_ = std::move(final->refused);
      result.ties = final->result.ties;
      result.finalists = final->result.finalists;
    } else {
      final->stop.request_stop();
      result.ties = sort_without_final_round(fine_);
    }
  }

  void report() {
    progress_.seconds = runner_.seconds();
    progress_.seconds_left = std::max(0.0, options_.budget_seconds - progress_.seconds);
    if (options_.report) {
      options_.report(progress_);
    }
  }

  const SearchSpace& space_;
  std::shared_ptr<CandidateRunner> kept_;
  CandidateRunner& runner_;
  const SearchOptions& options_;
  LeavableThread* device_thread_;  // null: the caller's
  std::unique_ptr<Search> search_;
  TuneLog log_;
  TuneProgress progress_{};
  std::vector<double> best_us_{};  ///< after each candidate; 0: none yet
  bool is_cancelled_ = false;
  bool is_left_at_beginning_ = false;
  double first_seconds_ = 0;
  /// Of each program that ran; 0: it gave wrong results.
  std::unordered_map<std::uint64_t, Timing> times_{};
  std::vector<Candidate> fine_{};
  std::vector<TunedCandidate> refused_{};
};

}  // namespace

void throw_nothing_works(const SearchSummary& summary, std::size_t tried,
                         const std::string& first_refusal) {
  throw Unsupported(
      "loopy.tune.nothing_works",
      !summary.ended_while.empty()
          ? fmt::format("the search ended after {:.1f} s, {}: give it more time, or smaller sizes",
                        summary.seconds, summary.ended_while)
          : fmt::format(
                "all {} candidates fail: {}", tried,
                tried == 0 ? "constraints and budget leave none to be tried" : first_refusal));
}

const TunedCandidate& SearchResult::best() const {
  if (tried.empty() || !tried.front().refusal.empty()) {
    throw_nothing_works(*this, tried.size(), tried.empty() ? "" : tried.front().refusal);
  }
  return tried.front();
}

SearchResult run_search(const SearchSpace& space, std::unique_ptr<Search> search,
                        std::shared_ptr<CandidateRunner> runner, const SearchOptions& options,
                        const std::string& log_key, LeavableThread* device_thread) {
  return SearchRun(space, std::move(search), std::move(runner), options, log_key, device_thread)
      .run();
}

}  // namespace rtcg::loopy
