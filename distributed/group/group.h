#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "rtcg/distributed/exchange/transport.h"

namespace rtcg::distributed {

enum class Operation {
  sum,
  min,  ///< not a number if one of the values is
  max,  ///< the same
};

/// What a rank has sent since its group was made.
struct Traffic {
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
};

namespace detail {
struct GroupState;
}

/// Ranks that compute together, as one of them sees them. A cheap value; copies are the same group.
///
/// All ranks have to make the same calls in the same order; a call with other ranks returns when
/// they have made it. A rank's group is used by one thread at a time.
class Group {
 public:
  /// A group of one rank.
  explicit Group(runtime::Device device);
  /// A group over a transport of any kind.
  explicit Group(std::shared_ptr<Transport> transport);

  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] int size() const noexcept { return size_; }
  [[nodiscard]] bool is_first() const noexcept { return rank_ == 0; }
  /// The number of this rank among those of its machine.
  [[nodiscard]] int node_rank() const;
  /// The device of this rank.
  [[nodiscard]] runtime::Device device() const;
  /// What carries messages: `threads`, `Open MPI`, ...
  [[nodiscard]] std::string transport() const;
  [[nodiscard]] const Traffic& traffic() const noexcept;

  /// Messages between devices, in the order of a stream of this rank's device. Those between two
  /// ranks arrive in the order in which they were sent; those to the rank itself are copied.
  ///
  /// @throws InvalidInput  distributed.group.bad_rank; distributed.exchange.size_mismatch: a
  /// message
  ///                       is longer or shorter than the memory for it
  /// @throws DeviceError   distributed.group.time_out: names who waits for whom;
  ///                       distributed.group.rank_failed: names the rank and its error;
  ///                       distributed.group.rank_ended: a rank has left the group's work
  /// @cost  waits for the other ranks' calls; without shared memory also for the stream
  void exchange(runtime::StreamRef stream, std::span<const Send> sends,
                std::span<const Receive> receives, std::string_view call = "exchange") const;

  /// The same, then `use`, which submits work to the stream that reads the messages where they are:
  /// that of GPUs which reach the sender's memory reads it there, and no copy is made.
  ///
  /// @param receives  memory for messages that cannot be read where they are
  /// @throws  as above, and what `use` throws
  void exchange_and_use(runtime::StreamRef stream, std::span<const Send> sends,
                        std::span<const Receive> receives, const UseOfMessages& use,
                        std::string_view call = "exchange") const;

  // Values of the host. These calls return when all ranks have made them.
  // @throws  as exchange
  void exchange(std::span<const HostSend> sends, std::span<const HostReceive> receives,
                std::string_view call = "exchange") const;
  void barrier() const;
  /// The result of all ranks' values, the same on each. Sums add pairs of neighbouring ranks, then
  /// pairs of these sums, and so on: the bits depend on the values and their ranks alone.
  [[nodiscard]] double all_reduce(double value, Operation operation) const;
  [[nodiscard]] std::int64_t all_reduce(std::int64_t value, Operation operation) const;
  /// The bytes of all ranks, of any lengths, by rank; on other ranks than `root` nothing.
  [[nodiscard]] std::vector<std::vector<std::byte>> gather(std::span<const std::byte> mine,
                                                           int root = 0) const;
  [[nodiscard]] std::vector<std::vector<std::byte>> all_gather(
      std::span<const std::byte> mine) const;
  /// The bytes of `root`, on all ranks.
  [[nodiscard]] std::vector<std::byte> broadcast(std::span<const std::byte> bytes,
                                                 int root = 0) const;
  [[nodiscard]] std::string broadcast(const std::string& text, int root = 0) const;
  /// Part r of `root` on rank r; others' parts are ignored.
  [[nodiscard]] std::vector<std::byte> scatter(const std::vector<std::vector<std::byte>>& parts,
                                               int root = 0) const;

  /// Tells the other ranks that this one cannot continue.
  void fail(const std::string& reason) const noexcept;

  friend bool operator==(const Group& a, const Group& b) noexcept { return a.state_ == b.state_; }

  /// For collectives of this layer.
  [[nodiscard]] detail::GroupState& state() const noexcept { return *state_; }
  /// @throws InvalidInput  distributed.group.bad_rank
  void check_rank(int rank, std::string_view call) const;

 private:
  std::shared_ptr<detail::GroupState> state_;
  int rank_ = 0;
  int size_ = 1;
};

/// Numbers as bytes, for the calls above.
template <class T>
[[nodiscard]] std::span<const std::byte> bytes_of(const std::vector<T>& values) {
  return std::as_bytes(std::span<const T>(values));
}
/// @pre  the bytes are whole numbers of type T
template <class T>
[[nodiscard]] std::vector<T> values_of(std::span<const std::byte> bytes) {
  static_assert(std::is_trivially_copyable_v<T>);
  std::vector<T> values(bytes.size() / sizeof(T));
  const std::span<std::byte> target = std::as_writable_bytes(std::span<T>(values));
  for (std::size_t i = 0; i < target.size(); ++i) {
    target[i] = bytes[i];
  }
  return values;
}

}  // namespace rtcg::distributed
