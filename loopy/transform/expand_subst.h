#pragma once

#include <string>
#include <string_view>

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// Puts the bodies of substitution rules where they are called, and removes the rules, but for
/// those with a neutral element: they are operations of reductions and scans.
///
/// Rewrites
///     sq(x) := x*x;  b[i] = sq(a[i])
///   into
///     b[i] = a[i]*a[i]
///
/// @param rule    the rule to expand; empty: all of them
/// @param within  the statements to expand them in, as match_instructions takes them: the rules
///                remain; empty: everywhere
/// @throws InvalidInput  loopy.expand_subst.unknown_rule, loopy.expand_subst.argument_count,
///                       loopy.expand_subst.recursive, loopy.match_instructions.syntax
/// @source Loo.py `expand_subst`
[[nodiscard]] Kernel expand_subst(Kernel kernel, std::string_view rule = {},
                                  std::string_view within = {});

/// The kernel with `a$tag(i)`, for every tag, as `a[i]`: these are reads of `array` as well.
[[nodiscard]] Kernel expand_tagged_uses(Kernel kernel, const std::string& array);

/// The kernel with all rules expanded if one of them accesses `array`, so that all accesses are in
/// statements.
[[nodiscard]] Kernel expand_if_in_rules(Kernel kernel, const std::string& array);

}  // namespace rtcg::loopy
