#pragma once

#include <optional>
#include <string>

#include "rtcg/cgen/ast/module.h"

namespace rtcg::cgen {

/// Finds an access outside of an array of known extent that happens whenever its statement runs;
/// nothing if there is none.
///
/// It decides indices that are sums of multiples of loop variables with constant bounds, of
/// threads in a work group of stated size, and of numbers, under conditions without these
/// variables. All other indices are accepted.
[[nodiscard]] std::optional<std::string> why_out_of_bounds(const Module& module);

}  // namespace rtcg::cgen
