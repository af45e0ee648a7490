#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rtcg/cgen/ast/intrinsic.h"

namespace rtcg::loopy {

/// The function that kernels call `name`: the intrinsics of arithmetic under their own names, and
/// `fabs`, `fmin`, `fmax` beside them.
[[nodiscard]] std::optional<cgen::Intrinsic> find_function(std::string_view name);
/// All names that find_function knows, sorted.
[[nodiscard]] std::vector<std::string> function_names();
/// Those of `candidates` that `name` may be a misspelling of, the likeliest first; at most three.
[[nodiscard]] std::vector<std::string> close_names(std::string_view name,
                                                   const std::vector<std::string>& candidates);

}  // namespace rtcg::loopy
