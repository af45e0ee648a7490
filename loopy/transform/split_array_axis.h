#pragma once

#include <cstdint>
#include <string_view>

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// Makes two axes out of one axis of an array, the second of fixed length.
///
/// Rewrites
///     a: f32[n];                     b[i] = a[16*i_outer + i_inner]
///   into
///     a: f32[(n + 15) // 16, 16];    b[i] = a[i_outer, i_inner]
///
/// The array is in C order afterwards; callers pass an argument in this layout.
/// @param axis    counted from 0
/// @param length  of the new axis; > 0
/// @throws InvalidInput  loopy.split_array_axis.unknown_array, loopy.split_array_axis.bad_axis,
///                       loopy.split_array_axis.bad_length, loopy.split_array_axis.linear_access
/// @source Loo.py `split_array_axis`
[[nodiscard]] Kernel split_array_axis(Kernel kernel, std::string_view array, std::size_t axis,
                                      std::int64_t length);

}  // namespace rtcg::loopy
