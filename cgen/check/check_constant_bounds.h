#pragma once

#include <optional>
#include <string>

#include "rtcg/cgen/ast/module.h"

namespace rtcg::cgen {

/// Says which element of an array of known extent is outside of it whenever its statement runs;
/// nothing where none is found.
///
/// Decided are indices that are sums of multiples of loop variables with constant bounds, of
/// threads in a work group of stated size, and of numbers, under conditions that none of these is
/// in. All other indices are taken to be right.
[[nodiscard]] std::optional<std::string> why_out_of_bounds(const Module& module);

}  // namespace rtcg::cgen
