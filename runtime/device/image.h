#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "rtcg/runtime/device/buffer.h"
#include "rtcg/runtime/device/copy.h"
#include "rtcg/runtime/device/device.h"
#include "rtcg/runtime/device/stream.h"

namespace rtcg::runtime {

/// What a channel of a texel holds, and as what kernels read it.
enum class TexelKind {
  f32,
  f16,  ///< read as f32; for textures only
  i32,
  u8,
  unorm8,  ///< a byte, read as a f32 between 0 and 1; for textures only
  f64,     ///< kept as pairs of i32, since no device has images of f64: 1 or 2 channels, unfiltered
};

/// Texels along each axis; the image lacks axes of length 0.
struct ImageExtent {
  std::size_t width = 0;
  std::size_t height = 0;
  std::size_t depth = 0;
  friend bool operator==(const ImageExtent&, const ImageExtent&) = default;
};

struct ImageShape {
  TexelKind kind = TexelKind::f32;
  int channels = 1;  ///< 1, 2 or 4
  ImageExtent extent;
  /// Images of one extent, of 1 or 2 axes, that a fetch chooses by number and never mixes; 0: the
  /// image has no layers. They are an axis of copies, after those of the extent.
  std::size_t layers = 0;
  /// Images of which each has half the length of the one before along every axis, rounded down, 1
  /// at least: a mipmap, whose level a fetch chooses. Each has to be given its texels.
  int levels = 1;

  /// Without that of the layers.
  [[nodiscard]] int dimensions() const noexcept {
    return extent.depth != 0 ? 3 : (extent.height != 0 ? 2 : 1);
  }
  [[nodiscard]] std::size_t texel_bytes() const noexcept;
  /// Of all texels, without gaps; of a mipmap those of level 0.
  [[nodiscard]] std::size_t size_bytes() const noexcept;
  /// Texels along an axis, or layers; 1 along an axis that the image lacks.
  [[nodiscard]] std::size_t length(int axis) const noexcept;
  /// The shape of a level of a mipmap, as an image without others.
  [[nodiscard]] ImageShape level(int level) const noexcept;
  /// Of a mipmap whose last level is one texel.
  [[nodiscard]] int most_levels() const noexcept;
};

/// @throws InvalidInput  runtime.image.bad_shape
void check_image_shape(const ImageShape& shape);

/// What a fetch outside of the texels gives.
enum class AddressMode {
  clamp,   ///< default: the nearest texel
  border,  ///< zeros
  wrap,    ///< the image again; coordinates must be normalised
  mirror,  ///< the image again, every second one turned round; coordinates must be normalised
};

enum class FilterMode {
  point,   ///< default: the texel around the position, of index floor(x)
  linear,  ///< weighted texels, whose centres have coordinates of .5; f32, f16 and unorm8 only
};

struct TextureOptions {
  AddressMode address = AddressMode::clamp;
  FilterMode filter = FilterMode::point;
  bool is_normalised = false;  ///< coordinates from 0 to 1 instead of 0 to the length of the axis
  /// Of a mipmap. `point` fetches from the nearest level, `linear` from the two next to it,
  /// weighted.
  FilterMode level_filter = FilterMode::point;
};

/// A part of an image. An extent of 0 goes to the end of the axis.
struct ImageWindow {
  std::array<std::size_t, 3> origin = {0, 0, 0};
  std::array<std::size_t, 3> extent = {0, 0, 0};
  int level = 0;  ///< of a mipmap
};

/// What a back end offers that has images; found by a cast of Backend. Handles of images are
/// CUarray, of mipmaps CUmipmappedArray, and cl_mem; on the host pointers to objects of rtcg.
class ImageBackend {
 public:
  using Image = void*;
  /// What a launch passes: CUtexObject and CUsurfObject; otherwise the address of an object of
  /// rtcg.
  using Access = std::uint64_t;

  struct Copy {
    CopyRegion::End memory;  ///< its pitches are not 0
    Image image = nullptr;
    ImageShape shape;
    std::array<std::size_t, 3> origin = {0, 0, 0};
    std::array<std::size_t, 3> extent = {1, 1, 1};
    int level = 0;
    bool is_to_image = true;
  };

  virtual ~ImageBackend() = default;

  /// Empty if the device has images of this kind and number of channels.
  [[nodiscard]] virtual std::string why_no_image(const ImageShape& shape) = 0;
  [[nodiscard]] virtual Image create_image(const ImageShape& shape) = 0;
  /// After all work that was submitted before.
  virtual void destroy_image(Image image, const ImageShape& shape) noexcept = 0;
  virtual void copy_image(Backend::Stream stream, const Copy& copy) = 0;
  [[nodiscard]] virtual Access create_texture(Image image, const ImageShape& shape,
                                              const TextureOptions& options) = 0;
  virtual void destroy_texture(Access texture) noexcept = 0;
  [[nodiscard]] virtual Access create_surface(Image image, const ImageShape& shape, int level) = 0;
  virtual void destroy_surface(Access surface) noexcept = 0;
};

/// An image on a device: texels in an order of the device's own, reached by textures and surfaces.
///
/// A CUDA array, an OpenCL image, or memory of the host. Move-only; textures and surfaces of it
/// keep its texels. It is given back after all work on the device that was submitted before.
class ImageArray {
 public:
  /// Texels without values.
  ///
  /// @throws InvalidInput  runtime.image.bad_shape
  /// @throws Unsupported   runtime.image.unsupported: the device has no such images
  /// @throws DeviceError   the driver refused: too large, or no memory
  ImageArray(Device device, const ImageShape& shape);
  /// An image that something else owns, such as a CUarray of other code, of this shape.
  ///
  /// @param owner  kept while this image, or a texture or surface of it, is there
  /// @throws InvalidInput  runtime.image.bad_shape
  ImageArray(Device device, const ImageShape& shape, ImageBackend::Image image,
             std::shared_ptr<const void> owner);
  ImageArray(ImageArray&&) noexcept = default;
  ImageArray& operator=(ImageArray&&) noexcept = default;

  [[nodiscard]] Device device() const noexcept;
  [[nodiscard]] const ImageShape& shape() const noexcept;
  /// CUarray, CUmipmappedArray or cl_mem; on the host a pointer to an object of rtcg.
  [[nodiscard]] void* native_handle() const noexcept;

  struct State;
  /// For Texture and Surface, which keep it.
  [[nodiscard]] const std::shared_ptr<const State>& state() const noexcept { return state_; }

 private:
  std::shared_ptr<const State> state_;
};

/// A texture as a launch passes it: the type of the parameter of a Function, and what
/// `ArgumentPack::add` takes.
///
/// In the kernel it is a `cudaTextureObject_t` in CUDA, a `rtcg_texture` on the host
/// (`<rtcg/host_image.h>`), and in OpenCL an image followed by a `sampler_t`, which count as one
/// parameter.
struct TextureRef {
  ImageBackend::Access handle = 0;
};
/// A surface as a launch passes it: a `cudaSurfaceObject_t`, a `rtcg_surface`, in OpenCL an image
/// without a sampler.
struct SurfaceRef {
  ImageBackend::Access handle = 0;
};

/// Fetches from an image: any position, with an address mode and a filter. Move-only; must live
/// until the launches that use it are done.
///
/// Linear filtering takes weights of 8 bits on GPUs and the host, which rounds as an H200 does, and
/// of f32 where OpenCL runs on a CPU.
class Texture {
 public:
  /// @throws InvalidInput  runtime.texture.needs_normalised: wrap, mirror, and of a mipmap
  /// @throws InvalidInput  runtime.texture.unfiltered: linear, of i32, u8 or f64
  explicit Texture(const ImageArray& image, const TextureOptions& options = {});
  Texture(Texture&&) noexcept = default;
  Texture& operator=(Texture&&) noexcept = default;

  [[nodiscard]] Device device() const noexcept;
  [[nodiscard]] const TextureOptions& options() const noexcept;
  /// Of its image.
  [[nodiscard]] const ImageShape& shape() const noexcept;
  [[nodiscard]] TextureRef ref() const noexcept;
  // NOLINTNEXTLINE(google-explicit-constructor): an owner converts to a reference.
  operator TextureRef() const noexcept { return ref(); }

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

/// Reads and writes texels of an image by their index, which must be within it. Move-only; must
/// live until the launches that use it are done. Textures see writes of earlier launches.
class Surface {
 public:
  /// @param level  of a mipmap
  /// @throws InvalidInput  runtime.surface.kind: of f16, unorm8 or f64; runtime.image.out_of_range:
  ///                       no such level
  explicit Surface(const ImageArray& image, int level = 0);
  Surface(Surface&&) noexcept = default;
  Surface& operator=(Surface&&) noexcept = default;

  [[nodiscard]] Device device() const noexcept;
  /// Of its image, or of its level as an image without others.
  [[nodiscard]] const ImageShape& shape() const noexcept;
  [[nodiscard]] SurfaceRef ref() const noexcept;
  // NOLINTNEXTLINE(google-explicit-constructor): an owner converts to a reference.
  operator SurfaceRef() const noexcept { return ref(); }

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

/// Copies texels between memory, with rows and planes at the pitches of its layout (0: without
/// gaps), and a part of an image.
///
/// @throws InvalidInput  runtime.copy.out_of_range, runtime.copy.bad_pitch,
///                       runtime.image.out_of_range, runtime.copy.other_stream
/// @cost   asynchronous; host memory must stay valid until the copy is done
void copy_to_image(StreamRef stream, const RectEnd& source, const ImageArray& image,
                   const ImageWindow& window = {});
void copy_from_image(StreamRef stream, const ImageArray& image, const RectEnd& target,
                     const ImageWindow& window = {});

/// All texels, of a mipmap those of level 0, without gaps, from and to host data (`std::vector`,
/// `std::span`) or a buffer.
///
/// @throws InvalidInput  runtime.copy.out_of_range
template <class Range>
requires(!std::is_same_v<Range, RectEnd>) void copy_to_image(StreamRef stream, const Range& values,
                                                             const ImageArray& image) {
  if constexpr (requires { values.address(); }) {
    copy_to_image(stream, device_end(values.address(), values.size_bytes(), {}), image);
  } else {
    copy_to_image(stream, host_end(values, {}), image);
  }
}
template <class Range>
requires(!std::is_same_v<std::remove_cvref_t<Range>, RectEnd>) void copy_from_image(
    StreamRef stream, const ImageArray& image, Range&& values) {
  if constexpr (requires { values.address(); }) {
    copy_from_image(stream, image, device_end(values.address(), values.size_bytes(), {}));
  } else {
    copy_from_image(stream, image, host_end(values, {}));
  }
}

/// `f32`, `unorm8`.
[[nodiscard]] std::string_view name(TexelKind kind);

}  // namespace rtcg::runtime
