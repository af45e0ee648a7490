#pragma once
// Internal header: it is not installed.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "rtcg/distributed/group/group.h"
#include "rtcg/runtime/device/buffer.h"
#include "rtcg/runtime/device/stream.h"

namespace rtcg::distributed {

/// Rounds of kernels that store into memory of partners' devices, and wait for the partners'
/// kernels by themselves. Partners are threads of one process, or processes of one machine.
class StoreRounds {
 public:
  virtual ~StoreRounds() = default;
  StoreRounds(const StoreRounds&) = delete;
  StoreRounds& operator=(const StoreRounds&) = delete;

  /// What a partner gives: memory of its device, at addresses of this process, and what it says of
  /// it.
  struct Given {
    std::vector<std::byte> text;
    std::vector<runtime::BufferRef<std::byte>> memory;
  };
  /// Partners call it together, once.
  ///
  /// @param texts   one for each partner
  /// @param memory  of this rank's device, the same for all partners; of processes
  ///                runtime::is_shareable
  /// @param owner   keeps the memory, as long as a partner uses it
  /// @returns  nothing where processes cannot share the memory: that may not be so on all ranks
  /// @throws  as Rounds::receive
  [[nodiscard]] virtual std::optional<std::vector<Given>> trade(
      std::span<const std::vector<std::byte>> texts,
      std::span<const runtime::BufferRef<std::byte>> memory, std::shared_ptr<const void> owner) = 0;
  /// As that of Rounds.
  [[nodiscard]] virtual runtime::BufferRef<const std::uint32_t> given_up() const = 0;
  virtual void tell(runtime::StreamRef stream) = 0;
  // As those of Rounds.
  virtual void begin_capture() = 0;
  virtual void end_capture() = 0;
  virtual void replay(int rounds, const std::function<void()>& launch) = 0;

 protected:
  StoreRounds() = default;
};

/// Begins rounds with partners, who begin them with this rank. Null if kernels of the group's
/// devices cannot wait for each other: that is the same on all ranks.
///
/// @throws InvalidInput  distributed.group.bad_rank
[[nodiscard]] std::unique_ptr<StoreRounds> open_store_rounds(const Group& group,
                                                             std::span<const int> partners,
                                                             std::string_view call);
/// Whether the ranks of such rounds are processes, whose memory has to be shareable.
[[nodiscard]] bool stores_between_processes(const Group& group);

}  // namespace rtcg::distributed
