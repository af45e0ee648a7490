#pragma once
// Internal header: it is not installed.

#include "rtcg/cgen/ast/module.h"

namespace rtcg::dg::detail {

/// The same module as a person would write it: sums and products of literal integers are computed,
/// zeros added and factors of one left out, and the body of a loop of one round stands in its place
/// with the counter's value put in. Kernels are written for any number of rounds, so such things
/// appear in small ones.
///
/// A loop stays that is left early, changes its counter, or holds raw text.
[[nodiscard]] cgen::Module tidy_module(const cgen::Module& module);

}  // namespace rtcg::dg::detail
