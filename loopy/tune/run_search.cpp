// The search itself: compiles ahead, checks, times, and settles who is the fastest.
#include "rtcg/loopy/tune/run_search.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <thread>
#include <unordered_map>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/tune/candidate_runner.h"
#include "rtcg/loopy/tune/compile_ahead.h"
#include "rtcg/loopy/tune/final_round.h"
#include "rtcg/loopy/tune/tune_log.h"

namespace rtcg::loopy {
namespace {

/// Longer budgets have compiled what they begin with before they end.
constexpr double longest_short_seconds = 5;
/// After the budget, for a judge that is at work while nothing is known.
constexpr double patience_for_judgement_seconds = 3;

/// Of one launch.
struct Timing {
  double median_us = 0;
  double least_us = 0;
  bool is_hopeless = false;
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
    return {once, once, is_hopeless()};
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
  return {times[times.size() / 2], times.front(), best_us > 0 && times.front() > 1.5 * best_us};
}

/// What a device says of a program.
struct Measured {
  std::string refusal{};
  Timing timing{};
  bool is_judged = false;
  int judgement = 0;  ///< CandidateRunner::judgement() then

  /// The check is a launch too: slow candidates without a chance skip it.
  [[nodiscard]] bool needs_no_check(double best_us) const {
    return best_us > 1000 && timing.median_us > 3 * best_us;
  }
};

void check(CandidateRunner& runner, const PreparedCandidate& prepared, Measured& measured) {
  try {
    measured.refusal = runner.check(prepared);
  } catch (const Error& error) {
    measured.refusal = error.what();
  }
  measured.is_judged = true;
  measured.judgement = runner.judgement();
}

void time(CandidateRunner& runner, const PreparedCandidate& prepared, double best_us,
          Measured& measured) {
  try {
    measured.timing = time_candidate(runner, prepared, best_us);
  } catch (const Error& error) {
    measured = {error.what(), {}, true, 0};
  }
}

void check_and_time(CandidateRunner& runner, const PreparedCandidate& prepared, double best_us,
                    Measured& measured) {
  try {
    if (best_us > 1000) {
      const double once = runner.time_us(prepared, 1);
      measured.timing = {once, once, true};
      if (measured.needs_no_check(best_us)) {
        measured.is_judged = true;
        return;
      }
    }
  } catch (const Error& error) {
    measured = {error.what(), {}, true, 0};
    return;
  }
  check(runner, prepared, measured);
  if (measured.refusal.empty()) {
    time(runner, prepared, best_us, measured);
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
      ahead.start();
      has_begun_ =
          on_device([runner = kept_] { runner->begin(); }, [this] { return is_given_up(); });
      wait_where_cores_are_shared();
      // making the stream may have taken the whole budget
      while (has_begun_ && !is_at_end()) {
        const bool goes_on = take_next(ahead, ahead.next(progress_.best_us, [this] {
          ask_judge();
          return is_compile_given_up();
        }));
        if (!goes_on) {
          break;
        }
      }
      take_promising(ahead);
      if (is_left()) {
        ahead.leave_rest();
      }
    }
    // the final round checks what is known from the log
    if (!timed_.empty() || (!is_judge_ready_ && !fine_.empty())) {
      wait_for_judge();
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
  /// In the middle of a compile or a launch: something has to be known at the end of the budget.
  bool is_given_up() {
    return is_over() && (is_cancelled_ || progress_.best_us > 0 ||
                         (device_thread_ != nullptr && is_first_given_up()));
  }
  /// The same for what is timed and not judged yet.
  bool is_compile_given_up() {
    return is_given_up() || (best_of_timed() > 0 && is_over() && !waits_for_first_judgement());
  }
  [[nodiscard]] bool waits_for_first_judgement() const {
    return !is_judge_ready_ && progress_.best_us == 0 && runner_.is_judge_at_work() &&
           device_thread_ != nullptr && !is_cancelled_ &&
           runner_.seconds() < options_.budget_seconds + patience_for_judgement_seconds;
  }
  [[nodiscard]] bool is_first_given_up() const {
    return runner_.seconds() >= options_.budget_seconds + patience_for_first_seconds;
  }
  /// Whether the budget is over, and there is a result or the time to wait for one is over as well.
  bool is_at_end() {
    return is_over() && !waits_for_first_judgement() &&
           (is_cancelled_ || best_of_timed() > 0 || is_first_given_up());
  }

  /// On the thread that may be left, if there is one. False: it was.
  bool on_device(std::function<void()> task, const std::function<bool()>& is_given_up) {
    if (device_thread_ != nullptr) {
      return !device_thread_->is_left() && device_thread_->run(std::move(task), is_given_up);
    }
    task();
    return true;
  }

  /// Programs that compute on the cores of the judge are not timed meanwhile, if that is soon over.
  void wait_where_cores_are_shared() {
    constexpr double most_of_budget = 0.3;
    while (runner_.shares_cores() && !is_judge_ready_ && !is_over() && !is_left() &&
           runner_.seconds() < most_of_budget * options_.budget_seconds) {
      ask_judge();
      wait_a_moment();
    }
  }
  [[nodiscard]] bool is_left() const {
    return device_thread_ != nullptr && device_thread_->is_left();
  }
  /// Measures and judges it. False: the search is over.
  bool take_next(CompileAhead& ahead, std::optional<Candidate> candidate) {
    ask_judge();
    if (!candidate || !measure(*candidate)) {
      return false;
    }
    if (first_seconds_ == 0) {
      first_seconds_ = runner_.seconds();
    }
    timed_.push_back(std::move(*candidate));
    ask_judge();
    const double best_before = progress_.best_us;
    if (is_judge_ready_ && !judge_timed([this] { return is_given_up(); })) {
      return false;
    }
    take_timed(ahead.waiting());
    if (progress_.best_us != best_before) {
      ahead.drop_beaten(progress_.best_us);
    }
    return true;
  }
  /// After the budget: those that are nearly compiled and promise much more than what was found,
  /// which usually is a plain one that compiles at once. As long again as the budget, at most.
  void take_promising(CompileAhead& ahead) {
    const double end = 2 * options_.budget_seconds;
    const auto is_too_late = [&] {
      ask_judge();
      return ask_whether_cancelled() || runner_.seconds() >= end;
    };
    bool goes_on = has_begun_ && !is_left() && best_of_timed() > 0 &&
                   options_.budget_seconds < longest_short_seconds;
    while (goes_on && !is_too_late()) {
      goes_on = take_next(ahead, ahead.next_promising(best_of_timed(), is_too_late));
    }
  }
  static void wait_a_moment() { std::this_thread::sleep_for(std::chrono::milliseconds(2)); }

  void ask_judge() {
    if (is_judge_ready_ || is_left()) {
      return;
    }
    const auto answer = std::make_shared<bool>(false);
    const bool is_done = on_device([runner = kept_, answer] { *answer = runner->is_judge_ready(); },
                                   [this] { return is_given_up(); });
    is_judge_ready_ = is_done && *answer;
  }

  /// False: the search ended before anything was known of the candidate.
  bool measure(Candidate& candidate) {
    candidate.is_judged = candidate.is_resumed || !candidate.tuned.refusal.empty();
    if (candidate.is_judged) {
      return true;
    }
    const auto [same, is_new] = measured_.try_emplace(candidate.prepared->program_hash);
    if (is_new) {
      const auto measured = std::make_shared<Measured>();
      const auto task = [runner = kept_, prepared = candidate.prepared, measured,
                         is_judge_ready = is_judge_ready_ && timed_.empty(),
                         best_us = best_of_timed()] {
        if (is_judge_ready) {
          check_and_time(*runner, *prepared, best_us, *measured);
        } else {
          time(*runner, *prepared, best_us, *measured);
        }
      };
      if (!on_device(task, [this] { return is_given_up(); })) {
        return false;
      }
      same->second = *measured;
    }
    note(candidate, same->second, is_new);
    return true;
  }

  static void note(Candidate& candidate, const Measured& measured, bool is_first) {
    candidate.tuned.microseconds = measured.timing.median_us;
    candidate.least_us = measured.timing.least_us;
    candidate.is_hopeless = measured.timing.is_hopeless;
    candidate.is_judged = measured.is_judged;
    candidate.judgement = measured.judgement;
    candidate.tuned.refusal = measured.refusal.empty() || is_first
                                  ? measured.refusal
                                  : "the same program as another that is wrong";
    if (!candidate.tuned.refusal.empty()) {
      candidate.tuned.microseconds = 0;
      candidate.least_us = 0;
    }
  }

  /// Of those that are right, and of those that may be.
  [[nodiscard]] double best_of_timed() const {
    double best_us = progress_.best_us;
    for (const Candidate& each : timed_) {
      const double us = each.tuned.microseconds;
      best_us = us > 0 && (best_us == 0 || us < best_us) ? us : best_us;
    }
    return best_us;
  }

  /// Judges those that were timed before the judge was ready, the fastest first. False: given up.
  bool judge_timed(const std::function<bool()>& is_given_up) {
    std::vector<Candidate*> open;
    for (Candidate& each : timed_) {
      if (!each.is_judged) {
        open.push_back(&each);
      }
    }
    std::stable_sort(open.begin(), open.end(), [](const Candidate* a, const Candidate* b) {
      return a->tuned.microseconds < b->tuned.microseconds;
    });
    bool is_one_wrong = false;
    double best_us = progress_.best_us;
    const auto is_late = [&] {
      return is_given_up() && (best_us > 0 || is_cancelled_ || is_first_given_up());
    };
    for (Candidate* each : open) {
      Measured& known = measured_.at(each->prepared->program_hash);
      const bool is_first = !known.is_judged;
      const bool is_enough = best_us > 0 && is_given_up();
      if (is_first && (is_enough || !judge(*each, known, best_us, is_late))) {
        return false;
      }
      note(*each, known, is_first);
      is_one_wrong = is_one_wrong || !known.refusal.empty();
      const double us = each->tuned.microseconds;
      best_us = us > 0 && (best_us == 0 || us < best_us) ? us : best_us;
    }
    // some seemed hopeless next to a wrong one
    for (Candidate* each : is_one_wrong ? open : std::vector<Candidate*>()) {
      if (each->is_hopeless && each->tuned.refusal.empty() &&
          each->tuned.microseconds < 3 * best_us && !time_again(*each, best_us, is_given_up)) {
        return false;
      }
    }
    return true;
  }

  bool judge(const Candidate& candidate, Measured& known, double best_us,
             const std::function<bool()>& is_given_up) {
    if (known.needs_no_check(best_us)) {
      known.is_judged = true;
      return true;
    }
    const auto measured = std::make_shared<Measured>(known);
    const bool is_done = on_device([runner = kept_, prepared = candidate.prepared,
                                    measured] { check(*runner, *prepared, *measured); },
                                   is_given_up);
    known = is_done ? *measured : known;
    return is_done;
  }

  bool time_again(Candidate& candidate, double best_us, const std::function<bool()>& is_given_up) {
    const auto measured =
        std::make_shared<Measured>(measured_.at(candidate.prepared->program_hash));
    const bool is_done = on_device([runner = kept_, prepared = candidate.prepared, measured,
                                    best_us] { time(*runner, *prepared, best_us, *measured); },
                                   is_given_up);
    if (is_done) {
      measured_.at(candidate.prepared->program_hash) = *measured;
      note(candidate, *measured, true);
    }
    return is_done;
  }

  /// Those before the first that is not judged, in the order of the search.
  void take_timed(std::size_t waiting) {
    while (!timed_.empty() && timed_.front().is_judged) {
      if (!timed_.front().is_resumed) {
        log_.add(timed_.front().tuned);
      }
      take(std::move(timed_.front()), waiting);
      timed_.pop_front();
    }
  }

  /// After the search: the judge gets a moment more, then decides by what is known.
  void wait_for_judge() {
    progress_.doing = "judging results";
    report();
    constexpr double patience = 0.8;
    const double begin = runner_.seconds();
    const double end =
        is_cancelled_ ? begin + 0.3 : std::max(begin, options_.budget_seconds) + patience;
    while (!is_judge_ready_ && !is_left() &&
           (runner_.seconds() <= end || waits_for_first_judgement())) {
      ask_judge();
      wait_a_moment();
    }
    if (!is_judge_ready_) {
      const double last = std::max(end, runner_.seconds()) + patience;
      is_judge_ready_ =
          on_device([runner = kept_] { runner->judge_by_what_is_known(); },
                    [&] {
                      return runner_.seconds() > last &&
                             (is_cancelled_ || progress_.best_us > 0 || is_first_given_up());
                    });
    }
    if (is_judge_ready_ && !timed_.empty()) {
      static_cast<void>(judge_timed([&] { return runner_.seconds() > end; }));
    }
    judging_seconds_ = runner_.seconds() - begin;
    std::erase_if(timed_, [](const Candidate& each) { return !each.is_judged; });
    take_timed(0);
  }

  void take(Candidate candidate, std::size_t waiting) {
    const TunedCandidate& tuned = candidate.tuned;
    const bool is_fine = tuned.refusal.empty();
    search_->learn(candidate.place, is_fine ? std::optional(tuned.microseconds) : std::nullopt);
    ++progress_.tried;
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

  /// What was compared with a reference that turned out to be wrong is compared with another one.
  void judge_again() {
    const int judgement = runner_.judgement();
    std::stable_sort(fine_.begin(), fine_.end(), [](const Candidate& a, const Candidate& b) {
      return a.least_us < b.least_us;
    });
    for (Candidate& each : fine_) {
      if (each.prepared == nullptr || each.judgement == judgement) {
        continue;
      }
      const auto measured = std::make_shared<Measured>();
      if (!on_device([runner = kept_, prepared = each.prepared,
                      measured] { check(*runner, *prepared, *measured); },
                     [this] { return is_given_up(); })) {
        measured->refusal = "compared with a reference that turned out to be wrong";
      }
      each.tuned.refusal = measured->refusal;
      if (!each.tuned.refusal.empty()) {
        refused_.push_back(std::move(each.tuned));
        refused_.back().microseconds = 0;
        each.place = SIZE_MAX;
      }
    }
    std::erase_if(fine_, [](const Candidate& each) { return each.place == SIZE_MAX; });
  }

  SearchResult finish() {
    if (runner_.judgement() != 0) {
      judge_again();
    }
    SearchResult result;
    result.known = space_.count();
    result.resumed = progress_.resumed;
    result.expected_gain = progress_.expected_gain;
    result.first_seconds = first_seconds_;
    result.cache = options_.cache;
    if (!fine_.empty()) {
      run_final_round(result);
    } else if (refused_.empty() && space_.count() > 0 && is_over()) {
      result.ended_while = !has_begun_          ? "while it made arrays"
                           : first_seconds_ > 0 ? "before the results of any candidate were judged"
                                                : "before a first candidate was timed";
    }
    for (Candidate& each : fine_) {
      result.tried.push_back(std::move(each.tuned));
    }
    result.tried.insert(result.tried.end(), std::make_move_iterator(refused_.begin()),
                        std::make_move_iterator(refused_.end()));
    if (is_left()) {
      destroy_aside(std::pair(std::move(fine_), std::move(timed_)));
    }
    result.seconds = runner_.seconds();
    return result;
  }

  void run_final_round(SearchResult& result) {
    progress_.doing = "comparing the fastest";
    report();
    constexpr double patience = 0.3;  // of those who stopped the search
    const bool is_stopped = ask_whether_cancelled();
    const auto final = std::make_shared<Final>(Final{fine_, refused_, {}, {}});
    const double seconds =
        is_stopped ? patience : std::max(0.3 * final_seconds(), final_seconds() - judging_seconds_);
    const auto task = [runner = kept_, final, seconds, is_stopped] {
      final->result = FinalRound{*runner, seconds, is_stopped, final->stop.get_token()}(
          final->fine, final->refused);
    };
    const double begin = runner_.seconds();
    const double most = is_stopped ? 2 * patience : seconds + 1.5;
    const bool is_done =
        is_judge_ready_ && on_device(task, [&] {
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
  bool is_judge_ready_ = false;
  double judging_seconds_ = 0;  ///< after the search
  bool has_begun_ = false;
  double first_seconds_ = 0;
  /// By hashes of programs.
  std::unordered_map<std::uint64_t, Measured> measured_{};
  /// And not taken yet: the first of them is not judged.
  std::deque<Candidate> timed_{};
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
      : tried == 0 ? std::string("constraints and budget leave none to be tried")
      : tried == 1 ? fmt::format("the only candidate fails: {}", first_refusal)
                   : fmt::format("all {} candidates fail: {}", tried, first_refusal));
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
