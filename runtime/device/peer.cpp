#include "rtcg/runtime/device/peer.h"

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/runtime/device/buffer.h"

namespace rtcg::runtime {
namespace {

PeerBackend* peers_of(Device device) {
  return dynamic_cast<PeerBackend*>(&device.backend());
}

CopyRegion linear(CopyRegion::Side from, DeviceAddress source, CopyRegion::Side to,
                  DeviceAddress target, std::size_t size_bytes) {
  CopyRegion region;
  region.source = {from, source, size_bytes, size_bytes};
  region.target = {to, target, size_bytes, size_bytes};
  region.row_bytes = size_bytes;
  return region;
}

}  // namespace

bool can_access_peer(Device device, Device other) {
  if (device == other) {
    return true;
  }
  PeerBackend* const peers = peers_of(device);
  return peers != nullptr && peers->reach(other.backend());
}

namespace detail {

void copy_between_devices(StreamRef stream, Device source_device, DeviceAddress source,
                          Device target_device, DeviceAddress target, std::size_t size_bytes) {
  using Side = CopyRegion::Side;
  if (stream.device() != source_device && stream.device() != target_device) {
    throw InvalidInput("runtime.copy.other_stream",
                       fmt::format("a copy from '{}' to '{}' on a stream of '{}': give a stream of "
                                   "one of the two",
                                   source_device.info().name, target_device.info().name,
                                   stream.device().info().name));
  }
  if (size_bytes == 0) {
    return;
  }
  PeerBackend* const peers = peers_of(stream.device());
  if (peers != nullptr &&
      peers->copy_between(stream.native_handle(), stream.device().backend(), target,
                          target_device.backend(), source, source_device.backend(), size_bytes)) {
    return;
  }
  const Buffer<std::byte> staged(source_device, size_bytes, MemoryKind::pinned);
  const DeviceAddress host = reinterpret_cast<DeviceAddress>(staged.host_span().data());
  const StreamRef out = stream.device() == source_device ? stream : source_device.default_stream();
  const StreamRef in = stream.device() == target_device ? stream : target_device.default_stream();
  stream.synchronize();
  source_device.backend().copy(out.native_handle(),
                               linear(Side::device, source, Side::host, host, size_bytes));
  out.synchronize();
  target_device.backend().copy(in.native_handle(),
                               linear(Side::host, host, Side::device, target, size_bytes));
  in.synchronize();
}

}  // namespace detail
}  // namespace rtcg::runtime
