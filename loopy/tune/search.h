#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rtcg/loopy/slice/search_space.h"
#include "rtcg/runtime/compile/compile_request.h"

namespace rtcg::loopy {

enum class SearchMethod {
  guided,        ///< the model's first choices, then steps from the fastest ones
  exhaustive,    ///< all, in the model's order
  random,        ///< all, in a random order
  evolutionary,  ///< children of the fastest ones, with mutations
};

/// Decides which candidate is tried next. Derive from it for another search, and pass it to
/// TuneOptions::make_search.
///
/// Called by one thread. Candidates are compiled ahead, so `next` is called several times before
/// the first result. Results arrive in the order of the candidates; those in progress at the end of
/// the search have none.
class Search {
 public:
  virtual ~Search() = default;
  /// The place of a candidate that was not given before; nothing: that was all.
  [[nodiscard]] virtual std::optional<std::size_t> next() = 0;
  /// How one did. @param microseconds  nothing where it was refused
  virtual void learn(std::size_t place, std::optional<double> microseconds) = 0;
};

/// The same seed and the same times give the same order of candidates.
/// @param space  has to outlive the search
[[nodiscard]] std::unique_ptr<Search> make_search(SearchMethod method, const SearchSpace& space,
                                                  std::uint64_t seed);

/// Gives some places first, then those of another search.
[[nodiscard]] std::unique_ptr<Search> begin_with(std::vector<std::size_t> places,
                                                 std::unique_ptr<Search> search);

/// How far a search is.
struct TuneProgress {
  std::size_t tried = 0;     ///< compiled, checked and timed, or refused, or known from the log
  std::size_t compiled = 0;  ///< and waiting for the device, or timed
  std::size_t known = 0;     ///< candidates that keep the constraints
  std::size_t resumed = 0;   ///< of those tried, known from the log
  double best_us = 0;        ///< 0: none yet
  /// By which share the later half of those tried shortened the best time; 1 where that is too soon
  /// to say.
  double expected_gain = 1;
  std::string best{};
  double seconds = 0;
  double seconds_left = 0;
  /// `making arrays and slicings`, `searching`, `judging results`, `comparing the fastest`.
  std::string doing = "searching";
};

/// The contents of the device's caches when a launch begins. The two have different winners: state
/// which one the application has.
enum class CacheState {
  warm,  ///< what the launch before left there
  cold,  ///< nothing of the kernel's: a buffer larger than the cache is written before each launch
};

/// Of any search: of slicings (TuneOptions), or of the configurations of a ParameterSpace.
struct SearchOptions {
  SearchMethod search = SearchMethod::guided;
  /// For all of it: data, reference, search and the final round, which gets a tenth. What goes on
  /// then is given up: compilers are ended, launches finish in the background. 1.5 s more are given
  /// until a first candidate has been timed.
  double budget_seconds = 30;
  std::size_t max_candidates = SIZE_MAX;
  /// The search ends when as many candidates again are expected to shorten the best time by less
  /// than this share of it: as the later half of those tried so far did, 32 at least. 0.01: by less
  /// than 1 %; 0: it goes on.
  double min_expected_gain = 0;
  std::uint64_t seed = 1;
  int compile_threads = 0;  ///< and worker processes; 0: one a core
  CacheState cache = CacheState::warm;
  /// A file to which each candidate's result is appended. What it has of the same kernel, sizes,
  /// device and cache state is not run again, so a search that was killed continues from there.
  /// Empty: none.
  std::string log{};
  /// Called after each candidate, and when something else begins.
  std::function<void(const TuneProgress&)> report{};
  /// Asked many times a second; what is known by then is kept. Nothing is waited for: compilers
  /// that are processes are ended; those of threads and launches go on in the background, and the
  /// process ends after them.
  std::function<bool()> is_cancelled{};
};

/// A candidate that was tried.
struct TunedCandidate {
  std::string words{};      ///< RankedCandidate::words
  double microseconds = 0;  ///< median of a launch; 0 where it was refused
  double predicted_us = 0;
  std::int64_t threads = 1;  ///< of a block
  std::int64_t blocks = 1;
  runtime::KernelResources resources{};
  /// Why it cannot run, or that its results are wrong; empty when it is fine.
  std::string refusal{};
};

/// What a search says of itself.
struct SearchSummary {
  std::size_t known = 0;    ///< candidates that keep the constraints
  std::size_t resumed = 0;  ///< of those tried, known from the log
  double seconds = 0;       ///< that the search took
  /// When the first candidate had been timed or refused; 0: none was.
  double first_seconds = 0;
  /// How many of the first are as fast as the first, within the noise of their times.
  std::size_t ties = 1;
  /// How many of the first were timed in turns at the end; the times of all others are those of the
  /// search, when the machine may have been slower or faster. 0: there was no time for that.
  std::size_t finalists = 0;
  /// What the search was doing if it ended before it had timed anything; otherwise empty.
  std::string ended_while{};
  /// By which share the later half of those tried shortened the best time; 1: too few were.
  double expected_gain = 1;
  CacheState cache = CacheState::warm;
};

struct SearchResult : SearchSummary {
  /// The fine ones from the fastest on, then the refused ones. The first few were timed again in
  /// turns, so that their order is not that of chance.
  std::vector<TunedCandidate> tried{};

  /// @throws Unsupported  loopy.tune.nothing_works, with the first refusals
  [[nodiscard]] const TunedCandidate& best() const;
};

}  // namespace rtcg::loopy
