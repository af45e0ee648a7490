#pragma once
// Internal header: it is not installed.

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>

#include "rtcg/runtime/device/backend.h"
#include "rtcg/runtime/opencl/opencl_api.h"

namespace rtcg::runtime::opencl {

/// The name of this address on the host or in shared virtual memory.
[[nodiscard]] inline void* pointer(DeviceAddress address) {
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));
}

struct ReleaseBuffer {
  const Api* api;
  void operator()(cl_mem buffer) const noexcept { api->clReleaseMemObject(buffer); }
};
using HeldBuffer = std::unique_ptr<std::remove_pointer_t<cl_mem>, ReleaseBuffer>;

/// Memory of a device without shared virtual memory: buffer objects under made-up addresses.
///
/// The addresses are numbers that no pointer of the host has, so arithmetic on them is plain byte
/// arithmetic, and any other address is the host's. Any thread may call.
class BufferMemory {
 public:
  explicit BufferMemory(const Api& api) noexcept : api_(api) {}

  /// 0 where the driver has not that much.
  [[nodiscard]] DeviceAddress allocate(cl_context context, std::size_t size_bytes);
  void free(DeviceAddress address) noexcept;

  /// Either address may be the host's.
  void copy(cl_command_queue queue, DeviceAddress target, DeviceAddress source,
            std::size_t size_bytes, bool blocking) const;
  /// The pattern's length divides the address.
  ///
  /// @throws Unsupported  runtime.opencl.no_zero_copy
  void fill(cl_command_queue queue, DeviceAddress address, std::span<const std::byte> pattern,
            std::size_t size_bytes) const;

  /// Sets a pointer to global or constant memory.
  ///
  /// @returns  an object that must live until the kernel is enqueued; empty if there is none
  /// @throws Unsupported  runtime.opencl.unaligned_pointer, runtime.opencl.no_zero_copy
  [[nodiscard]] HeldBuffer set_argument(cl_kernel kernel, cl_uint index,
                                        DeviceAddress address) const;

  struct Place {
    cl_mem buffer = nullptr;
    std::size_t offset_bytes = 0;
    std::size_t rest_bytes = 0;
  };
  /// Where an address of device memory is.
  [[nodiscard]] std::optional<Place> find(DeviceAddress address) const;

 private:
  struct Allocation {
    cl_mem buffer = nullptr;
    std::size_t size_bytes = 0;
  };
  [[nodiscard]] Place must_find(DeviceAddress address, std::string_view what) const;

  const Api& api_;
  mutable std::mutex mutex_;  // of everything below
  std::map<DeviceAddress, Allocation> allocations_;
  DeviceAddress next_ = DeviceAddress{1} << 60;  // above what any host addresses
};

}  // namespace rtcg::runtime::opencl
