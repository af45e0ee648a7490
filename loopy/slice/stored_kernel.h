#pragma once
// Internal header: it is not installed.

#include <optional>
#include <string>
#include <vector>

#include "rtcg/loopy/analyze/evaluate_integer.h"
#include "rtcg/loopy/slice/slicing.h"

namespace rtcg::loopy::detail {

/// A kernel that stores values which it would compute several times.
struct StoredKernel {
  /// Its words: Slicing::stores, and Slicing::global_values for temporaries between its nests.
  Slicing words{};
  Kernel kernel{};
};
/// The kernel with the values of its long sums stored, if others use them several times, or within
/// another sum: sums within sums are not tiled. Then the same with what weights the terms of
/// products stored, too, which the other loops of the results would compute again.
///
/// @param most_bytes  of all values together
[[nodiscard]] std::vector<StoredKernel> find_stored_kernels(const Kernel& kernel,
                                                            const IntegerValues& parameters,
                                                            double most_bytes);
/// The kernel with its sums that depend on loops of their statement alone in temporaries within
/// these loops, if other loops of the statement, or other sums, would compute them again. Nothing
/// for kernels without such sums.
[[nodiscard]] std::optional<StoredKernel> find_values_of_loops(const Kernel& kernel,
                                                               const IntegerValues& parameters);

}  // namespace rtcg::loopy::detail
