#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// Settles the values of parameters; they are no arguments any more.
///
/// Rewrites
///     for i in [0, n): out[i] = n*a[i]
///   with n = 64 into
///     for i in [0, 64): out[i] = 64*a[i]
///
/// @throws InvalidInput  loopy.fix_parameters.unknown_parameter,
///                       loopy.fix_parameters.contradiction
/// @source Loo.py `fix_parameters`
[[nodiscard]] Kernel fix_parameters(Kernel kernel,
                                    const std::map<std::string, std::int64_t>& values);

/// Adds facts about parameters, which bounds and guards may rely on: a call with other values is
/// the caller's mistake.
///
/// @param facts  as parse_assumptions takes them: `n >= 1 and n mod 16 = 0`
/// @throws InvalidInput  loopy.assume.about_inames, loopy.assume.contradiction; what
///                       parse_assumptions throws
/// @source Loo.py `assume`
[[nodiscard]] Kernel assume(Kernel kernel, std::string_view facts);

}  // namespace rtcg::loopy
