#pragma once
// Internal header: it is not installed.

#include "rtcg/loopy/execute/executor.h"
#include "rtcg/loopy/interpret/argument_data.h"
#include "rtcg/runtime/device/image.h"

namespace rtcg::loopy {

/// An image with the numbers of an argument, and the texture that the kernel expects. Move-only.
class ImageArgument {
 public:
  /// @param argument   typed, an image
  /// @param sizes      the scalars in its shape
  /// @throws  what ImageArray throws; @cost  waits for the stream
  ImageArgument(runtime::StreamRef stream, const Argument& argument, const IntegerValues& sizes,
                const ArrayData& numbers);

  [[nodiscard]] const runtime::Texture& texture() const noexcept { return texture_; }

 private:
  runtime::ImageArray image_;
  runtime::Texture texture_;
};

}  // namespace rtcg::loopy
