#include "rtcg/runtime/device/image.h"

#include <algorithm>
#include <bit>
#include <utility>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/runtime/device/checked_end.h"
#include "rtcg/runtime/device/launch_capture.h"

namespace rtcg::runtime {
namespace {

std::string words(const ImageShape& shape) {
  std::string extent = std::to_string(shape.extent.width);
  for (const std::size_t length : {shape.extent.height, shape.extent.depth}) {
    extent += length == 0 ? "" : " x " + std::to_string(length);
  }
  const std::string layers = shape.layers == 0 ? "" : fmt::format(" in {} layers", shape.layers);
  const std::string levels = shape.levels == 1 ? "" : fmt::format(" with {} levels", shape.levels);
  return fmt::format("an image of {} texels of {} channels of {}{}{}", extent, shape.channels,
                     name(shape.kind), layers, levels);
}

ImageBackend& images_of(Device device, const ImageShape& shape) {
  auto* const found = dynamic_cast<ImageBackend*>(&device.backend());
  const std::string why = found == nullptr ? "its back end has none" : found->why_no_image(shape);
  if (!why.empty()) {
    throw Unsupported(
        "runtime.image.unsupported",
        fmt::format("'{}' does not have {}: {}", device.info().name, words(shape), why));
  }
  return *found;
}

}  // namespace

void check_image_shape(const ImageShape& shape) {
  const auto refuse = [&](const char* why) {
    throw InvalidInput("runtime.image.bad_shape",
                       fmt::format("{} cannot be made: {}", words(shape), why));
  };
  if (shape.channels != 1 && shape.channels != 2 && shape.channels != 4) {
    refuse("a texel has 1, 2 or 4 channels");
  }
  if (shape.kind == TexelKind::f64 && shape.channels == 4) {
    refuse("a texel has 1 or 2 channels of f64, kept as 2 or 4 of i32");
  }
  if (shape.extent.width == 0 || (shape.extent.depth != 0 && shape.extent.height == 0)) {
    refuse("it has a width; with a depth, it has a height");
  }
  if (shape.layers != 0 && shape.extent.depth != 0) {
    refuse("images of layers have 1 or 2 axes");
  }
  if (shape.layers != 0 && shape.levels != 1) {
    refuse("it has layers or levels, not both: make an image for each layer");
  }
  if (shape.levels < 1 || shape.levels > shape.most_levels()) {
    refuse("it has 1 level at least, and no more than until each axis has one texel");
  }
  std::size_t bytes = shape.texel_bytes();
  for (int axis = 0; axis < 3; ++axis) {
    if (__builtin_mul_overflow(bytes, shape.length(axis), &bytes)) {
      refuse("it has more bytes than can be counted");
    }
  }
}

std::string_view name(TexelKind kind) {
  constexpr std::array<std::string_view, 6> names = {"f32", "f16", "i32", "u8", "unorm8", "f64"};
  return names[static_cast<std::size_t>(kind)];
}

std::size_t ImageShape::texel_bytes() const noexcept {
  constexpr std::array<std::size_t, 6> channel_bytes = {4, 2, 4, 1, 1, 8};
  return channel_bytes[static_cast<std::size_t>(kind)] * static_cast<std::size_t>(channels);
}

std::size_t ImageShape::length(int axis) const noexcept {
  const std::array<std::size_t, 3> lengths = {extent.width, extent.height, extent.depth};
  return std::max<std::size_t>(
      axis == dimensions() ? layers : lengths[static_cast<std::size_t>(axis)], 1);
}

ImageShape ImageShape::level(int level) const noexcept {
  ImageShape shape = *this;
  shape.levels = 1;
  for (std::size_t* length : {&shape.extent.width, &shape.extent.height, &shape.extent.depth}) {
    *length = *length == 0 ? 0 : std::max<std::size_t>(*length >> level, 1);
  }
  return shape;
}

int ImageShape::most_levels() const noexcept {
  return static_cast<int>(std::bit_width(std::max({extent.width, extent.height, extent.depth})));
}

std::size_t ImageShape::size_bytes() const noexcept {
  return texel_bytes() * length(0) * length(1) * length(2);
}

struct ImageArray::State {
  Device device;
  ImageShape shape;
  ImageBackend& backend;
  ImageBackend::Image handle;
  std::shared_ptr<const void> owner;  // nothing: this owns the image

  State(Device of, const ImageShape& given)
      : device(of),
        shape(given),
        backend((check_image_shape(given), images_of(of, given))),
        handle(backend.create_image(given)) {}
  State(Device of, const ImageShape& given, ImageBackend::Image image,
        std::shared_ptr<const void> of_image)
      : device(of),
        shape(given),
        backend((check_image_shape(given), images_of(of, given))),
        handle(image),
        owner(std::move(of_image)) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    if (owner == nullptr) {
      backend.destroy_image(handle, shape);
    }
  }
};

ImageArray::ImageArray(Device device, const ImageShape& shape)
    : state_(std::make_shared<const State>(device, shape)) {}

ImageArray::ImageArray(Device device, const ImageShape& shape, ImageBackend::Image image,
                       std::shared_ptr<const void> owner)
    : state_(std::make_shared<const State>(device, shape, image, std::move(owner))) {}

Device ImageArray::device() const noexcept {
  return state_->device;
}

const ImageShape& ImageArray::shape() const noexcept {
  return state_->shape;
}

void* ImageArray::native_handle() const noexcept {
  return state_->handle;
}

struct Texture::State {
  std::shared_ptr<const ImageArray::State> image;
  TextureOptions options;
  ImageBackend::Access handle;

  State(std::shared_ptr<const ImageArray::State> of, const TextureOptions& given)
      : image(std::move(of)),
        options(given),
        handle(image->backend.create_texture(image->handle, image->shape, given)) {
    detail::note_image(image->device, handle, {image->handle, image->shape, false, given, 0});
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    detail::forget_image(image->device, handle);
    image->backend.destroy_texture(handle);
  }
};

Texture::Texture(const ImageArray& image, const TextureOptions& options) {
  const bool repeats =
      options.address == AddressMode::wrap || options.address == AddressMode::mirror;
  if (repeats && !options.is_normalised) {
    throw InvalidInput("runtime.texture.needs_normalised",
                       "a texture that wraps or mirrors takes normalised coordinates: set "
                       "is_normalised, and divide coordinates by the lengths of the axes");
  }
  if (image.shape().levels > 1 && !options.is_normalised) {
    throw InvalidInput("runtime.texture.needs_normalised",
                       "levels of a mipmap differ in length, so its texture takes normalised "
                       "coordinates: set is_normalised, and divide coordinates by the lengths");
  }
  const TexelKind kind = image.shape().kind;
  const bool is_real =
      kind == TexelKind::f32 || kind == TexelKind::f16 || kind == TexelKind::unorm8;
  if ((options.filter == FilterMode::linear || options.level_filter == FilterMode::linear) &&
      !is_real) {
    throw InvalidInput("runtime.texture.unfiltered",
                       fmt::format("a texture of {} is not filtered: fetch points, or make an "
                                   "image of f32, f16 or unorm8",
                                   name(kind)));
  }
  state_ = std::make_shared<const State>(image.state(), options);
}

Device Texture::device() const noexcept {
  return state_->image->device;
}

const TextureOptions& Texture::options() const noexcept {
  return state_->options;
}

const ImageShape& Texture::shape() const noexcept {
  return state_->image->shape;
}

TextureRef Texture::ref() const noexcept {
  return {state_->handle};
}

struct Surface::State {
  std::shared_ptr<const ImageArray::State> image;
  ImageShape shape;
  ImageBackend::Access handle;

  State(std::shared_ptr<const ImageArray::State> of, int level)
      : image(std::move(of)),
        shape(image->shape.levels > 1 ? image->shape.level(level) : image->shape),
        handle(image->backend.create_surface(image->handle, image->shape, level)) {
    detail::note_image(image->device, handle, {image->handle, image->shape, true, {}, level});
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    detail::forget_image(image->device, handle);
    image->backend.destroy_surface(handle);
  }
};

namespace {

void check_level(const ImageShape& shape, int level) {
  if (level < 0 || level >= shape.levels) {
    throw InvalidInput(
        "runtime.image.out_of_range",
        fmt::format("level {} is not within {}: levels count from 0", level, words(shape)));
  }
}

}  // namespace

Surface::Surface(const ImageArray& image, int level) {
  check_level(image.shape(), level);
  const TexelKind kind = image.shape().kind;
  if (kind != TexelKind::f32 && kind != TexelKind::i32 && kind != TexelKind::u8) {
    throw InvalidInput("runtime.surface.kind",
                       fmt::format("an image of {} has no surface: back ends convert its texels "
                                   "in fetches only; make one of f32, i32 or u8",
                                   name(kind)));
  }
  state_ = std::make_shared<const State>(image.state(), level);
}

Device Surface::device() const noexcept {
  return state_->image->device;
}

const ImageShape& Surface::shape() const noexcept {
  return state_->shape;
}

SurfaceRef Surface::ref() const noexcept {
  return {state_->handle};
}

namespace {

/// The window's extent, checked.
std::array<std::size_t, 3> extent_of(const ImageShape& shape, const ImageWindow& window) {
  std::array<std::size_t, 3> extent = window.extent;
  for (int axis = 0; axis < 3; ++axis) {
    const auto i = static_cast<std::size_t>(axis);
    const std::size_t length = shape.length(axis);
    if (window.origin[i] >= length || extent[i] > length - window.origin[i]) {
      throw InvalidInput("runtime.image.out_of_range",
                         fmt::format("{} texels from texel {} on, along axis {}, are not within {}",
                                     window.extent[i], window.origin[i], axis, words(shape)));
    }
    if (extent[i] == 0) {
      extent[i] = length - window.origin[i];
    }
  }
  return extent;
}

void copy_image(StreamRef stream, const RectEnd& memory, const ImageArray& image,
                const ImageWindow& window, bool is_to_image) {
  if (stream.device() != image.device()) {
    throw InvalidInput(
        "runtime.copy.other_stream",
        fmt::format("an image of '{}' is copied on a stream of '{}'",
                    to_string(image.device().info().id), to_string(stream.device().info().id)));
  }
  ImageBackend::Copy copy;
  copy.image = image.native_handle();
  copy.shape = image.shape();
  copy.origin = window.origin;
  copy.level = window.level;
  check_level(image.shape(), window.level);
  copy.extent = extent_of(image.shape().level(window.level), window);
  copy.is_to_image = is_to_image;
  copy.memory = detail::checked_end(
      memory, {copy.extent[0] * copy.shape.texel_bytes(), copy.extent[1], copy.extent[2]});
  image.state()->backend.copy_image(stream.native_handle(), copy);
}

}  // namespace

void copy_to_image(StreamRef stream, const RectEnd& source, const ImageArray& image,
                   const ImageWindow& window) {
  copy_image(stream, source, image, window, true);
}

void copy_from_image(StreamRef stream, const ImageArray& image, const RectEnd& target,
                     const ImageWindow& window) {
  copy_image(stream, target, image, window, false);
}

}  // namespace rtcg::runtime
