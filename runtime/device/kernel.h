#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "rtcg/runtime/device/buffer.h"
#include "rtcg/runtime/device/launch_shape.h"
#include "rtcg/runtime/device/stream.h"

namespace rtcg::runtime {

namespace detail {

struct LoadedProgram;

/// The data for launches, gathered once at lookup.
struct LoadedKernel {
  std::shared_ptr<const LoadedProgram> program;  // keeps the code loaded
  Device device;
  Backend::Kernel handle;
  KernelAttributes attributes;
  std::uint64_t max_threads;
  std::size_t max_dynamic_shared_bytes;
  bool launches_synchronously;  // debug mode
};

/// Checks the shape against the limits and launches.
void launch(const LoadedKernel& kernel, StreamRef stream, const LaunchShape& shape,
            const ArgumentView& arguments);

}  // namespace detail

/// Argument values that are known only at run time, in the order of the kernel's parameters.
///
/// Holds copies of the values; the memory of addresses must live until the kernel is done. May be
/// used for any number of launches. Not thread-safe while being changed.
class ArgumentPack {
 public:
  /// A scalar or a struct, by value.
  template <class T>
  ArgumentPack& add(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>, "argument values are copied byte by byte");
    return add_bytes(std::as_bytes(std::span<const T>(&value, 1)));
  }
  template <class T>
  ArgumentPack& add(const Buffer<T>& buffer) {
    return add(buffer.address());
  }
  template <class T>
  ArgumentPack& add(const BufferRef<T>& buffer) {
    return add(buffer.address());
  }
  ArgumentPack& add_bytes(std::span<const std::byte> value);
  /// Reserves memory for this number of values, so adding them does not allocate.
  void reserve(std::size_t count);
  void clear() noexcept;

  [[nodiscard]] std::size_t count() const noexcept { return sizes_bytes_.size(); }
  /// Valid until the pack is changed.
  [[nodiscard]] ArgumentView view() const noexcept { return {pointers_, sizes_bytes_}; }

  ArgumentPack() = default;
  ArgumentPack(const ArgumentPack& other);
  ArgumentPack& operator=(const ArgumentPack& other);
  ArgumentPack(ArgumentPack&&) noexcept = default;
  ArgumentPack& operator=(ArgumentPack&&) noexcept = default;
  ~ArgumentPack() = default;

 private:
  struct alignas(16) Cell {
    std::byte bytes[16];
  };
  void point_to_cells();

  std::vector<Cell> cells_;
  std::vector<std::size_t> first_cells_;
  std::vector<std::size_t> sizes_bytes_;
  std::vector<void*> pointers_;
};

/// A kernel of a loaded program, launched with arguments known at run time. A cheap value that
/// keeps its program loaded; any thread may use it. Function (function.h) is the same, typed.
class Kernel {
 public:
  explicit Kernel(std::shared_ptr<const detail::LoadedKernel> loaded) noexcept
      : loaded_(std::move(loaded)) {}

  /// As the binary spells it: lowered, for a template.
  [[nodiscard]] const std::string& name() const noexcept { return loaded_->attributes.name; }
  [[nodiscard]] Device device() const noexcept { return loaded_->device; }
  [[nodiscard]] const KernelAttributes& attributes() const noexcept { return loaded_->attributes; }
  /// CUfunction or cl_kernel; on the host a pointer to an object of rtcg.
  [[nodiscard]] void* native_handle() const noexcept { return loaded_->handle; }
  [[nodiscard]] const std::shared_ptr<const detail::LoadedKernel>& loaded() const noexcept {
    return loaded_;
  }

  /// Blocks of that many threads that one multiprocessor holds at once.
  ///
  /// @throws Unsupported  runtime.occupancy.unsupported
  [[nodiscard]] int blocks_per_multiprocessor(int block_threads,
                                              std::size_t shared_bytes = 0) const {
    return device().backend().blocks_per_multiprocessor(loaded_->handle, block_threads,
                                                        shared_bytes);
  }
  /// The block length with the highest occupancy. @throws  as blocks_per_multiprocessor
  [[nodiscard]] int suggested_block_threads(std::size_t shared_bytes = 0) const {
    return device().backend().suggested_block_threads(loaded_->handle, shared_bytes);
  }

  /// Runs the kernel on the stream, asynchronously. A shape without blocks runs nothing.
  ///
  /// @throws InvalidInput  runtime.launch.argument_count, runtime.launch.argument_size,
  ///         runtime.launch.wrong_device, runtime.launch.block_limit, runtime.launch.grid_limit,
  ///         runtime.launch.shared_limit
  /// @throws Unsupported   runtime.launch.not_cooperative
  /// @throws DeviceError   the driver refused; a fault inside the kernel shows at the next
  ///                       synchronisation, in debug mode here
  void launch(StreamRef stream, const LaunchShape& shape, const ArgumentPack& arguments) const;

 private:
  std::shared_ptr<const detail::LoadedKernel> loaded_;
};

}  // namespace rtcg::runtime
