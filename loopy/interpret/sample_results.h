#pragma once
// Internal header: it is not installed.

#include "rtcg/loopy/interpret/program.h"

namespace rtcg::loopy::interpretation {

/// Some results of each array, computed backwards from the last write of each: its inputs are
/// computed in the same way, and remembered.
/// @throws Unsupported  loopy.interpret.too_long: hardly any result is within the limit
[[nodiscard]] Interpretation sample_results(Program& program, const InterpretOptions& options);

}  // namespace rtcg::loopy::interpretation
