#pragma once
// Internal header: it is not installed.

#include <memory>
#include <string>

#include "rtcg/loopy/tune/leavable_thread.h"
#include "rtcg/loopy/tune/tune.h"


namespace rtcg::loopy {

/// As the public ones.
///
/// @param device_thread  runs candidates, and is left when the search ends while it does; null: the
///                       calling thread runs them, and waits for all
[[nodiscard]] TuneResult run_search(const SlicingStream& stream,
                                    std::shared_ptr<CandidateRunner> runner,
                                    const TuneOptions& options, const std::string& log_key,
                                    LeavableThread* device_thread);

}  // namespace rtcg::loopy
