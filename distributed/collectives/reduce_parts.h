#pragma once
// Internal header: it is not installed.

#include "rtcg/distributed/collectives/collectives.h"
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

/// The same of parts that are apart, by rank, of which one may be `values` itself.
///
/// @shape parts  [size of the group][count]
/// @cost  as above
void reduce_parts_apart(const Group& group, runtime::StreamRef stream,
                        std::span<const runtime::BufferRef<const std::byte>> parts,
                        runtime::BufferRef<std::byte> values, NumberKind kind, Operation operation);

/// Copies whole words to several places, also in memory of other devices.
///
/// @cost  one launch; one compilation at the first call
void copy_to_all(const Group& group, runtime::StreamRef stream,
                 runtime::BufferRef<const std::byte> values,
                 std::span<const runtime::BufferRef<std::byte>> targets);

}  // namespace rtcg::distributed::detail
