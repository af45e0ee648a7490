// Images of the host: memory without gaps, and what `<rtcg/host_image.h>` reads of it.
#include <array>
#include <cstdlib>
#include <cstring>

#include "rtcg/runtime/host/host_backend.h"

namespace rtcg::runtime {
namespace {

// As in host_image_header().
struct HostImage {
  unsigned char* texels = nullptr;
  long long extent[3] = {1, 1, 1};
  long long row_bytes = 0;
  long long plane_bytes = 0;
  int kind = 0;
  int channels = 1;
  int address = 0;
  int is_linear = 0;
  int is_normalised = 0;
  int levels = 1;
  int has_linear_levels = 0;
};

// These numbers stand in the header's text.
static_assert(static_cast<int>(TexelKind::f16) == 1 && static_cast<int>(TexelKind::unorm8) == 4);
static_assert(static_cast<int>(AddressMode::border) == 1 &&
              static_cast<int>(AddressMode::wrap) == 2 &&
              static_cast<int>(AddressMode::mirror) == 3);

HostImage& host_image(ImageBackend::Image image) {
  return *static_cast<HostImage*>(image);
}

HostImage level_of(HostImage image, const ImageShape& shape, int level) {
  for (int l = 0; l < level; ++l) {
    image.texels += shape.level(l).size_bytes();
  }
  const ImageShape own = shape.level(level);
  for (int axis = 0; axis < 3; ++axis) {
    image.extent[axis] = static_cast<long long>(own.length(axis));
  }
  image.row_bytes = image.extent[0] * static_cast<long long>(shape.texel_bytes());
  image.plane_bytes = image.extent[1] * image.row_bytes;
  return image;
}

ImageBackend::Access access_of(const HostImage& image) {
  return reinterpret_cast<ImageBackend::Access>(new HostImage(image));
}

/// Row by row between memory and the image.
void copy_texels(const HostImage& image, const ImageBackend::Copy& copy) {
  const std::size_t row_bytes = copy.extent[0] * copy.shape.texel_bytes();
  for (std::size_t plane = 0; plane < copy.extent[2]; ++plane) {
    for (std::size_t row = 0; row < copy.extent[1]; ++row) {
      auto* const memory = reinterpret_cast<unsigned char*>(copy.memory.address +
                                                            plane * copy.memory.plane_pitch_bytes +
                                                            row * copy.memory.row_pitch_bytes);
      unsigned char* const texels =
          image.texels + (copy.origin[2] + plane) * static_cast<std::size_t>(image.plane_bytes) +
          (copy.origin[1] + row) * static_cast<std::size_t>(image.row_bytes) +
          copy.origin[0] * copy.shape.texel_bytes();
      if (copy.is_to_image) {
        std::memcpy(texels, memory, row_bytes);
      } else {
        std::memcpy(memory, texels, row_bytes);
      }
    }
  }
}

}  // namespace

std::string HostBackend::why_no_image(const ImageShape& /*shape*/) {
  return {};
}

ImageBackend::Image HostBackend::create_image(const ImageShape& shape) {
  std::size_t bytes = 0;
  for (int level = 0; level < shape.levels; ++level) {
    bytes += shape.level(level).size_bytes();
  }
  HostImage image;
  image.texels = reinterpret_cast<unsigned char*>(allocate(bytes, MemoryKind::device));
  image = level_of(image, shape, 0);
  image.levels = shape.levels;
  image.kind = static_cast<int>(shape.kind);
  image.channels = shape.channels;
  return new HostImage(image);
}

void HostBackend::destroy_image(Image image, const ImageShape& /*shape*/) noexcept {
  free(reinterpret_cast<DeviceAddress>(host_image(image).texels), MemoryKind::device);
  delete &host_image(image);
}

void HostBackend::copy_image(Stream stream, const Copy& copy) {
  queue(stream).submit([image = level_of(host_image(copy.image), copy.shape, copy.level),
                        copy] { copy_texels(image, copy); },
                       "copy");
}

ImageBackend::Access HostBackend::create_texture(Image image, const ImageShape& /*shape*/,
                                                 const TextureOptions& options) {
  HostImage texture = host_image(image);
  texture.address = static_cast<int>(options.address);
  texture.is_linear = options.filter == FilterMode::linear ? 1 : 0;
  texture.is_normalised = options.is_normalised ? 1 : 0;
  texture.has_linear_levels = options.level_filter == FilterMode::linear ? 1 : 0;
  return access_of(texture);
}

void HostBackend::destroy_texture(Access texture) noexcept {
  for (const auto& queue : queues()) {
    queue->wait();
  }
  delete reinterpret_cast<HostImage*>(texture);
}

ImageBackend::Access HostBackend::create_surface(Image image, const ImageShape& shape, int level) {
  return access_of(level_of(host_image(image), shape, level));
}

void HostBackend::destroy_surface(Access surface) noexcept {
  destroy_texture(surface);
}

}  // namespace rtcg::runtime
