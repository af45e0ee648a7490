#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "rtcg/cgen/build/struct_builder.h"
#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

using Structs = std::map<std::string, cgen::LaidOutStruct, std::less<>>;

/// Structs as KernelOptions::structs lists them, each with its fields in the order of memory:
///
///     point {x, y, z: f32}
///     particle {place, speed: point; mass: f64; kinds: i32[3]}
///
/// A field is a number, complex or not, a vector, one of the structs above, or an array of these of
/// known lengths. The layout is that of C.
///
/// @throws InvalidInput  loopy.make_kernel.structs
[[nodiscard]] Structs parse_structs(std::string_view text);

/// The text of a struct with its padding, as parse_structs takes it: of a C++ struct by
/// cgen::StructBuilder. Structs within it become texts ahead of it, pointers u64.
///
/// @throws InvalidInput  loopy.struct_text.field, a field is of a type that kernels do not have
[[nodiscard]] std::string struct_text(const cgen::LaidOutStruct& laid_out);

/// What the text calls a field: `p_place_x` of `p.place.x`.
[[nodiscard]] std::string variable_of_field(std::string field);

/// The arguments for the fields of an array of structs, which statements call `p.x` and kernels
/// `p_x`; `p.place.x` is `p_place_x`. Axes of a field come after those of the array. Fields
/// whose place is not a multiple of their size, such as a c64 after one f32, are left out.
///
/// @param array  its shape, strides and offset, in structs
[[nodiscard]] std::vector<Argument> field_arguments(const Argument& array,
                                                    const cgen::LaidOutStruct& laid_out);

}  // namespace rtcg::loopy
