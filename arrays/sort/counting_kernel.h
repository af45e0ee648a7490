#pragma once
// Internal header: it is not installed.

#include <compare>
#include <cstdint>

#include "rtcg/arrays/core/dtype.h"
#include "rtcg/runtime/device/device_info.h"

// Kernels that add up what belongs to bins.

namespace rtcg::loopy {
struct Kernel;
}  // namespace rtcg::loopy

namespace rtcg::arrays::detail {

/// What a histogram kernel is made for.
struct CountingForm {
  DType value = DType::i64;
  DType weight = DType::boolean;  ///< boolean: ones
  DType total = DType::i64;
  std::int64_t room = 0;   ///< elements of the totals; 0: as many as there are bins
  bool has_edges = false;  ///< bins of equal width, otherwise values are the numbers of bins
  friend auto operator<=>(const CountingForm&, const CountingForm&) = default;
};

/// In any slicing.
[[nodiscard]] loopy::Kernel counting_kernel(const CountingForm& form);

/// Copies of the totals in the shared memory of a block, at most one for each lane of a warp; 0 if
/// none fits.
[[nodiscard]] std::int64_t copies_of_blocks(const CountingForm& form);
/// As many as run at once, so that all of them end together.
[[nodiscard]] std::int64_t blocks_that_count(const runtime::DeviceInfo& device);
/// More are not counted by so many blocks: numbers of values are i32.
[[nodiscard]] std::int64_t most_values_of_blocks(std::int64_t blocks);
/// For CUDA, where there are copies: blocks share any number of values, a thread loads eight at a
/// time, and lanes add to copies of the totals in banks of their own. One program for all lengths.
[[nodiscard]] loopy::Kernel counting_blocks_kernel(const CountingForm& form, std::int64_t blocks);

}  // namespace rtcg::arrays::detail
