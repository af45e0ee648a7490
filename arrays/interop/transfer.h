#pragma once

#include <span>

#include "rtcg/arrays/core/array.h"
#include "rtcg/runtime/device/buffer.h"

namespace rtcg::arrays {

/// Copies host data of the array's type in C order to the elements, without waiting.
///
/// @param values  must not change until the event has passed. From pinned memory (Buffer of
///                MemoryKind::pinned, RegisteredMemory) the copy overlaps other work; from other
///                memory the driver may copy them first
/// @returns an event after the copy
/// @throws InvalidInput  arrays.write.size_mismatch
[[nodiscard]] runtime::Event write_async(const AnyArray& array, std::span<const std::byte> values);
/// The elements in C order; they are valid once the event has passed. @param values  as above
///
/// @throws InvalidInput  arrays.write.size_mismatch
[[nodiscard]] runtime::Event read_async(const AnyArray& array, std::span<std::byte> values);
template <Element T>
[[nodiscard]] runtime::Event write_async(const Array<T>& array, std::span<const T> values) {
  return write_async(array.any(), std::as_bytes(values));
}
template <Element T>
[[nodiscard]] runtime::Event read_async(const Array<T>& array, std::span<T> values) {
  return read_async(array.any(), std::as_writable_bytes(values));
}
/// Pinned memory for the elements of an array: read_async(x, pinned.host_span()).
template <Element T>
[[nodiscard]] runtime::Buffer<T> pinned_for(const Array<T>& array) {
  return runtime::Buffer<T>(array.device(), static_cast<std::size_t>(array.count()),
                            runtime::MemoryKind::pinned);
}

/// A copy on another device, in C order. @cost  waits for the work on the array, copies by the host
[[nodiscard]] AnyArray copy_to(const AnyArray& array, runtime::StreamRef stream);
template <Element T>
[[nodiscard]] Array<T> copy_to(const Array<T>& array, runtime::StreamRef stream) {
  return Array<T>(copy_to(array.any(), stream));
}

}  // namespace rtcg::arrays
