#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "rtcg/runtime/device/buffer.h"
#include "rtcg/runtime/device/device.h"
#include "rtcg/runtime/device/stream.h"

namespace rtcg::runtime {

/// What a back end offers whose streams set words of the host's memory and wait for them; found by
/// a cast of Backend.
class FlagBackend {
 public:
  virtual ~FlagBackend() = default;

  /// Whether it does, as a trial shows; asked for once.
  [[nodiscard]] virtual bool has_flags() = 0;
  /// Whether graphs have them as well.
  [[nodiscard]] virtual bool has_flags_in_graphs() = 0;
  virtual void set_flag(Backend::Stream stream, DeviceAddress flag, std::uint32_t value) = 0;
  virtual void wait_for_flag(Backend::Stream stream, DeviceAddress flag, std::uint32_t bits) = 0;
};

/// Whether streams of the device can use Flags: those of the host, and of CUDA where the driver has
/// memory operations of streams.
[[nodiscard]] bool has_flags(Device device);
/// Whether work with flags can be captured as a graph, too.
[[nodiscard]] bool has_flags_in_graphs(Device device);

/// Words in pinned memory of the host, zeros at first, by which streams of several devices of one
/// kind wait for each other: neither the host nor a kernel waits. Move-only. A stream may wait for
/// what is submitted later; work that never sets a flag leaves it waiting until the host does.
class Flags {
 public:
  /// @throws Unsupported  runtime.flags.unsupported: has_flags(device) is false
  Flags(Device device, std::size_t count);

  [[nodiscard]] std::size_t count() const noexcept { return words_.count(); }
  /// Sets a flag when the work submitted to the stream so far is done. Who sees it sees what that
  /// work wrote, in memory of any device.
  void set(StreamRef stream, std::size_t flag, std::uint32_t value) const;
  /// Lets later work of the stream wait until the flag has at least one of the bits.
  void wait(StreamRef stream, std::size_t flag, std::uint32_t bits) const;

  /// The word, for kernels, which must not keep it in a register.
  [[nodiscard]] BufferRef<std::uint32_t> word(std::size_t flag) const {
    return words_.subrange(flag, 1);
  }

  // By the host, at once.
  [[nodiscard]] std::uint32_t load(std::size_t flag) const noexcept;
  void store(std::size_t flag, std::uint32_t value) const noexcept;

 private:
  Buffer<std::uint32_t> words_;
};

}  // namespace rtcg::runtime
