#pragma once
// Internal header: it is not installed.

#include <compare>
#include <cstdint>

#include "rtcg/arrays/core/dtype.h"

// Kernels that add up what belongs to bins.

namespace rtcg::loopy {
struct Kernel;
}  // namespace rtcg::loopy

namespace rtcg::arrays::detail {

/// What a histogram kernel is made for.
struct CountingForm {
  DType value = DType::i64;
  DType weight = DType::boolean;  ///< boolean: ones
  DType total = DType::i32;
  std::int64_t room = 0;   ///< elements of the totals; 0: as many as there are bins
  bool has_edges = false;  ///< bins of equal width, otherwise values are the numbers of bins
  friend auto operator<=>(const CountingForm&, const CountingForm&) = default;
};

/// In any slicing.
[[nodiscard]] loopy::Kernel counting_kernel(const CountingForm& form);

/// Whether a block's copies of the totals, one for each lane of a warp, fit into a seventh of a
/// multiprocessor's shared memory, and there are values for all blocks.
[[nodiscard]] bool can_count_by_blocks(const CountingForm& form, std::int64_t count);
/// For how many values each thread of the grid counts eight at a time: about 1024 blocks share
/// them, so that each multiprocessor of a large GPU has as many as it takes.
[[nodiscard]] std::int64_t rounds_of_counting_blocks(std::int64_t count);
/// For CUDA: lanes add to copies of the totals in shared memory that lie in a bank of their own.
[[nodiscard]] loopy::Kernel counting_blocks_kernel(const CountingForm& form, std::int64_t rounds);

}  // namespace rtcg::arrays::detail
