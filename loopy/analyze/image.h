#pragma once
// Internal header: it is not installed.

#include <string_view>

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// `sample(picture, y, x)`: what an image has at a position, in elements.
inline constexpr const char* sample_function = "sample";

/// The argument that is an image of this name; null: none.
[[nodiscard]] const Argument* find_image(const Kernel& kernel, std::string_view name);
/// Whether statements write the image: it is a surface, which no statement reads.
[[nodiscard]] bool is_surface(const Kernel& kernel, std::string_view name);
/// Coordinates with lengths of 1 instead of those of the axes.
[[nodiscard]] bool has_normalised_coordinates(const ImageReads& reads);
/// Axes of one layer.
[[nodiscard]] std::size_t image_axes(const Argument& image);
/// The image that the call samples; null: it calls something else.
[[nodiscard]] const Argument* sampled_image(const Kernel& kernel, const Call& call);
/// The type of the image in the text: a texture, or a surface that is only written.
[[nodiscard]] cgen::Type image_type(const Kernel& kernel, const Argument& image);
/// What a texture of the image fetches: a vector of two numbers for a complex one.
[[nodiscard]] cgen::Type texel_type(const cgen::Type& element);

}  // namespace rtcg::loopy
