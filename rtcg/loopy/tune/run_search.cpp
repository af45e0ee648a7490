// The search itself: compiles ahead, checks, times, and settles who is the fastest.
#include <algorithm>
#include <deque>
#include <future>
#include <thread>
#include <unordered_map>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/tune/candidate_runner.h"
#include "rtcg/loopy/tune/tune.h"
#include "rtcg/loopy/tune/tune_log.h"

namespace rtcg::loopy {
namespace {

using Prepared = CandidateRunner::Prepared;

/// A candidate that is being compiled, was, or is known from the log.
struct Candidate {
  std::size_t place = 0;
  TunedSlicing tuned{};
  Prepared prepared{};
  bool is_resumed = false;
};

TunedSlicing described(const RankedSlicing& ranked) {
  TunedSlicing tuned;
  tuned.slicing = ranked.slicing;
  tuned.predicted_us = ranked.predicted_seconds * 1e6;
  tuned.threads = ranked.threads;
  tuned.blocks = ranked.blocks;
  return tuned;
}

Candidate prepare(CandidateRunner& runner, std::size_t place, const RankedSlicing& ranked) {
  Candidate result{place, described(ranked), nullptr, false};
  try {
    result.prepared = runner.prepare(ranked);
    result.tuned.resources = result.prepared->resources;
    const std::size_t spilled = result.tuned.resources.spill_store_bytes.value_or(0);
    constexpr std::size_t most_spilled_bytes = 2048;
    if (spilled > most_spilled_bytes) {
      result.tuned.refusal = fmt::format("spills {} bytes of registers", spilled);
    }
  } catch (const Error& error) {
    result.tuned.refusal = error.what();
  }
  return result;
}

/// Compiles ahead with several threads, and hands candidates over in the order of the search.
class CompileAhead {
 public:
  CompileAhead(const SlicingStream& stream, CandidateRunner& runner, const TuneOptions& options,
               Search& search, const TuneLog& log)
      : stream_(stream), runner_(runner), options_(options), search_(search), log_(log) {
    const auto cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
    depth_ =
        static_cast<std::size_t>(options.compile_threads > 0 ? options.compile_threads : cores);
  }

  std::optional<Candidate> next() {
    while (open_.size() < depth_ && given_ < options_.max_candidates) {
      const std::optional<std::size_t> place = search_.next();
      if (!place) {
        break;
      }
      ++given_;
      open_.push_back(begin(*place));
    }
    if (open_.empty()) {
      return std::nullopt;
    }
    std::future<Candidate> first = std::move(open_.front());
    open_.pop_front();
    return first.get();
  }
  [[nodiscard]] std::size_t waiting() const { return open_.size(); }

 private:
  std::future<Candidate> begin(std::size_t place) {
    const RankedSlicing ranked = stream_.at(place);
    if (const TunedSlicing* known = log_.find(ranked.slicing)) {
      Candidate candidate{place, described(ranked), nullptr, true};
      candidate.tuned.microseconds = known->microseconds;
      candidate.tuned.resources = known->resources;
      candidate.tuned.refusal = known->refusal;
      std::promise<Candidate> done;
      done.set_value(std::move(candidate));
      return done.get_future();
    }
    return std::async(std::launch::async,
                      [this, place, ranked] { return prepare(runner_, place, ranked); });
  }

  const SlicingStream& stream_;
  CandidateRunner& runner_;
  const TuneOptions& options_;
  Search& search_;
  const TuneLog& log_;
  std::size_t depth_ = 1;
  std::size_t given_ = 0;
  std::deque<std::future<Candidate>> open_{};
};

/// Median of one launch; stops when it is clear that it is three times `best_us`.
double median_us(CandidateRunner& runner, const PreparedCandidate& candidate, double best_us) {
  const double once = runner.time_us(candidate, 1);
  // long launches differ little from one to the next
  const double hopeless = once > 1000 ? 1.3 : 3;
  if (best_us > 0 && once > hopeless * best_us + 20) {
    return once;
  }
  const int launches = std::clamp(static_cast<int>(300 / std::max(once, 1.0)), 1, 50);
  std::vector<double> times;
  double spent = 0;
  while (times.size() < 3 || (times.size() < 9 && spent < 15e3)) {
    times.push_back(runner.time_us(candidate, launches));
    spent += times.back() * launches;
    // three times slower is out; half as slow again is no contender, and needs no more samples
    if (best_us > 0 &&
        (times.back() > 3 * best_us || (times.size() >= 3 && times.back() > 1.5 * best_us))) {
      break;
    }
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

/// The contenders in turns, so that nobody profits from a cooler chip; sorts them by their medians
/// and says how many are tied with the first.
class FinalRound {
 public:
  /// @param fine     sorted; those that turn out not to run after all go to `refused`
  FinalRound(std::vector<Candidate>& fine, std::vector<TunedSlicing>& refused,
             CandidateRunner& runner, double budget_seconds)
      : fine_(fine), refused_(refused), runner_(runner), budget_seconds_(budget_seconds) {}

  std::size_t run() {
    const std::size_t count = count_contenders();
    if (count == 0) {
      return 0;
    }
    std::vector<std::vector<double>> times(count);
    const double begin = runner_.seconds();
    for (int round = 0;
         round < 7 && (round == 0 || runner_.seconds() - begin < 0.1 * budget_seconds_); ++round) {
      for (std::size_t i = 0; i < count; ++i) {
        const std::size_t turn = round % 2 == 0 ? i : count - 1 - i;
        times[turn].push_back(median_us(runner_, *fine_[turn].prepared, 0));
      }
    }
    double noise = 0;
    for (std::size_t i = 0; i < count; ++i) {
      noise = std::max(noise, settle(times[i], fine_[i].tuned));
    }
    const auto end = fine_.begin() + static_cast<std::ptrdiff_t>(count);
    std::stable_sort(fine_.begin(), end, [](const Candidate& a, const Candidate& b) {
      return a.tuned.microseconds < b.tuned.microseconds;
    });
    return static_cast<std::size_t>(std::count_if(fine_.begin(), end, [&](const Candidate& each) {
      return each.tuned.microseconds <= fine_.front().tuned.microseconds * (1 + noise);
    }));
  }

 private:
  /// Those within a fifth of the fastest, at most five; what the log knows is compiled now.
  std::size_t count_contenders() {
    const double close = 1.2 * fine_.front().tuned.microseconds;
    std::size_t count = 0;
    while (count < std::min<std::size_t>(5, fine_.size()) &&
           (count == 0 || fine_[count].tuned.microseconds <= close)) {
      if (is_ready(fine_[count])) {
        ++count;
      } else {
        refused_.push_back(std::move(fine_[count].tuned));
        fine_.erase(fine_.begin() + static_cast<std::ptrdiff_t>(count));
      }
    }
    return count;
  }
  bool is_ready(Candidate& candidate) {
    TunedSlicing& tuned = candidate.tuned;
    try {
      if (candidate.prepared == nullptr) {
        candidate.prepared = runner_.prepare(
            {tuned.slicing, tuned.predicted_us * 1e-6, tuned.threads, tuned.blocks, 0});
        tuned.refusal = runner_.check(*candidate.prepared);
      }
    } catch (const Error& error) {
      tuned.refusal = error.what();
    }
    return tuned.refusal.empty();
  }
  /// The middle of the times becomes the candidate's; their spread without the extremes.
  static double settle(std::vector<double>& times, TunedSlicing& tuned) {
    std::sort(times.begin(), times.end());
    tuned.microseconds = times[times.size() / 2];
    const std::size_t last = times.size() - 1;
    const std::size_t cut = std::min<std::size_t>(1, last);
    return (times[last - cut] - times[cut]) / tuned.microseconds;
  }

  std::vector<Candidate>& fine_;
  std::vector<TunedSlicing>& refused_;
  CandidateRunner& runner_;
  double budget_seconds_;
};

std::vector<std::size_t> places_of(const SlicingStream& stream, const std::vector<Slicing>& seeds) {
  std::vector<std::size_t> places;
  for (const Slicing& each : seeds) {
    if (const auto place = stream.find(each)) {
      places.push_back(*place);
    }
  }
  return places;
}

class SearchRun {
 public:
  SearchRun(const SlicingStream& stream, CandidateRunner& runner, const TuneOptions& options,
            const std::string& log_key)
      : stream_(stream),
        runner_(runner),
        options_(options),
        search_(begin_with(places_of(stream, options.seeds),
                           options.make_search
                               ? options.make_search(stream)
                               : make_search(options.search, stream, options.seed))),
        log_(options.log, log_key) {
    progress_.known = stream.count();
  }

  TuneResult run() {
    {
      CompileAhead ahead(stream_, runner_, options_, *search_, log_);
      while (runner_.seconds() < options_.budget_seconds &&
             !(options_.is_cancelled && options_.is_cancelled())) {
        std::optional<Candidate> candidate = ahead.next();
        if (!candidate) {
          break;
        }
        measure(*candidate);
        take(std::move(*candidate), ahead.waiting());
      }
    }
    return finish();
  }

 private:
  void measure(Candidate& candidate) {
    TunedSlicing& tuned = candidate.tuned;
    if (candidate.is_resumed) {
      return;
    }
    if (tuned.refusal.empty()) {
      try {
        check_and_time(candidate);
      } catch (const Error& error) {
        tuned.refusal = error.what();
      }
    }
    log_.add(tuned);
  }

  void check_and_time(Candidate& candidate) {
    const PreparedCandidate& prepared = *candidate.prepared;
    const auto [same, is_new] = times_us_.try_emplace(prepared.program_hash, 0.0);
    if (!is_new) {
      candidate.tuned.microseconds = same->second;
      candidate.tuned.refusal =
          same->second == 0 ? "the same program as another that is wrong" : "";
      return;
    }
    // the check is a launch, too: what takes long and has no chance is spared it
    if (progress_.best_us > 1000) {
      const double once = runner_.time_us(prepared, 1);
      if (once > 3 * progress_.best_us) {
        candidate.tuned.microseconds = once;
        same->second = once;
        return;
      }
    }
    candidate.tuned.refusal = runner_.check(prepared);
    if (candidate.tuned.refusal.empty()) {
      candidate.tuned.microseconds = median_us(runner_, prepared, progress_.best_us);
      same->second = candidate.tuned.microseconds;
    }
  }

  void take(Candidate candidate, std::size_t waiting) {
    const TunedSlicing& tuned = candidate.tuned;
    const bool is_fine = tuned.refusal.empty();
    search_->learn(candidate.place, is_fine ? std::optional(tuned.microseconds) : std::nullopt);
    ++progress_.tried;
    progress_.resumed += candidate.is_resumed ? 1 : 0;
    progress_.compiled = progress_.tried + waiting;
    if (is_fine && (progress_.best_us == 0 || tuned.microseconds < progress_.best_us)) {
      progress_.best_us = tuned.microseconds;
      progress_.best = to_string(tuned.slicing);
    }
    if (!is_fine) {
      refused_.push_back(std::move(candidate.tuned));
    } else {
      if (tuned.microseconds > 1.5 * progress_.best_us) {
        candidate.prepared.reset();  // unloads what will not be run again
      }
      fine_.push_back(std::move(candidate));
    }
    progress_.seconds = runner_.seconds();
    progress_.seconds_left = std::max(0.0, options_.budget_seconds - progress_.seconds);
    if (options_.report) {
      options_.report(progress_);
    }
  }

  TuneResult finish() {
    TuneResult result;
    result.known = stream_.count();
    result.resumed = progress_.resumed;
    result.cache = options_.cache;
    std::stable_sort(fine_.begin(), fine_.end(), [](const Candidate& a, const Candidate& b) {
      return a.tuned.microseconds < b.tuned.microseconds;
    });
    if (!fine_.empty()) {
      result.ties = FinalRound(fine_, refused_, runner_, options_.budget_seconds).run();
    }
    for (Candidate& each : fine_) {
      result.tried.push_back(std::move(each.tuned));
    }
    result.tried.insert(result.tried.end(), std::make_move_iterator(refused_.begin()),
                        std::make_move_iterator(refused_.end()));
    result.seconds = runner_.seconds();
    return result;
  }

  const SlicingStream& stream_;
  CandidateRunner& runner_;
  const TuneOptions& options_;
  std::unique_ptr<Search> search_;
  TuneLog log_;
  TuneProgress progress_{};
  /// Of each program that ran; 0: it gave wrong results.
  std::unordered_map<std::uint64_t, double> times_us_{};
  std::vector<Candidate> fine_{};
  std::vector<TunedSlicing> refused_{};
};

}  // namespace

TuneResult run_search(const SlicingStream& stream, CandidateRunner& runner,
                      const TuneOptions& options, const std::string& log_key) {
  return SearchRun(stream, runner, options, log_key).run();
}

}  // namespace rtcg::loopy
