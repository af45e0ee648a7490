#pragma once
// Internal header: it is not installed.

#include <cstddef>
#include <span>

#include "rtcg/cgen/ast/module.h"
#include "rtcg/distributed/exchange/peer_rounds.h"
#include "rtcg/distributed/group/group_state.h"

namespace rtcg::distributed::detail {

/// A kernel that does a whole round with so many partners: all its threads copy the messages into
/// memory of the partners; the last block that has done so sets their flags and waits for its own.
///
/// @param element_bytes  of what is copied at once: 16, 4 or 1
/// @param is_one_thread  not a grid, as on the host, whose kernels have no barriers
[[nodiscard]] cgen::Module round_kernel(std::size_t partners, std::size_t element_bytes,
                                        bool is_one_thread);

/// Does the next round by one launch of it.
///
/// @param messages  one for each partner, as long as the memory that it gives
/// @cost  one launch; one compilation at the first call in the group for a number of partners
void exchange_in_one_launch(const Group& group, PeerRounds& rounds, runtime::StreamRef stream,
                            std::span<const runtime::BufferRef<const std::byte>> messages);

}  // namespace rtcg::distributed::detail
