#pragma once

#include <string_view>

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// `expr` with the calls of the kernel's rules replaced by their bodies.
///
/// @param rule  the rule to expand; empty: all of them
/// @throws InvalidInput  loopy.expand_subst.argument_count, loopy.expand_subst.recursive,
///                       loopy.expand_subst.captured_iname
[[nodiscard]] Expr expand_rules(const Kernel& kernel, const Expr& expr, std::string_view rule = {});

}  // namespace rtcg::loopy
