#pragma once
// Internal header: it is not installed.

#include <cuda.h>

#include "rtcg/runtime/device/image.h"

// How CUDA's driver describes images.

namespace rtcg::runtime::cuda {

[[nodiscard]] CUarray_format format_of(TexelKind kind);
/// Of an array, or of all levels of a mipmap, with surfaces.
[[nodiscard]] CUDA_ARRAY3D_DESCRIPTOR descriptor_of(const ImageShape& shape);
[[nodiscard]] CUDA_TEXTURE_DESC texture_of(const ImageShape& shape, const TextureOptions& options);

}  // namespace rtcg::runtime::cuda
