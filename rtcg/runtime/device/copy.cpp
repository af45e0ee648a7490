#include "rtcg/runtime/device/copy.h"

#include <algorithm>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"

namespace rtcg::runtime {
namespace {

DeviceAddress begin_of(DeviceAddress memory, const RectLayout& layout) {
  return memory + layout.offset[0] + layout.offset[1] * layout.row_pitch_bytes +
         layout.offset[2] * layout.plane_pitch_bytes;
}

void check_pitches(const CopyRegion::End& end, const RectExtent& extent) {
  const bool rows_overlap = extent.rows > 1 && end.row_pitch_bytes < extent.row_bytes;
  const bool planes_overlap =
      extent.planes > 1 && (end.plane_pitch_bytes < extent.rows * end.row_pitch_bytes ||
                            end.plane_pitch_bytes < extent.row_bytes);
  if (rows_overlap || planes_overlap) {
    throw InvalidInput(
        "runtime.copy.bad_pitch",
        fmt::format("{} planes of {} rows of {} bytes overlap at a row pitch of {} bytes and a "
                    "plane pitch of {} bytes",
                    extent.planes, extent.rows, extent.row_bytes, end.row_pitch_bytes,
                    end.plane_pitch_bytes));
  }
}

// Back ends find pitches that are at least as long as what is copied.
CopyRegion::End with_pitches(CopyRegion::End end, const RectExtent& extent) {
  end.row_pitch_bytes =
      extent.rows > 1 ? end.row_pitch_bytes : std::max(end.row_pitch_bytes, extent.row_bytes);
  end.plane_pitch_bytes = std::max(end.plane_pitch_bytes, extent.rows * end.row_pitch_bytes);
  return end;
}

}  // namespace

CopyRegion::End host_end(const void* memory, const RectLayout& layout) noexcept {
  return {CopyRegion::Side::host, begin_of(reinterpret_cast<DeviceAddress>(memory), layout),
          layout.row_pitch_bytes, layout.plane_pitch_bytes};
}

CopyRegion::End device_end(DeviceAddress memory, const RectLayout& layout) noexcept {
  return {CopyRegion::Side::device, begin_of(memory, layout), layout.row_pitch_bytes,
          layout.plane_pitch_bytes};
}

void copy_rect(StreamRef stream, const CopyRegion::End& source, const CopyRegion::End& target,
               const RectExtent& extent) {
  check_pitches(source, extent);
  check_pitches(target, extent);
  if (extent.row_bytes == 0 || extent.rows == 0 || extent.planes == 0) {
    return;
  }
  CopyRegion region;
  region.source = with_pitches(source, extent);
  region.target = with_pitches(target, extent);
  region.row_bytes = extent.row_bytes;
  region.rows = extent.rows;
  region.planes = extent.planes;
  stream.device().backend().copy(stream.native_handle(), region);
}

namespace detail {

void copy_bytes(StreamRef stream, const CopyRegion::End& source, std::size_t source_bytes,
                const CopyRegion::End& target, std::size_t target_bytes, std::size_t bytes) {
  if (bytes > source_bytes || bytes > target_bytes) {
    throw InvalidInput("runtime.copy.out_of_range",
                       fmt::format("cannot copy {} bytes from memory of {} bytes to memory of {} "
                                   "bytes",
                                   bytes, source_bytes, target_bytes));
  }
  copy_rect(stream, source, target, {bytes});
}

void fill_bytes(StreamRef stream, DeviceAddress address, std::span<const std::byte> pattern,
                std::size_t count) {
  if (count != 0) {
    stream.device().backend().fill(stream.native_handle(), address, pattern, count);
  }
}

}  // namespace detail
}  // namespace rtcg::runtime
