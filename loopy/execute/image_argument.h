#pragma once
// Internal header: it is not installed.

#include <string>
#include <variant>

#include "rtcg/loopy/execute/executor.h"
#include "rtcg/loopy/interpret/argument_data.h"
#include "rtcg/runtime/device/image.h"

namespace rtcg::loopy {

/// How a texture of an image has to be made.
[[nodiscard]] runtime::TextureOptions texture_options(const ImageReads& reads);

/// An image with the numbers of an argument, and the texture or surface that the kernel expects.
/// A mipmap gets the levels of make_mipmap. Move-only.
class ImageArgument {
 public:
  /// @param kernel     typed  @param argument  of it, an image
  /// @param sizes      the scalars in its shape
  /// @throws  what ImageArray throws; @cost  waits for the stream
  ImageArgument(runtime::StreamRef stream, const Kernel& kernel, const Argument& argument,
                const IntegerValues& sizes, const ArrayData& numbers);

  /// As calls of the kernel take it.
  [[nodiscard]] NamedArgument argument() const;
  [[nodiscard]] const runtime::ImageArray& image() const noexcept { return image_; }

 private:
  std::string name_;
  runtime::ImageArray image_;
  std::variant<runtime::Texture, runtime::Surface> access_;
};

}  // namespace rtcg::loopy
