#pragma once
// Internal header: it is not installed.

#include <optional>
#include <string>
#include <vector>

#include "rtcg/loopy/symbolic/expr.h"

namespace rtcg::loopy {

/// The value of a reduction over all of a domain, from those over its parts; nothing where no
/// function combines two values.
/// @param operation  `sum`, `max_i64`, ...
[[nodiscard]] std::optional<Expr> combine_values(const std::string& operation,
                                                 const std::vector<Expr>& values);

}  // namespace rtcg::loopy
