#pragma once
// Internal header: it is not installed.

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// Refuses images that no texture can be of, and uses of them that are not fetches.
///
/// @throws InvalidInput  loopy.check_images.shape, loopy.check_images.layout,
///                       loopy.check_images.may_be, loopy.check_images.place,
///                       loopy.check_images.coordinates, loopy.check_images.not_an_image,
///                       loopy.check_images.written
/// @throws Unsupported   loopy.check_images.type, loopy.check_images.filter,
///                       loopy.check_images.function
void check_images(const Kernel& kernel);

}  // namespace rtcg::loopy
