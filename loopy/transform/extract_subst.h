#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// Makes a substitution rule out of all expressions of one form.
///
/// Rewrites
///     b[i] = 2*a[i]*a[i] + a[i+1]*a[i+1]
///   with the form x*x and the parameter x into
///     sq(x) := x*x;  b[i] = 2*sq(a[i]) + sq(a[i+1])
///
/// In sums and products, neighbouring terms match the form's terms in any order.
/// @param rule        name of the rule
/// @param form        an expression as parse_expr takes it
/// @param parameters  names in `form` that stand for any expression; each must occur in it
/// @param within      the statements to look in, as match_instructions takes them; empty: all
/// @throws InvalidInput  loopy.extract_subst.name_taken, loopy.extract_subst.unused_parameter,
///                       loopy.extract_subst.bare_parameter, loopy.extract_subst.not_found,
///                       loopy.match_instructions.syntax, loopy.parse_expr.syntax
/// @source Loo.py `extract_subst`
[[nodiscard]] Kernel extract_subst(Kernel kernel, std::string_view rule, std::string_view form,
                                   const std::vector<std::string>& parameters,
                                   std::string_view within = {});

}  // namespace rtcg::loopy
