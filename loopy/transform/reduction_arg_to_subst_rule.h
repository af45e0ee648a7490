#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// Makes a rule of what a reduction adds up, so that precompute can have it ahead.
///
/// Rewrites
///     out[i] = sum(k, a[i, k]*b[k])
///   into
///     red_k_arg(k) := a[i, k]*b[k];    out[i] = sum(k, red_k_arg(k))
///
/// @param inames  of reductions of one value over these and no others; several such reductions get
///                rules of their own
/// @param rule    its name; empty: `red_INAMES_arg`, with a number where that is taken
/// @throws InvalidInput  loopy.reduction_arg_to_subst_rule.no_reduction,
///                       loopy.reduction_arg_to_subst_rule.name_taken
/// @source Loo.py `reduction_arg_to_subst_rule`
[[nodiscard]] Kernel reduction_arg_to_subst_rule(Kernel kernel,
                                                 const std::vector<std::string>& inames,
                                                 std::string_view rule = {});

}  // namespace rtcg::loopy
