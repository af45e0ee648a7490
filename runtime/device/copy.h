#pragma once

#include <array>
#include <cstddef>
#include <iterator>
#include <span>
#include <type_traits>
#include <utility>

#include "rtcg/runtime/device/buffer.h"
#include "rtcg/runtime/device/stream.h"

namespace rtcg::runtime {

namespace detail {
/// Before any row is filled. @throws InvalidInput  runtime.copy.out_of_range
void check_rows(std::size_t held, std::size_t row_pitch, std::size_t row_elements,
                std::size_t rows);
/// Of a vector, array, span, string, ...
template <class Range>
using ElementOf = std::remove_cv_t<
    std::remove_reference_t<decltype(*std::data(std::declval<std::remove_reference_t<Range>&>()))>>;
}  // namespace detail

// All of these are asynchronous on `stream`: memory on both sides must stay as it is until the
// stream has done them. Copies from and to pinned or registered host memory overlap with other
// work; others may block the caller, as the driver decides.

/// Copies all elements of a contiguous host range to the beginning of `target`.
///
/// @throws InvalidInput  runtime.copy.out_of_range
template <class Range, class T = detail::ElementOf<const Range>>
void copy_to_device(StreamRef stream, const Range& values,
                    std::type_identity_t<BufferRef<T>> target);
/// Copies as many elements as the contiguous host range has from the beginning of `source`.
///
/// @throws InvalidInput  runtime.copy.out_of_range
template <class Range, class T = detail::ElementOf<Range>>
void copy_to_host(StreamRef stream, std::type_identity_t<BufferRef<const T>> source,
                  Range&& values);
/// Copies all of `source` to the beginning of `target`; they must not overlap. They may be of two
/// devices, one of which has the stream: GPUs of CUDA copy directly to each other where they can,
/// all else goes through pinned memory of the host and waits.
///
/// @throws InvalidInput  runtime.copy.out_of_range; runtime.copy.other_stream: of a third device
template <class T>
void copy_on_device(StreamRef stream, BufferRef<T> source,
                    std::type_identity_t<BufferRef<std::remove_const_t<T>>> target);
template <class T>
void copy_on_device(StreamRef stream, const Buffer<T>& source,
                    std::type_identity_t<BufferRef<T>> target) {
  copy_on_device(stream, source.ref(), target);
}

/// Where a rectangle begins inside memory that is laid out in rows and planes.
struct RectLayout {
  std::size_t row_pitch_bytes = 0;    ///< from row to row
  std::size_t plane_pitch_bytes = 0;  ///< from plane to plane; for copies of several planes
  std::array<std::size_t, 3> offset = {0, 0, 0};  ///< bytes, rows, planes
};

/// How much of it: bytes of a row, rows, planes.
struct RectExtent {
  std::size_t row_bytes = 0;
  std::size_t rows = 1;
  std::size_t planes = 1;
};

/// One side of copy_rect: a layout in memory of known length.
struct RectEnd {
  CopyRegion::Side side = CopyRegion::Side::host;
  DeviceAddress memory = 0;
  std::size_t size_bytes = 0;
  RectLayout layout{};
};

[[nodiscard]] RectEnd host_end(const void* memory, std::size_t size_bytes,
                               const RectLayout& layout) noexcept;
/// All of a contiguous host range.
template <class Range, class T = detail::ElementOf<const Range>>
[[nodiscard]] RectEnd host_end(const Range& values, const RectLayout& layout) noexcept {
  return host_end(std::data(values), std::size(values) * sizeof(T), layout);
}
[[nodiscard]] RectEnd device_end(DeviceAddress memory, std::size_t size_bytes,
                                 const RectLayout& layout) noexcept;
template <class T>
[[nodiscard]] RectEnd device_end(const BufferRef<T>& memory, const RectLayout& layout) noexcept {
  return device_end(memory.address(), memory.size_bytes(), layout);
}
template <class T>
[[nodiscard]] RectEnd device_end(const Buffer<T>& memory, const RectLayout& layout) noexcept {
  return device_end(memory.address(), memory.size_bytes(), layout);
}

/// Copies a rectangle or a box between layouts, host or device on either side.
///
///     copy_rect(stream, host_end(image, {256, 0, {20, 13, 0}}), device_end(tile, {300}), {128,
///     96});
///
/// @throws InvalidInput  runtime.copy.bad_pitch: rows or planes would overlap;
///                       runtime.copy.out_of_range: it reaches beyond the end of one side
void copy_rect(StreamRef stream, const RectEnd& source, const RectEnd& target,
               const RectExtent& extent);

/// Sets every element of `target`.
template <class T>
void fill(StreamRef stream, BufferRef<T> target, const std::type_identity_t<T>& value);
template <class T>
void fill(StreamRef stream, const Buffer<T>& target, const std::type_identity_t<T>& value) {
  fill(stream, target.ref(), value);
}
/// Sets the first `row_elements` elements of each of `rows` rows.
///
/// @throws InvalidInput  runtime.copy.out_of_range
/// @cost   one launch a row
template <class T>
void fill_rows(StreamRef stream, BufferRef<T> target, std::size_t row_pitch_elements,
               std::size_t row_elements, std::size_t rows, const std::type_identity_t<T>& value) {
  detail::check_rows(target.count(), row_pitch_elements, row_elements, rows);
  for (std::size_t row = 0; row < rows; ++row) {
    fill(stream, target.subrange(row * row_pitch_elements, row_elements), value);
  }
}

// Implementation

namespace detail {
/// @throws InvalidInput  runtime.copy.out_of_range
void copy_bytes(StreamRef stream, const RectEnd& source, const RectEnd& target, std::size_t bytes);
/// All of `source`. @throws InvalidInput  runtime.copy.out_of_range, runtime.copy.other_stream
void copy_on_devices(StreamRef stream, Device source_device, const RectEnd& source,
                     Device target_device, const RectEnd& target);
void fill_bytes(StreamRef stream, DeviceAddress address, std::span<const std::byte> pattern,
                std::size_t count);
}  // namespace detail

template <class Range, class T>
void copy_to_device(StreamRef stream, const Range& values,
                    std::type_identity_t<BufferRef<T>> target) {
  const std::size_t bytes = std::size(values) * sizeof(T);
  detail::copy_bytes(stream, host_end(values, {}), device_end(target, {}), bytes);
}

template <class Range, class T>
void copy_to_host(StreamRef stream, std::type_identity_t<BufferRef<const T>> source,
                  Range&& values) {
  const std::size_t bytes = std::size(values) * sizeof(T);
  detail::copy_bytes(stream, device_end(source, {}), host_end(std::data(values), bytes, {}), bytes);
}

template <class T>
void copy_on_device(StreamRef stream, BufferRef<T> source,
                    std::type_identity_t<BufferRef<std::remove_const_t<T>>> target) {
  detail::copy_on_devices(stream, source.device(), device_end(source, {}), target.device(),
                          device_end(target, {}));
}

template <class T>
void fill(StreamRef stream, BufferRef<T> target, const std::type_identity_t<T>& value) {
  static_assert(
      sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8 || sizeof(T) == 16,
      "patterns have 1, 2, 4, 8 or 16 bytes");
  detail::fill_bytes(stream, target.address(), std::as_bytes(std::span<const T>(&value, 1)),
                     target.count());
}

}  // namespace rtcg::runtime
