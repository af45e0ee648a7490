#pragma once
// Internal header: it is not installed.

#include "rtcg/cgen/ast/module.h"
#include "rtcg/distributed/collectives/collectives.h"
#include "rtcg/distributed/exchange/peer_rounds.h"
#include "rtcg/distributed/group/group_state.h"

namespace rtcg::distributed::detail {

[[nodiscard]] std::size_t size_bytes(NumberKind kind);

/// values[i] becomes the combination of parts[rank * count + i] over the ranks, in the order that
/// all_reduce promises.
///
/// @shape parts   [size of the group, count]
/// @shape values  [count]
/// @cost  one launch; one compilation at the first call for a type, an operation and a size
void reduce_parts(const Group& group, runtime::StreamRef stream,
                  runtime::BufferRef<const std::byte> parts, runtime::BufferRef<std::byte> values,
                  NumberKind kind, Operation operation);

/// The kernel of reduce_in_one_launch for groups of `size` ranks.
///
/// @param is_one_thread  not a block, as on the host, whose kernels have no barriers
[[nodiscard]] cgen::Module reduction_in_one_launch(NumberKind kind, Operation operation, int size,
                                                   bool is_one_thread);

/// A whole all_reduce by one block of threads: writes the values into the memory of all other
/// ranks, sets their flags, waits for its own ones, and combines what has come. That is the next
/// round.
///
/// @shape values  [count]; as long as the slots of `rounds`, at most
/// @cost  as above
void reduce_in_one_launch(const Group& group, PeerRounds& rounds, runtime::StreamRef stream,
                          runtime::BufferRef<std::byte> values, NumberKind kind,
                          Operation operation);

}  // namespace rtcg::distributed::detail
