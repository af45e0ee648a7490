#include "rtcg/runtime/device/buffer.h"

#include <cstdint>
#include <limits>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"

namespace rtcg::runtime::detail {
namespace {

void check_fits(std::size_t bytes, std::size_t held_bytes) {
  if (bytes > held_bytes) {
    throw InvalidInput(
        "runtime.copy.out_of_range",
        fmt::format("cannot copy {} bytes from or to a buffer of {} bytes", bytes, held_bytes));
  }
}

CopyRegion flat(CopyRegion::Side from, DeviceAddress source, CopyRegion::Side to,
                DeviceAddress target, std::size_t bytes) {
  CopyRegion region;
  region.source = {from, source, bytes, bytes};
  region.target = {to, target, bytes, bytes};
  region.row_bytes = bytes;
  return region;
}

// Pinned memory is the host's: its address is a host pointer.
CopyRegion::Side side_of(const Memory& memory) {
  return memory.kind() == MemoryKind::pinned ? CopyRegion::Side::host : CopyRegion::Side::device;
}

}  // namespace

void throw_bad_subrange(std::size_t first, std::size_t count, std::size_t held) {
  throw InvalidInput("runtime.buffer.out_of_range",
                     fmt::format("{} elements from element {} on are not within a buffer of {} "
                                 "elements",
                                 count, first, held));
}

std::size_t checked_bytes(std::size_t count, std::size_t element_bytes) {
  if (count > std::numeric_limits<std::size_t>::max() / element_bytes) {
    throw InvalidInput("runtime.buffer.too_long",
                       fmt::format("{} elements of {} bytes are more than can be addressed", count,
                                   element_bytes));
  }
  return count * element_bytes;
}

void write_bytes(StreamRef stream, const Memory& memory, const void* values, std::size_t bytes) {
  check_fits(bytes, memory.size_bytes());
  if (bytes != 0) {
    stream.device().backend().copy(
        stream.native_handle(),
        flat(CopyRegion::Side::host, reinterpret_cast<DeviceAddress>(values), side_of(memory),
             memory.address(), bytes));
  }
}

void read_bytes(StreamRef stream, const Memory& memory, void* values, std::size_t bytes) {
  check_fits(bytes, memory.size_bytes());
  if (bytes != 0) {
    stream.device().backend().copy(stream.native_handle(),
                                   flat(side_of(memory), memory.address(), CopyRegion::Side::host,
                                        reinterpret_cast<DeviceAddress>(values), bytes));
  }
}

}  // namespace rtcg::runtime::detail
