#pragma once
// Internal header: it is not installed.

#include <string_view>
#include <vector>

#include "rtcg/loopy/create/parse_structs.h"
#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// Arguments as KernelOptions::arguments lists them: `a, out: f32[n, m] {order=F}; n: i32`. The
/// type may be left out, and so may all but the names: they then state the order of the arguments.
/// An array of structs becomes one argument for each field, called `p.x`.
///
/// @throws InvalidInput  loopy.make_kernel.arguments
[[nodiscard]] std::vector<Argument> parse_arguments(std::string_view text,
                                                    const Structs& structs = {});

/// The strides of an array whose first axis is contiguous, in elements.
[[nodiscard]] std::vector<Expr> fortran_order_strides(const std::vector<Expr>& shape);

}  // namespace rtcg::loopy
