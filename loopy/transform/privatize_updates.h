#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

struct PrivatizeUpdatesOptions {
  /// Copies of the elements that each block has, from 1 to as many as it has threads. Neighbouring
  /// threads update different copies, in different banks. With a copy for each thread, no atomic
  /// functions are needed until the block ends.
  std::int64_t copies = 1;
  /// Name of the type of the copies, such as `i32` for counts that all together need an `i64`;
  /// empty: that of the array. It must hold what the updates of one block combine to: stated by the
  /// user.
  std::string type{};
  /// Name of the copies; empty: `ARRAY_private`.
  std::string temporary_name{};
};

/// Lets each block update copies of an array in shared memory, and the array once at its end.
///
/// Rewrites, with i_0 on g.0 and i_1 on l.0
///     count[x[256*i_0 + i_1]] += 1  {atomic}
///   into
///     count_private[z // 32, z % 32] = 0                             with z over the threads
///     count_private[x[256*i_0 + i_1], i_1 % 32] += 1  {atomic}
///     count[b] += sum(c, count_private[b, (b + c) % 32])  {atomic}   with b over the threads
///
/// All updates of the array in the launch are atomic statements of one operation that commutes, is
/// associative and has a neutral element: sums, products, minima, maxima, and others for which
/// drawn numbers show it. Axes of the array whose index is the same for the whole block have no
/// copy. Rounding differs as with any other order of the updates.
/// @param array  an argument; the other axes have constant lengths, of at most 227 KiB with all
///               copies
/// @throws InvalidInput  loopy.privatize_updates.unknown_array,
///                       loopy.privatize_updates.not_updated,
///                       loopy.privatize_updates.other_operation,
///                       loopy.privatize_updates.unknown_length,
///                       loopy.privatize_updates.too_large, loopy.privatize_updates.bad_copies,
///                       loopy.privatize_updates.name_taken, loopy.privatize_updates.bad_type
/// @source Nugteren et al. 2011, doi 10.1145/1964179.1964181 (copies in different banks)
[[nodiscard]] Kernel privatize_updates(Kernel kernel, std::string_view array,
                                       const PrivatizeUpdatesOptions& options = {});

}  // namespace rtcg::loopy
