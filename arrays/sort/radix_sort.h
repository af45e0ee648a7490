#pragma once
// Internal header: it is not installed.

#include <optional>

#include "rtcg/arrays/core/array.h"
#include "rtcg/arrays/sort/radix_keys.h"
#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::arrays::detail {

struct RadixPairs {
  AnyArray keys;
  std::optional<AnyArray> values;
};

/// New arrays with the keys in their order, and the values that belong to them; stable.
///
/// Passes of 8 bits from the lowest on. CUDA: blocks rank their keys in shared memory, one launch a
/// pass, with one more for the counts of all passes; keys that fit a block take one launch in all.
/// Elsewhere loop kernels count the digits of runs, scan the counts and move the keys of each run.
///
/// @shape keys, values  one axis, contiguous; values of 1, 2, 4 or 8 bytes
/// @param what   its dtype is that of the keys
/// @cost  asynchronous
[[nodiscard]] RadixPairs radix_sort(runtime::StreamRef stream, const AnyArray& keys,
                                    const std::optional<AnyArray>& values, const RadixKeys& what);

/// The same for each row by itself, in one launch; nothing where no kernel sorts such rows at once.
///
/// @shape keys, values  [rows, length], contiguous
[[nodiscard]] std::optional<RadixPairs> sort_short_rows(runtime::StreamRef stream,
                                                        const AnyArray& keys,
                                                        const std::optional<AnyArray>& values,
                                                        const RadixKeys& what);

/// The kernel that counts the digits of all passes: `counts[pass, digit]` of `x[n]`, the bits of
/// the keys. @param count  i32 or i64
[[nodiscard]] loopy::Kernel digit_counts(const RadixKeys& what, DType count);

}  // namespace rtcg::arrays::detail
