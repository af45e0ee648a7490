#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "rtcg/runtime/device/buffer.h"
#include "rtcg/runtime/device/device.h"
#include "rtcg/runtime/device/stream.h"

namespace rtcg::distributed {

/// A message to another rank, from memory of the sender's device.
struct Send {
  int to = 0;
  runtime::BufferRef<const std::byte> values;
};
/// A message of another rank, into memory of the receiver's device. It is as long as what was sent.
struct Receive {
  int from = 0;
  runtime::BufferRef<std::byte> values;
};
/// The same in memory of the host.
struct HostSend {
  int to = 0;
  std::span<const std::byte> values;
};
struct HostReceive {
  int from = 0;
  std::span<std::byte> values;
};

/// Submits work that reads messages, given in the order in which they were asked for.
using UseOfMessages =
    std::function<void(std::span<const runtime::BufferRef<const std::byte>> messages)>;

/// What a Group needs of whatever carries its messages: the interface for transports, also those of
/// programs. An object is one rank's view; its rank alone uses it, one thread at a time.
///
/// Messages from one rank to another arrive in the order in which they were sent. Within an
/// exchange no message has to be received before others are sent. No message is to the rank itself.
class Transport {
 public:
  virtual ~Transport() = default;

  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int size() const = 0;
  /// The number of this rank among those of its machine.
  [[nodiscard]] virtual int node_rank() const = 0;
  [[nodiscard]] virtual runtime::Device device() const = 0;
  /// `threads`, `Open MPI`, ...
  [[nodiscard]] virtual std::string name() const = 0;

  /// Sends and receives; returns when all is received and what was sent may change.
  ///
  /// @param call  the name of the call, for messages
  /// @throws Error  distributed.exchange.size_mismatch, distributed.group.time_out,
  ///                distributed.group.rank_failed, distributed.group.rank_ended
  virtual void exchange_on_host(std::string_view call, std::span<const HostSend> sends,
                                std::span<const HostReceive> receives) = 0;
  /// The same in the order of a stream: later work of the stream finds what was received, and may
  /// change what was sent. May wait until the other ranks have called it, too, or until the work
  /// before it is done.
  virtual void exchange(std::string_view call, runtime::StreamRef stream,
                        std::span<const Send> sends, std::span<const Receive> receives) = 0;
  /// exchange(), then `use`, which submits work to the stream that reads the messages. They may
  /// stay where their senders have them, if the rank's device reads memory there: what `receives`
  /// names is then not written.
  virtual void exchange_and_use(std::string_view call, runtime::StreamRef stream,
                                std::span<const Send> sends, std::span<const Receive> receives,
                                const UseOfMessages& use);
  /// Tells the other ranks that this one cannot continue: their calls throw
  /// distributed.group.rank_failed.
  virtual void fail(const std::string& reason) noexcept = 0;
};

}  // namespace rtcg::distributed
