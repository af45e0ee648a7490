#pragma once
// Internal header: it is not installed.

#include <string_view>

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// `sample(picture, y, x)`: what an image has at a position, in elements.
inline constexpr const char* sample_function = "sample";

/// The argument that is an image of this name; null: none.
[[nodiscard]] const Argument* find_image(const Kernel& kernel, std::string_view name);
/// The image that the call samples; null: it calls something else.
[[nodiscard]] const Argument* sampled_image(const Kernel& kernel, const Call& call);
/// What a texture of the image fetches: a vector of two numbers for a complex one.
[[nodiscard]] cgen::Type texel_type(const cgen::Type& element);

}  // namespace rtcg::loopy
