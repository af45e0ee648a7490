#pragma once

#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "rtcg/runtime/device/device.h"
#include "rtcg/runtime/device/memory.h"

namespace rtcg::runtime {

namespace detail {
[[noreturn]] void throw_bad_subrange(std::size_t first, std::size_t count, std::size_t held);
/// @throws InvalidInput  runtime.buffer.too_long
[[nodiscard]] std::size_t checked_bytes(std::size_t count, std::size_t element_bytes);
/// The first bytes of `memory`, asynchronously.
///
/// @throws InvalidInput  runtime.copy.out_of_range
void write_bytes(StreamRef stream, const Memory& memory, const void* values, std::size_t bytes);
void read_bytes(StreamRef stream, const Memory& memory, void* values, std::size_t bytes);
}  // namespace detail

/// `count` elements of type T in a device's memory, as kernels see them; does not own them. A cheap
/// value with a pointer's arithmetic.
template <class T>
class BufferRef {
 public:
  BufferRef() = delete;
  /// Takes foreign memory.
  BufferRef(Device device, DeviceAddress address, std::size_t count) noexcept
      : device_(device), address_(address), count_(count) {}
  /// A reference to read-only elements.
  template <class U, class = std::enable_if_t<std::is_same_v<const U, T>>>
  // NOLINTNEXTLINE(google-explicit-constructor): as U* converts to const U*.
  BufferRef(const BufferRef<U>& other) noexcept
      : BufferRef(other.device(), other.address(), other.count()) {}

  [[nodiscard]] Device device() const noexcept { return device_; }
  [[nodiscard]] DeviceAddress address() const noexcept { return address_; }
  /// As a C++ pointer, for libraries; not to be followed by the host unless the memory allows it.
  [[nodiscard]] T* data() const noexcept { return reinterpret_cast<T*>(address_); }
  [[nodiscard]] std::size_t count() const noexcept { return count_; }
  [[nodiscard]] std::size_t size_bytes() const noexcept { return count_ * sizeof(T); }

  /// `count` elements from `first` on. @throws InvalidInput  runtime.buffer.out_of_range
  [[nodiscard]] BufferRef subrange(std::size_t first, std::size_t count) const {
    if (first > count_ || count > count_ - first) {
      detail::throw_bad_subrange(first, count, count_);
    }
    return {device_, address_ + first * sizeof(T), count};
  }
  /// All but the first `elements`. @throws InvalidInput  runtime.buffer.out_of_range
  [[nodiscard]] friend BufferRef operator+(const BufferRef& buffer, std::size_t elements) {
    if (elements > buffer.count_) {
      detail::throw_bad_subrange(elements, 0, buffer.count_);
    }
    return buffer.subrange(elements, buffer.count_ - elements);
  }
  /// The same memory as elements of another type; a remainder smaller than one is left out.
  template <class U>
  [[nodiscard]] BufferRef<U> as() const noexcept {
    static_assert(std::is_const_v<U> || !std::is_const_v<T>, "const may not be cast away");
    return {device_, address_, size_bytes() / sizeof(U)};
  }

 private:
  Device device_;
  DeviceAddress address_;
  std::size_t count_;
};

/// Owns `count` elements of type T on a device. Move-only; see Memory for when it is given back. As
/// with a pointer, a const Buffer still lets its elements be written.
template <class T>
class Buffer {
  static_assert(std::is_trivially_copyable_v<T> && !std::is_const_v<T>,
                "elements are copied byte by byte");

 public:
  /// Elements without values.
  Buffer(Device device, std::size_t count, MemoryKind kind = MemoryKind::device)
      : memory_(device, detail::checked_bytes(count, sizeof(T)), kind) {}
  /// A copy of host data. @cost synchronises
  Buffer(Device device, std::span<const T> values, MemoryKind kind = MemoryKind::device)
      : Buffer(device, values.size(), kind) {
    write(values);
  }
  /// A copy of host data. @cost synchronises
  Buffer(Device device, const std::vector<T>& values, MemoryKind kind = MemoryKind::device)
      : Buffer(device, std::span<const T>(values), kind) {}
  /// Takes over memory, e.g. of a pool.
  explicit Buffer(Memory memory) noexcept : memory_(std::move(memory)) {}

  [[nodiscard]] Device device() const noexcept { return memory_.device(); }
  [[nodiscard]] DeviceAddress address() const noexcept { return memory_.address(); }
  [[nodiscard]] T* data() const noexcept { return reinterpret_cast<T*>(memory_.address()); }
  [[nodiscard]] std::size_t count() const noexcept { return memory_.size_bytes() / sizeof(T); }
  [[nodiscard]] std::size_t size_bytes() const noexcept { return memory_.size_bytes(); }
  [[nodiscard]] const Memory& memory() const noexcept { return memory_; }

  // NOLINTBEGIN(google-explicit-constructor): an owner converts to a reference.
  operator BufferRef<T>() const noexcept { return ref(); }
  operator BufferRef<const T>() const noexcept { return ref(); }
  // NOLINTEND(google-explicit-constructor)
  [[nodiscard]] BufferRef<T> ref() const noexcept { return {device(), address(), count()}; }
  [[nodiscard]] BufferRef<T> subrange(std::size_t first, std::size_t count) const {
    return ref().subrange(first, count);
  }
  [[nodiscard]] friend BufferRef<T> operator+(const Buffer& buffer, std::size_t elements) {
    return buffer.ref() + elements;
  }

  /// The elements themselves, where the host may touch them: pinned, managed and host memory. Work
  /// that uses them must be done.
  ///
  /// @throws InvalidInput  runtime.buffer.not_host_accessible
  [[nodiscard]] std::span<T> host_span() const {
    return {static_cast<T*>(memory_.host_pointer()), count()};
  }
  /// Pinned memory at the address that kernels use without a copy. @throws Unsupported where they
  /// cannot
  [[nodiscard]] BufferRef<T> zero_copy() const {
    return {device(), memory_.kernel_address(), count()};
  }

  /// Overwrites the first elements.
  ///
  /// @throws InvalidInput  runtime.copy.out_of_range
  /// @cost   waits for all work on the device first, then for the copy
  void write(std::span<const T> values) const {
    device().synchronize();
    detail::write_bytes(device().default_stream(), memory_, values.data(), values.size_bytes());
    device().default_stream().synchronize();
  }
  /// Reads the first elements. @throws, @cost  as write
  void read(std::span<T> values) const {
    device().synchronize();
    read_on(device().default_stream(), values);
  }
  /// All elements. @cost  as write
  [[nodiscard]] std::vector<T> to_vector() const {
    device().synchronize();
    return to_vector(device().default_stream());
  }
  /// All elements as they are when the work submitted to `stream` so far is done. @cost waits for
  /// it
  [[nodiscard]] std::vector<T> to_vector(StreamRef stream) const {
    std::vector<T> values(count());
    read_on(stream, values);
    return values;
  }

 private:
  void read_on(StreamRef stream, std::span<T> values) const {
    detail::read_bytes(stream, memory_, values.data(), values.size_bytes());
    stream.synchronize();
  }

  Memory memory_;
};

}  // namespace rtcg::runtime
