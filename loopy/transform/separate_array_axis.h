#pragma once

#include <cstddef>
#include <string_view>

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// Makes an array argument into one argument for each index of an axis.
///
/// Rewrites
///     u: f32[n, 3];  out[i] = u[i, 0]*u[i, 2]
///   with axis 1 into
///     u_0, u_1, u_2: f32[n];  out[i] = u_0[i]*u_2[i]
///
/// Where the index is no number, reads choose among the arrays, and a statement that writes becomes
/// one for each of them under the condition that it is the one; in unrolled loops and lanes the
/// text has no such choice left. The new arrays are in C order.
/// @param array  an argument, accessed by its indices
/// @param axis   of constant length, at most 64
/// @throws InvalidInput  loopy.separate_array_axis.unknown_array,
///                       loopy.separate_array_axis.bad_axis, loopy.separate_array_axis.bad_length,
///                       loopy.separate_array_axis.linear_access,
///                       loopy.separate_array_axis.name_taken
/// @source Loo.py `tag_array_axes` with `sep`
[[nodiscard]] Kernel separate_array_axis(Kernel kernel, std::string_view array, std::size_t axis);

}  // namespace rtcg::loopy
