#pragma once
// Internal header: it is not installed.

#include <cstddef>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "rtcg/runtime/device/backend.h"
#include "rtcg/runtime/device/device.h"

namespace rtcg::runtime {

/// Who holds memory of the device's pools: for each call stack that allocated blocks which are
/// still in use, how many and how many bytes, most bytes first.
///
/// Only pools made while the environment has RTCG_POOL_TRACE=1 note it. Frames of programs without
/// exported symbols show as `program+0x1234`, which `addr2line -Cfe program 0x1234` turns into a
/// line.
/// @cost  none without RTCG_POOL_TRACE; with it some microseconds an allocation
[[nodiscard]] std::string describe_live_blocks(Device device);

namespace detail {

/// The blocks in use of one pool, with the stacks that allocated them. Any thread may use it.
class LiveBlocks {
 public:
  /// The counts of the blocks that one call stack allocated.
  struct Total {
    std::size_t blocks = 0;
    std::size_t bytes = 0;
  };
  using Stack = std::vector<void*>;

  /// Whether the environment asks for it.
  [[nodiscard]] static bool are_wanted();

  void add(DeviceAddress address, std::size_t size_bytes);
  void remove(DeviceAddress address) noexcept;
  /// Adds this pool's blocks to `totals`.
  void sum_up(std::map<Stack, Total>& totals) const;

 private:
  struct Block {
    std::size_t size_bytes;
    Stack stack;
  };

  mutable std::mutex mutex_;
  std::map<DeviceAddress, Block> blocks_;
};

/// `totals` as text: a line for each stack and one for each of its frames.
[[nodiscard]] std::string to_text(const std::map<LiveBlocks::Stack, LiveBlocks::Total>& totals);

}  // namespace detail
}  // namespace rtcg::runtime
