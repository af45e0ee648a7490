#pragma once
// Internal header: it is not installed.

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "rtcg/loopy/kernel/kernel.h"

// Arrays in C order, as a joined loop goes through several of their axes.

namespace rtcg::loopy {

/// Indices of an array with neighbouring axes as one where only that makes them affine:
/// `x[b, p // 8, p % 8]` is `x[b, p]` of an axis that is 8 times as long.
struct FlatIndices {
  std::vector<Expr> indices{};
  /// For each of them the constant lengths of the axes that it counts through, without the first.
  std::vector<std::vector<std::int64_t>> inner_lengths{};

  /// The indices of all axes for other values of the joined ones.
  /// @param values  one for each of `indices`
  [[nodiscard]] std::vector<Expr> of_all_axes(const std::vector<Expr>& values) const;
};

[[nodiscard]] FlatIndices flat_indices(const Kernel& kernel, std::string_view array,
                                       const std::vector<Expr>& indices);

}  // namespace rtcg::loopy
