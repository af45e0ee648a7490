#pragma once
// Internal header: it is not installed.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rtcg/cgen/ast/intrinsic.h"

namespace rtcg::loopy {

// Functions of all lanes of a warp together. Users cannot write their names: callers have to
// know that all lanes do.
/// Value, distance; for a part of a warp its lanes, a constant.
inline constexpr const char* shuffle_xor_function = "(shuffle_xor)";
inline constexpr const char* shuffle_up_function = "(shuffle_up)";  ///< value, distance
inline constexpr const char* shuffle_function = "(shuffle)";        ///< value, lane
inline constexpr const char* warp_any_function = "(warp_any)";
inline constexpr const char* warp_all_function = "(warp_all)";

/// The function that kernels call `name`: the intrinsics of arithmetic under their own names,
/// `fabs`, `fmin`, `fmax`, and the functions of warps above.
[[nodiscard]] std::optional<cgen::Intrinsic> find_function(std::string_view name);
/// All names that users can write, sorted.
[[nodiscard]] std::vector<std::string> function_names();

}  // namespace rtcg::loopy
