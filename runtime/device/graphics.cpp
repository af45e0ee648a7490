#include "rtcg/runtime/device/graphics.h"

#include <utility>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"

namespace rtcg::runtime {
namespace {

GraphicsBackend& graphics_of(Device device) {
  auto* const found = dynamic_cast<GraphicsBackend*>(&device.backend());
  if (found == nullptr) {
    throw Unsupported(
        "runtime.graphics.unsupported",
        fmt::format("'{}' shares no memory with OpenGL: devices of CUDA do", device.info().name));
  }
  return *found;
}

// What a device knows of an object of OpenGL, whichever it is.
struct Registered {
  Device device;
  GraphicsBackend& backend;
  GraphicsBackend::Resource resource;

  Registered(Device of, GraphicsBackend& of_device, GraphicsBackend::Resource given)
      : device(of), backend(of_device), resource(given) {}
  Registered(const Registered&) = delete;
  Registered& operator=(const Registered&) = delete;
  ~Registered() { backend.unregister(resource); }
};

// Mapped while it lives.
struct Mapping {
  std::shared_ptr<const Registered> of;
  StreamRef stream;

  Mapping(StreamRef on, std::shared_ptr<const Registered> given)
      : of(std::move(given)), stream(on) {
    if (stream.device() != of->device) {
      throw InvalidInput(
          "runtime.graphics.other_stream",
          fmt::format("an object of OpenGL that is known to '{}' is mapped on a "
                      "stream of '{}': use one of the first",
                      to_string(of->device.info().id), to_string(stream.device().info().id)));
    }
    of->backend.map(stream.native_handle(), of->resource);
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping() { of->backend.unmap(stream.native_handle(), of->resource); }
};

}  // namespace

struct OpenGlBuffer::State : Registered {
  using Registered::Registered;
};
struct OpenGlImage::State : Registered {
  using Registered::Registered;
};

bool draws_opengl(Device device) {
  auto* const found = dynamic_cast<GraphicsBackend*>(&device.backend());
  return found != nullptr && found->draws_opengl();
}

OpenGlBuffer::OpenGlBuffer(Device device, std::uint32_t buffer, GraphicsAccess access) {
  GraphicsBackend& backend = graphics_of(device);
  state_ = std::make_shared<const State>(device, backend,
                                         backend.register_opengl_buffer(buffer, access));
}

Device OpenGlBuffer::device() const noexcept {
  return state_->device;
}

OpenGlImage::OpenGlImage(Device device, std::uint32_t image, std::uint32_t target,
                         GraphicsAccess access) {
  GraphicsBackend& backend = graphics_of(device);
  state_ = std::make_shared<const State>(device, backend,
                                         backend.register_opengl_image(image, target, access));
}

Device OpenGlImage::device() const noexcept {
  return state_->device;
}

MappedOpenGlBuffer::MappedOpenGlBuffer(StreamRef stream, const OpenGlBuffer& buffer)
    : mapping_(std::make_shared<const Mapping>(stream, buffer.state())), ref_([&] {
        const OpenGlBuffer::State& of = *buffer.state();
        const GraphicsBackend::Memory memory = of.backend.mapped_memory(of.resource);
        return BufferRef<std::byte>(of.device, memory.address, memory.size_bytes);
      }()) {}

ImageArray map_image(StreamRef stream, const OpenGlImage& image, TexelKind kind,
                     const MappedImageOptions& options) {
  const OpenGlImage::State& of = *image.state();
  auto mapping = std::make_shared<const Mapping>(stream, image.state());
  const GraphicsBackend::Texels texels =
      of.backend.mapped_image(of.resource, options.layer, options.level, kind);
  return {of.device, texels.shape, texels.image, std::move(mapping)};
}

}  // namespace rtcg::runtime
