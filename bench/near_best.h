#pragma once

#include <cstddef>
#include <cstdint>

#include "rtcg/loopy/tune/tune.h"

namespace rtcg::bench {

/// How soon a guided search is near the best slicing of all, and what finding all out takes.
struct NearBest {
  std::size_t slicings = 0;  ///< in the space
  double all_seconds = 0;    ///< to compile, check and time each of them
  double best_us = 0;        ///< of the fastest one
  std::size_t tried = 0;     ///< until the search had timed one within the tolerance
  double near_seconds = 0;   ///< until then
  double first_us = 0;       ///< of the model's first choice
};

/// Square products of single precision. Both searches compile everything themselves; the times of
/// the exhaustive one decide which slicings are near the best, so that luck in timing does not
/// count.
///
/// @param tolerance  0.05: at most 5 % slower than the best
/// @throws std::runtime_error  the guided search ended without coming near
[[nodiscard]] NearBest measure_near_best(runtime::Device device, std::int64_t n,
                                         const loopy::SlicingConstraints& constraints,
                                         double tolerance);

}  // namespace rtcg::bench
