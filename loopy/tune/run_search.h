#pragma once
// Internal header: it is not installed.

#include <memory>
#include <string>

#include "rtcg/loopy/tune/candidate_runner.h"
#include "rtcg/loopy/tune/leavable_thread.h"
#include "rtcg/loopy/tune/search.h"

namespace rtcg::loopy {

/// How long after the budget a search waits for its first result: for arrays, a compile, a launch
/// and its judge. Short budgets give a result, too, and a compiler that hangs ends the search.
inline constexpr double patience_for_first_seconds = 10;

/// Compiles ahead, checks, times, and settles which candidate is the fastest.
///
/// @param runner         kept until the last compile has ended, which may be later than the search
/// @param log_key        what stands for the candidates' problem, sizes and device in options.log
/// @param device_thread  runs candidates, and is left when the search ends while it does; null: the
///                       calling thread runs them, and waits for all
[[nodiscard]] SearchResult run_search(const SearchSpace& space, std::unique_ptr<Search> search,
                                      std::shared_ptr<CandidateRunner> runner,
                                      const SearchOptions& options, const std::string& log_key,
                                      LeavableThread* device_thread);

/// @throws Unsupported  loopy.tune.nothing_works
[[noreturn]] void throw_nothing_works(const SearchSummary& summary, std::size_t tried,
                                      const std::string& first_refusal);

}  // namespace rtcg::loopy
