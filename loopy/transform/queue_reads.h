#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

struct QueueReadsOptions {
  /// Registers of each thread, or shared memory of the block.
  AddressSpace address_space = AddressSpace::private_;
  /// Name of the queue; empty: `ARRAY_queue`.
  std::string temporary_name{};
  /// Of a queue in shared memory: whether what fills an earlier queue in registers within the loop
  /// is read from it, too. Default: that is read from the array.
  bool fills_registers = false;
};

/// Keeps what a loop reads along itself from one iteration to the next, so that each iteration
/// reads one more element from the array, or one more plane.
///
/// Rewrites, for 3 elements
///     for i in [0, n):  out[i] = a[i] + a[i + 1] + a[i + 2]
///   into
///     q[1] = a[0];  q[2] = a[1]
///     for i in [0, n):  q[0] = q[1];  q[1] = q[2];  q[2] = a[i + 2];  out[i] = q[0] + q[1] + q[2]
///
/// In registers a queue has the reads that agree along all other axes, of those the ones with the
/// longest range, or all reads if they fill the box around them; others stay. Lanes and unrolled
/// loops get a queue each. In shared memory it has what a block reads, a plane with its halo in
/// each place, and places are used in turn, `q[(i + 2) % 3]`, without moves. Sums over the
/// distances are read from the queue, too; unroll them, since only constant indices are registers.
/// @param array   an argument that no statement of the launch writes
/// @param iname   a loop around the reads whose first value is a constant, or an affine form of the
///                inames around it that are the same for all threads of a block
/// @param length  places; as many more than the reads need, up to four, are filled so many
///                iterations ahead. In shared memory CUDA copies them asynchronously, 16 bytes at a
///                time where rows of the array begin at multiples of them; rows of the queue are
///                a few elements longer for that
/// @throws InvalidInput  loopy.queue_reads.not_possible, loopy.queue_reads.nothing_queued,
///                       loopy.queue_reads.is_written, loopy.queue_reads.bad_length, and what
///                       footprint throws
[[nodiscard]] Kernel queue_reads(Kernel kernel, std::string_view array, std::string_view iname,
                                 std::int64_t length, const QueueReadsOptions& options = {});

}  // namespace rtcg::loopy
