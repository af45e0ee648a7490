#pragma once
// Internal header: it is not installed.

#include "rtcg/cgen/ast/module.h"

namespace rtcg::dg::detail {

/// Simplifies a module: computes sums and products of literal integers, removes added zeros and
/// factors of one, and replaces a loop of one round by its body with the counter's value. Kernels
/// are written for any number of rounds, so small ones have such code.
///
/// A loop that is left early, changes its counter, or holds raw text stays.
[[nodiscard]] cgen::Module tidy_module(const cgen::Module& module);

}  // namespace rtcg::dg::detail
