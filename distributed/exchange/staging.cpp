#include "rtcg/distributed/exchange/staging.h"

#include "rtcg/runtime/device/copy.h"

namespace rtcg::distributed::detail {
namespace {

template <class Messages>
std::size_t bytes_in(const Messages& messages) {
  std::size_t bytes = 0;
  for (const auto& each : messages) {
    bytes += each.values.size_bytes();
  }
  return bytes;
}

}  // namespace

std::span<std::byte> Staging::room(Area& area, std::size_t bytes) {
  if (bytes == 0) {
    return {};
  }
  if (!area || area->count() < bytes) {
    area.reset();
    area.emplace(device_, bytes, runtime::MemoryKind::pinned);
  }
  return area->host_span();
}

void Staging::exchange(Transport& transport, std::string_view call, runtime::StreamRef stream,
                       std::span<const Send> sends, std::span<const Receive> receives) {
  const std::span<std::byte> out = room(sent_, bytes_in(sends));
  std::vector<HostSend> host_sends;
  std::size_t at = 0;
  for (const Send& each : sends) {
    const std::size_t bytes = each.values.size_bytes();
    const std::span<std::byte> part = out.subspan(at, bytes);
    if (bytes > 0) {
      runtime::copy_to_host(stream, each.values, part);
    }
    host_sends.push_back({each.to, part});
    at += bytes;
  }
  if (free_) {
    free_->synchronize();
  }
  const std::span<std::byte> in = room(received_, bytes_in(receives));
  std::vector<HostReceive> host_receives;
  at = 0;
  for (const Receive& each : receives) {
    host_receives.push_back({each.from, in.subspan(at, each.values.size_bytes())});
    at += each.values.size_bytes();
  }
  if (!sends.empty()) {
    stream.synchronize();
  }
  transport.exchange_on_host(call, host_sends, host_receives);
  for (std::size_t i = 0; i < receives.size(); ++i) {
    if (!host_receives[i].values.empty()) {
      runtime::copy_to_device(stream, host_receives[i].values, receives[i].values);
    }
  }
  if (!receives.empty()) {
    if (!free_) {
      free_.emplace(device_, runtime::EventOptions{.with_timing = false});
    }
    stream.record(*free_);
  }
}

}  // namespace rtcg::distributed::detail
