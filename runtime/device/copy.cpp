#include "rtcg/runtime/device/copy.h"

#include <algorithm>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/runtime/device/checked_end.h"
#include "rtcg/runtime/device/peer.h"

namespace rtcg::runtime {
namespace {

// Numbers of bytes as they come from callers: their products and sums may not fit.
class ByteCount {
 public:
  explicit ByteCount(std::size_t bytes) : bytes_(bytes) {}
  ByteCount& add(std::size_t count, std::size_t times) {
    std::size_t product = 0;
    is_too_long_ |= __builtin_mul_overflow(count, times, &product) ||
                    __builtin_add_overflow(bytes_, product, &bytes_);
    return *this;
  }
  [[nodiscard]] bool is_at_most(std::size_t bytes) const {
    return !is_too_long_ && bytes_ <= bytes;
  }
  [[nodiscard]] std::size_t value() const { return bytes_; }

 private:
  std::size_t bytes_ = 0;
  bool is_too_long_ = false;
};

void check_pitches(const RectLayout& layout, const RectExtent& extent) {
  const bool rows_overlap = extent.rows > 1 && layout.row_pitch_bytes < extent.row_bytes;
  const bool planes_overlap = extent.planes > 1 && (!ByteCount(0)
                                                         .add(extent.rows, layout.row_pitch_bytes)
                                                         .is_at_most(layout.plane_pitch_bytes) ||
                                                    layout.plane_pitch_bytes < extent.row_bytes);
  if (rows_overlap || planes_overlap) {
    throw InvalidInput(
        "runtime.copy.bad_pitch",
        fmt::format("{} planes of {} rows of {} bytes overlap at a row pitch of {} bytes and a "
                    "plane pitch of {} bytes",
                    extent.planes, extent.rows, extent.row_bytes, layout.row_pitch_bytes,
                    layout.plane_pitch_bytes));
  }
  const bool has_lost_offset = (layout.offset[1] != 0 && layout.row_pitch_bytes == 0) ||
                               (layout.offset[2] != 0 && layout.plane_pitch_bytes == 0);
  if (has_lost_offset) {
    throw InvalidInput(
        "runtime.copy.bad_pitch",
        fmt::format("an offset of {} rows and {} planes asks for pitches, not {} and "
                    "{} bytes",
                    layout.offset[1], layout.offset[2], layout.row_pitch_bytes,
                    layout.plane_pitch_bytes));
  }
}

// The extent has no part that is 0.
void check_range(const RectEnd& end, const RectExtent& extent) {
  const RectLayout& layout = end.layout;
  ByteCount last(extent.row_bytes);
  last.add(layout.offset[0], 1)
      .add(layout.offset[1], layout.row_pitch_bytes)
      .add(extent.rows - 1, layout.row_pitch_bytes)
      .add(layout.offset[2], layout.plane_pitch_bytes)
      .add(extent.planes - 1, layout.plane_pitch_bytes);
  if (!last.is_at_most(end.size_bytes)) {
    throw InvalidInput(
        "runtime.copy.out_of_range",
        fmt::format(
            "{} planes of {} rows of {} bytes, at pitches of {} and {} bytes, from byte {}, "
            "row {} and plane {} on, are not within {} bytes of the {}",
            extent.planes, extent.rows, extent.row_bytes, layout.row_pitch_bytes,
            layout.plane_pitch_bytes, layout.offset[0], layout.offset[1], layout.offset[2],
            end.size_bytes,
            end.side == CopyRegion::Side::host ? "host's memory" : "device's memory"));
  }
}

// Back ends find pitches that are at least as long as what is copied.
CopyRegion::End region_end(const RectEnd& end, const RectExtent& extent) {
  const RectLayout& layout = end.layout;
  CopyRegion::End region;
  region.side = end.side;
  region.address = end.memory + ByteCount(layout.offset[0])
                                    .add(layout.offset[1], layout.row_pitch_bytes)
                                    .add(layout.offset[2], layout.plane_pitch_bytes)
                                    .value();
  region.row_pitch_bytes =
      extent.rows > 1 ? layout.row_pitch_bytes : std::max(layout.row_pitch_bytes, extent.row_bytes);
  region.plane_pitch_bytes =
      extent.planes > 1 ? layout.plane_pitch_bytes
                        : std::max(layout.plane_pitch_bytes, extent.rows * region.row_pitch_bytes);
  return region;
}

}  // namespace

RectEnd host_end(const void* memory, std::size_t size_bytes, const RectLayout& layout) noexcept {
  return {CopyRegion::Side::host, reinterpret_cast<DeviceAddress>(memory), size_bytes, layout};
}

RectEnd device_end(DeviceAddress memory, std::size_t size_bytes,
                   const RectLayout& layout) noexcept {
  return {CopyRegion::Side::device, memory, size_bytes, layout};
}

void copy_rect(StreamRef stream, const RectEnd& source, const RectEnd& target,
               const RectExtent& extent) {
  check_pitches(source.layout, extent);
  check_pitches(target.layout, extent);
  if (extent.row_bytes == 0 || extent.rows == 0 || extent.planes == 0) {
    return;
  }
  check_range(source, extent);
  check_range(target, extent);
  CopyRegion region;
  region.source = region_end(source, extent);
  region.target = region_end(target, extent);
  region.row_bytes = extent.row_bytes;
  region.rows = extent.rows;
  region.planes = extent.planes;
  stream.device().backend().copy(stream.native_handle(), region);
}

namespace detail {

namespace {

void check_bytes(const RectEnd& source, const RectEnd& target, std::size_t bytes) {
  if (bytes > source.size_bytes || bytes > target.size_bytes) {
    throw InvalidInput("runtime.copy.out_of_range",
                       fmt::format("cannot copy {} bytes from memory of {} bytes to memory of {} "
                                   "bytes",
                                   bytes, source.size_bytes, target.size_bytes));
  }
}

}  // namespace

CopyRegion::End checked_end(RectEnd end, const RectExtent& extent) {
  RectLayout& layout = end.layout;
  if (layout.row_pitch_bytes == 0) {
    layout.row_pitch_bytes = extent.row_bytes;
  }
  if (layout.plane_pitch_bytes == 0) {
    layout.plane_pitch_bytes = layout.row_pitch_bytes * extent.rows;
  }
  check_pitches(layout, extent);
  check_range(end, extent);
  return region_end(end, extent);
}

void copy_bytes(StreamRef stream, const RectEnd& source, const RectEnd& target, std::size_t bytes) {
  check_bytes(source, target, bytes);
  copy_rect(stream, source, target, {bytes});
}

void copy_on_devices(StreamRef stream, Device source_device, const RectEnd& source,
                     Device target_device, const RectEnd& target) {
  check_bytes(source, target, source.size_bytes);
  if (source_device == target_device) {
    copy_rect(stream, source, target, {source.size_bytes});
  } else {
    copy_between_devices(stream, source_device, source.memory, target_device, target.memory,
                         source.size_bytes);
  }
}

void check_rows(std::size_t held, std::size_t row_pitch, std::size_t row_elements,
                std::size_t rows) {
  if (rows != 0 && !ByteCount(row_elements).add(rows - 1, row_pitch).is_at_most(held)) {
    throw InvalidInput(
        "runtime.copy.out_of_range",
        fmt::format("{} rows of {} elements at a pitch of {} elements are not within "
                    "a buffer of {} elements",
                    rows, row_elements, row_pitch, held));
  }
}

void fill_bytes(StreamRef stream, DeviceAddress address, std::span<const std::byte> pattern,
                std::size_t count) {
  if (count != 0) {
    stream.device().backend().fill(stream.native_handle(), address, pattern, count);
  }
}

}  // namespace detail
}  // namespace rtcg::runtime
