#pragma once
// Internal header: it is not installed.

#include "rtcg/arrays/kernels/elementwise_kernel.h"
#include "rtcg/arrays/random/counter_based.h"

// The kernels of Generator.

namespace rtcg::arrays::detail {

enum class RandomKind { bits, uniform, normal, log_normal, integers, small_poisson, poisson };

/// Whether a thread makes the elements of one block of random words: 4 of 4 bytes, 2 of 8. For the
/// other kinds a thread makes one element from as many blocks as it needs.
[[nodiscard]] constexpr bool is_by_block(RandomKind kind) {
  return kind <= RandomKind::log_normal;
}

/// How many blocks a thread makes.
[[nodiscard]] constexpr int blocks_of_thread(cgen::Dialect dialect) {
  return dialect == cgen::Dialect::c ? 1 : 4;
}

/// By block it takes the array, the counts of threads, of complete blocks and of elements after
/// those, the call, two words of the seed, and the numbers of the distribution (two of the array's
/// type, also for bits). Otherwise it takes the words, the call, the array, and the numbers of the
/// distribution. `i` runs over the threads.
///
/// @param has_wide_blocks  numbers of blocks have 64 bits instead of 32, which is slower
[[nodiscard]] ElementwiseKernel random_kernel(RandomKind kind, DType dtype,
                                              RandomAlgorithm algorithm,
                                              bool has_wide_blocks = false);

}  // namespace rtcg::arrays::detail
