#pragma once
// Internal header: it is not installed.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rtcg/cgen/support/gpu_limits.h"
#include "rtcg/loopy/analyze/access.h"

namespace rtcg::loopy {

/// Elements of a sector of memory, 32 bytes, and threads whose accesses are one request.
constexpr std::int64_t sector_elements = 8;
constexpr std::int64_t request_threads = warp_size;

/// Places in memory, in elements, of the first `count` neighbours along an iname, or of all of a
/// shorter one, where all other inames are 0. Nothing where they are not known, or the iname does
/// not change them.
[[nodiscard]] std::optional<std::vector<std::int64_t>> places_along(const Kernel& kernel,
                                                                    const ArrayAccess& access,
                                                                    const std::string& iname,
                                                                    std::int64_t count);

/// Elements of the sectors that hold the first 32 neighbours along an iname, where all other
/// inames are 0, by their number: 1 where they are contiguous, 8 where each has a sector of its
/// own. Nothing where the places in memory are not known, or the iname does not change them.
[[nodiscard]] std::optional<double> overfetch_along(const Kernel& kernel, const ArrayAccess& access,
                                                    const std::string& iname);

}  // namespace rtcg::loopy
