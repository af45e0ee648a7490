#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "rtcg/runtime/device/buffer.h"
#include "rtcg/runtime/device/image.h"
#include "rtcg/runtime/device/stream.h"

// Memory and semaphores that Vulkan, or another library that gives file descriptors of them, shares
// with a device. On CUDA devices under Linux; others have none.
//
// Both sides must use the same GPU: compare DeviceInfo::id with VkPhysicalDeviceIDProperties.
//
// @throws Unsupported  runtime.external.unsupported: a device of another kind
// @source "CUDA Driver API", chapter "External Resource Interoperability"

namespace rtcg::runtime {

struct ExternalMemoryOptions {
  std::size_t size_bytes = 0;  ///< of the allocation, as the other library made it
  bool is_dedicated = false;   ///< to one buffer or image: VkMemoryDedicatedAllocateInfo
};

enum class ExternalSemaphoreKind {
  binary,    ///< default: signalled or not; each wait takes one signal
  timeline,  ///< a number that grows
};

/// What a back end offers that imports both; found by a cast of Backend.
class ExternalBackend {
 public:
  using Memory = void*;     ///< CUexternalMemory
  using Semaphore = void*;  ///< CUexternalSemaphore
  using Mipmap = void*;     ///< CUmipmappedArray, which owns the image

  virtual ~ExternalBackend() = default;
  [[nodiscard]] virtual Memory import_external(int file_descriptor,
                                               const ExternalMemoryOptions& options) = 0;
  virtual void destroy_external(Memory memory) noexcept = 0;
  [[nodiscard]] virtual DeviceAddress map_external(Memory memory, std::size_t size_bytes) = 0;
  /// After the work that was submitted before.
  virtual void unmap_external(DeviceAddress address) noexcept = 0;
  [[nodiscard]] virtual Mipmap external_image(Memory memory, std::size_t offset_bytes,
                                              const ImageShape& shape, bool is_drawn_to) = 0;
  /// Of one level the array, otherwise the mipmap.
  [[nodiscard]] virtual ImageBackend::Image texels_of(Mipmap mipmap, const ImageShape& shape) = 0;
  virtual void destroy_external_image(Mipmap mipmap) noexcept = 0;

  [[nodiscard]] virtual Semaphore import_semaphore(int file_descriptor,
                                                   ExternalSemaphoreKind kind) = 0;
  virtual void destroy_semaphore(Semaphore semaphore) noexcept = 0;
  virtual void signal(Backend::Stream stream, Semaphore semaphore, std::uint64_t value) = 0;
  virtual void wait(Backend::Stream stream, Semaphore semaphore, std::uint64_t value) = 0;
};

/// An allocation of another library. Move-only; images of it keep it.
class ExternalMemory {
 public:
  /// @param file_descriptor  from vkGetMemoryFdKHR, of the type OPAQUE_FD; the device closes it,
  ///                         unless this throws
  /// @throws InvalidInput  runtime.external.no_size: options.size_bytes is 0
  /// @throws DeviceError   runtime.cuda.call_failed: it is of another GPU, or no such memory
  ExternalMemory(Device device, int file_descriptor, const ExternalMemoryOptions& options);
  ExternalMemory(ExternalMemory&&) noexcept = default;
  ExternalMemory& operator=(ExternalMemory&&) noexcept = default;

  [[nodiscard]] Device device() const noexcept;
  [[nodiscard]] std::size_t size_bytes() const noexcept;

  /// All of its bytes, for buffers; `.as<float>()`. Mapped by the first call.
  [[nodiscard]] BufferRef<std::byte> ref() const;

  struct ImageOptions {
    std::size_t offset_bytes = 0;  ///< where the other library has bound its image
    bool is_drawn_to = false;      ///< the other library's image is a colour attachment
  };
  /// An image with optimal tiling that the other library has bound to this memory, with the same
  /// format, extent and levels.
  [[nodiscard]] ImageArray image(const ImageShape& shape, const ImageOptions& options) const;
  [[nodiscard]] ImageArray image(const ImageShape& shape) const { return image(shape, {}); }

  struct State;

 private:
  std::shared_ptr<State> state_;
};

/// A semaphore of another library, by which its queues and streams wait for each other while no
/// host waits. Move-only; must live until the work that uses it is done.
class ExternalSemaphore {
 public:
  /// @param file_descriptor  from vkGetSemaphoreFdKHR, of the type OPAQUE_FD; the device closes it,
  ///                         unless this throws
  /// @throws DeviceError  runtime.cuda.call_failed: no such semaphore
  ExternalSemaphore(Device device, int file_descriptor,
                    ExternalSemaphoreKind kind = ExternalSemaphoreKind::binary);
  ExternalSemaphore(ExternalSemaphore&&) noexcept = default;
  ExternalSemaphore& operator=(ExternalSemaphore&&) noexcept = default;

  [[nodiscard]] Device device() const noexcept;
  /// Signals, or sets a timeline to `value`, when the work submitted to the stream so far is done.
  ///
  /// @throws InvalidInput  runtime.external.bad_value: a value for a binary one, or 0 for a
  ///                       timeline; runtime.external.other_stream
  void signal(StreamRef stream, std::uint64_t value = 0) const;
  /// Lets later work of the stream wait for the signal, or until the timeline is at `value`.
  ///
  /// @throws InvalidInput  as of `signal`
  void wait(StreamRef stream, std::uint64_t value = 0) const;

 private:
  void check(StreamRef stream, std::uint64_t value) const;

  struct State;
  std::shared_ptr<const State> state_;
};

}  // namespace rtcg::runtime
