#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// Sets the layout of arrays in memory.
///
/// Rewrites
///     a: f32[n, m]
///   with F into
///     a: f32[n, m] {strides=1:n}
///
/// @param layout  `C`, `F`, the nesting of each axis (`N1,N0`: the last axis varies fastest, as in
///                C order; `N0,N1`: the first), or a stride in elements for each axis
///                (`stride:32,stride:1`). With `vec` for one axis of 2 to 4 elements, `N0,vec`,
///                these are contiguous, three of them in the place of four: a loop over them that
///                is tagged vec loads and stores them at once. separate_array_axis makes an array
///                of each index of an axis
/// @throws InvalidInput  loopy.tag_array_axes.unknown_array, loopy.tag_array_axes.bad_layout
/// @source Loo.py `tag_array_axes`
[[nodiscard]] Kernel tag_array_axes(Kernel kernel, const std::vector<std::string>& arrays,
                                    std::string_view layout);

/// Leaves unused elements between the rows of an array, so that neighbours across the rows fall
/// into different banks of shared memory, or rows start at aligned places.
///
/// Rewrites
///     t: f32[16, 16]
///   with 1 element after each row (axis 0) into
///     t: f32[16, 16] {strides=17:1}
///
/// @param axis   whose stride grows; the strides of slower varying axes grow with it. Not the
///               fastest varying one of a packed array, unless gaps between elements are wanted
/// @param count  elements to add to the stride; >= 0
/// @throws InvalidInput  loopy.add_padding.unknown_array, loopy.add_padding.bad_axis,
///                       loopy.add_padding.bad_count, loopy.add_padding.unknown_order
/// @source Loo.py `add_padding`
[[nodiscard]] Kernel add_padding(Kernel kernel, std::string_view array, std::size_t axis,
                                 std::int64_t count);

/// The smallest length of a piece of an axis with which pieces begin at aligned places and little
/// is wasted: what to give split_array_axis.
///
/// @param axis           of constant stride
/// @param align_bytes    what places are to be a multiple of; > 0
/// @param allowed_waste  unused bytes for each used one, at most; > 0
/// @returns  elements along the axis
/// @throws InvalidInput  loopy.find_padding_multiple.unknown_array,
///                       loopy.find_padding_multiple.bad_axis,
///                       loopy.find_padding_multiple.bad_limits
/// @source Loo.py `find_padding_multiple`
[[nodiscard]] std::int64_t find_padding_multiple(const Kernel& kernel, std::string_view array,
                                                 std::size_t axis, std::int64_t align_bytes,
                                                 double allowed_waste = 0.1);

}  // namespace rtcg::loopy
