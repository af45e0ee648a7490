#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "rtcg/runtime/device/buffer.h"
#include "rtcg/runtime/device/image.h"
#include "rtcg/runtime/device/stream.h"

// Buffers and images of OpenGL that kernels read and write where they are, without a copy. On CUDA
// devices; others have none. Memory and semaphores of Vulkan: external.h.
//
// Making, mapping and destroying them takes the thread on which the context of OpenGL is current.
//
// @throws Unsupported  runtime.graphics.unsupported: a device of another kind
// @source "CUDA Driver API", chapters "Graphics Interoperability" and "OpenGL Interoperability"

namespace rtcg::runtime {

/// What kernels do with the memory; OpenGL does with it what it likes, while it is not mapped.
enum class GraphicsAccess {
  read_write,  ///< default
  read,
  write,  ///< all of it: what was there before may be lost
};

/// What a back end offers whose devices share memory with OpenGL; found by a cast of Backend.
class GraphicsBackend {
 public:
  using Resource = void*;  ///< CUgraphicsResource

  virtual ~GraphicsBackend() = default;
  /// Whether the current context of OpenGL draws on this device.
  [[nodiscard]] virtual bool draws_opengl() = 0;
  [[nodiscard]] virtual Resource register_opengl_buffer(std::uint32_t buffer,
                                                        GraphicsAccess access) = 0;
  [[nodiscard]] virtual Resource register_opengl_image(std::uint32_t image, std::uint32_t target,
                                                       GraphicsAccess access) = 0;
  virtual void unregister(Resource resource) noexcept = 0;
  virtual void map(Backend::Stream stream, Resource resource) = 0;
  virtual void unmap(Backend::Stream stream, Resource resource) noexcept = 0;
  struct Memory {
    DeviceAddress address = 0;
    std::size_t size_bytes = 0;
  };
  [[nodiscard]] virtual Memory mapped_memory(Resource resource) = 0;
  struct Texels {
    ImageBackend::Image image = nullptr;
    ImageShape shape;
  };
  /// @param kind  as what kernels read a channel
  /// @throws InvalidInput  runtime.graphics.other_texels
  [[nodiscard]] virtual Texels mapped_image(Resource resource, int layer, int level,
                                            TexelKind kind) = 0;
};

/// Whether the context of OpenGL that is current on this thread draws on the device, so that its
/// buffers and images can be used there. Without a context, and on devices of other kinds, false.
[[nodiscard]] bool draws_opengl(Device device);

/// A buffer of OpenGL, known to a device. Move-only; must live as long as it is mapped, and end
/// before the buffer is deleted.
class OpenGlBuffer {
 public:
  /// @param buffer  its name, from glGenBuffers; it has memory
  /// @throws DeviceError  runtime.cuda.call_failed: no context of OpenGL is current, it draws on
  ///                      another device, or it has no such buffer
  OpenGlBuffer(Device device, std::uint32_t buffer,
               GraphicsAccess access = GraphicsAccess::read_write);
  OpenGlBuffer(OpenGlBuffer&&) noexcept = default;
  OpenGlBuffer& operator=(OpenGlBuffer&&) noexcept = default;

  [[nodiscard]] Device device() const noexcept;

  struct State;
  [[nodiscard]] const std::shared_ptr<const State>& state() const noexcept { return state_; }

 private:
  std::shared_ptr<const State> state_;
};

/// A texture or renderbuffer of OpenGL, known to a device. Move-only, as OpenGlBuffer.
class OpenGlImage {
 public:
  /// @param image   its name, from glGenTextures or glGenRenderbuffers; it has texels of 1, 2 or 4
  ///                channels
  /// @param target  GL_TEXTURE_2D, GL_TEXTURE_3D, GL_TEXTURE_2D_ARRAY, GL_TEXTURE_CUBE_MAP,
  ///                GL_RENDERBUFFER ...
  /// @throws DeviceError  runtime.cuda.call_failed: as of a buffer, or a format that CUDA lacks
  OpenGlImage(Device device, std::uint32_t image, std::uint32_t target,
              GraphicsAccess access = GraphicsAccess::read_write);
  OpenGlImage(OpenGlImage&&) noexcept = default;
  OpenGlImage& operator=(OpenGlImage&&) noexcept = default;

  [[nodiscard]] Device device() const noexcept;

  struct State;
  [[nodiscard]] const std::shared_ptr<const State>& state() const noexcept { return state_; }

 private:
  std::shared_ptr<const State> state_;
};

/// A buffer of OpenGL while kernels may use it, and OpenGL may not. Move-only. What OpenGL did
/// before comes before the stream's later work; when this ends, the stream's work until then comes
/// before what OpenGL does later. The stream must outlive it.
class MappedOpenGlBuffer {
 public:
  /// @throws InvalidInput  runtime.graphics.other_stream: the stream is of another device
  MappedOpenGlBuffer(StreamRef stream, const OpenGlBuffer& buffer);
  MappedOpenGlBuffer(MappedOpenGlBuffer&&) noexcept = default;
  MappedOpenGlBuffer& operator=(MappedOpenGlBuffer&&) noexcept = default;

  /// All of its bytes; `.as<float>()`.
  [[nodiscard]] BufferRef<std::byte> ref() const noexcept { return ref_; }

 private:
  std::shared_ptr<const void> mapping_;
  BufferRef<std::byte> ref_;
};

struct MappedImageOptions {
  int layer = 0;  ///< of an array of textures, or the face of a cube
  int level = 0;  ///< of a mipmap
};

/// A level of an image of OpenGL while kernels may use it, as MappedOpenGlBuffer. It has the extent
/// and channels of OpenGL's image. It is mapped until the result, and textures and surfaces of it,
/// have ended.
///
/// @param kind  as what kernels read a channel: of GL_RGBA8 u8 or unorm8, of GL_R32F f32, of
///              GL_RGBA16F f16, of GL_R32I and GL_R32UI i32
/// @throws InvalidInput  runtime.graphics.other_texels: its channels are of another kind, and the
///                       message says of which; runtime.graphics.other_stream
[[nodiscard]] ImageArray map_image(StreamRef stream, const OpenGlImage& image, TexelKind kind,
                                   const MappedImageOptions& options = {});

}  // namespace rtcg::runtime
