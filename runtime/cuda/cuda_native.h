#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "rtcg/runtime/device/backend.h"
#include "rtcg/runtime/device/kernel.h"

struct CUctx_st;
struct CUmemPoolHandle_st;

namespace rtcg::runtime {

/// The functions of CUDA beyond the interface that all devices share. A cheap value; any thread may
/// use it.
///
/// Enumerations are CUDA's own numbers (`CU_DEVICE_ATTRIBUTE_WARP_SIZE` is 10), so all attributes
/// of the installed driver are available, and no CUDA header is needed here. Every function throws
/// DeviceError (runtime.cuda.call_failed) when the driver refuses, and Unsupported
/// (runtime.cuda.missing_function) when it is too old.
class CudaNative {
 public:
  /// @throws InvalidInput  runtime.cuda.other_device: it is not a CUDA device
  explicit CudaNative(Device device);

  /// CUDA's version that the driver serves: 13000 for 13.0.
  [[nodiscard]] int driver_version() const;
  /// A CUdevice, for functions of the driver.
  [[nodiscard]] int ordinal() const;
  /// `0000:1b:00.0`.
  [[nodiscard]] std::string pci_bus_id() const;
  /// Any CUdevice_attribute.
  [[nodiscard]] int attribute(int device_attribute) const;
  /// The device's primary context, as CUcontext. Retained for good, and shared with the CUDA
  /// runtime.
  [[nodiscard]] CUctx_st* primary_context() const;
  /// Makes the primary context this thread's current one for good, for foreign code that expects
  /// one. For a few calls into a library, CudaContextScope puts the former one back.
  void make_current() const;

  /// Any CUlimit: 0 stack of a thread, 1 printf's buffer, 2 heap; in bytes. The driver may give
  /// more than requested.
  [[nodiscard]] std::size_t limit(int which) const;
  void set_limit(int which, std::size_t value) const;
  /// CUfunc_cache: 0 no preference, 1 shared memory, 2 L1, 3 both alike.
  [[nodiscard]] int cache_config() const;
  void set_cache_config(int config) const;

  /// Any CUfunction_attribute: 5 PTX version, 6 binary version, 8 dynamic shared bytes, 9
  /// carve-out.
  [[nodiscard]] int kernel_attribute(const Kernel& kernel, int attribute) const;
  void set_kernel_attribute(const Kernel& kernel, int attribute, int value) const;
  void set_kernel_cache_config(const Kernel& kernel, int config) const;
  /// Offset and size in bytes of each parameter.
  [[nodiscard]] std::vector<std::pair<std::size_t, std::size_t>> parameters(
      const Kernel& kernel) const;

  /// The allocation of an address.
  struct PointerInfo {
    MemoryKind kind = MemoryKind::device;
    int device_ordinal = 0;
    DeviceAddress base = 0;  ///< of the allocation
    std::size_t size_bytes = 0;
  };
  /// Nothing for memory that the driver does not know.
  [[nodiscard]] std::optional<PointerInfo> pointer_info(DeviceAddress address) const;

  /// Device memory whose rows begin at addresses the device likes best; `Backend::free` frees it.
  struct PitchedMemory {
    DeviceAddress address = 0;
    std::size_t row_pitch_bytes = 0;
  };
  /// @param element_bytes  4, 8 or 16: the widest access a thread makes
  /// @throws DeviceError  runtime.cuda.call_failed
  [[nodiscard]] PitchedMemory allocate_pitched(std::size_t row_bytes, std::size_t rows,
                                               unsigned int element_bytes = 4) const;
  /// Page-locked memory that the host should only write, in order: faster for the device to read.
  /// `Backend::free` with MemoryKind::pinned frees it.
  [[nodiscard]] DeviceAddress allocate_write_combined(std::size_t size_bytes) const;

  /// Moves managed memory to the device, or to the host, before it is needed.
  void prefetch_to_device(StreamRef stream, DeviceAddress address, std::size_t size_bytes) const;
  void prefetch_to_host(StreamRef stream, DeviceAddress address, std::size_t size_bytes) const;
  /// Any CUmem_advise for this device, on managed memory: 1 mostly read, 3 preferred place,
  /// 5 accessed by; each plus one takes it back.
  void advise(DeviceAddress address, std::size_t size_bytes, int advice) const;
  /// CUmemAttach_flags of managed memory: 1 global, 2 host, 4 this stream alone.
  void attach(StreamRef stream, DeviceAddress address, unsigned int flags) const;

  /// The pool of stream-ordered allocations: rtcg's own, never the device's default one.
  [[nodiscard]] CUmemPoolHandle_st* memory_pool() const;
  struct PoolUse {
    std::size_t reserved_bytes = 0;
    std::size_t used_bytes = 0;
  };
  [[nodiscard]] PoolUse pool_use() const;
  /// Releases free memory except this amount.
  void trim_pool(std::size_t keep_bytes = 0) const;

  /// Begin and end of the recording of a profiler that was started without it.
  void start_profiler() const;
  void stop_profiler() const;

  /// One input of `link`: a result of the compiler, or an archive such as libcudadevrt.a.
  struct LinkInput {
    enum class Kind { cubin, ptx, archive };
    Kind kind = Kind::cubin;
    std::span<const std::byte> bytes;
    std::string name;  ///< for messages
  };
  /// Links separately compiled code (`--relocatable-device-code=true`) to one program.
  ///
  /// @throws DeviceError  runtime.cuda.call_failed, with the linker's words
  [[nodiscard]] CompiledProgram link(std::span<const LinkInput> inputs) const;

 private:
  Device device_;
};

/// Makes a device's primary context current on this thread while it lives, and then the one before
/// it again: for calls into libraries such as cuBLAS, which work on the current device.
class CudaContextScope {
 public:
  /// @throws InvalidInput  runtime.cuda.other_device: it is not a CUDA device
  explicit CudaContextScope(Device device);
  ~CudaContextScope();
  CudaContextScope(const CudaContextScope&) = delete;
  CudaContextScope& operator=(const CudaContextScope&) = delete;

 private:
  struct Scope;
  std::unique_ptr<Scope> scope_;
};

}  // namespace rtcg::runtime
