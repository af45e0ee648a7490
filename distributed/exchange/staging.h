#pragma once
// Internal header: it is not installed.

#include <optional>
#include <span>
#include <vector>

#include "rtcg/distributed/exchange/transport.h"
#include "rtcg/runtime/device/event.h"

namespace rtcg::distributed::detail {

/// Carries messages between devices through pinned memory of the host, for transports that reach
/// that memory only. Keeps its memory from call to call.
class Staging {
 public:
  explicit Staging(runtime::Device device) : device_(device) {}

  /// Does Transport::exchange by its exchange_on_host.
  ///
  /// @cost  waits for the stream
  void exchange(Transport& transport, std::string_view call, runtime::StreamRef stream,
                std::span<const Send> sends, std::span<const Receive> receives);

 private:
  using Area = std::optional<runtime::Buffer<std::byte>>;
  std::span<std::byte> room(Area& area, std::size_t bytes);

  runtime::Device device_;
  Area sent_;
  Area received_;
  std::optional<runtime::Event> free_;  ///< when received_ has been copied to the device
};

}  // namespace rtcg::distributed::detail
