#pragma once
// Internal header: it is not installed.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rtcg/loopy/kernel/kernel.h"

// What the transformations of array layouts share.

namespace rtcg::loopy {

/// The layout of an argument or temporary in memory.
struct ArrayLayout {
  std::vector<Expr> shape{};
  /// One for each axis.
  std::vector<Expr> strides_elements{};
};

/// Nothing where the kernel has no such array, or its shape is not known.
[[nodiscard]] std::optional<ArrayLayout> find_layout(const Kernel& kernel, std::string_view array);
/// The strides are left out where they are those of C order; the rows of a temporary are no longer
/// swizzled.
[[nodiscard]] Kernel with_layout(Kernel kernel, std::string_view array, ArrayLayout layout);
/// Strides without gaps where `order` lists the axes from the slowest to the fastest varying.
[[nodiscard]] std::vector<Expr> strides_in_order(const std::vector<Expr>& shape,
                                                 const std::vector<std::size_t>& order);
/// Whether a statement or rule touches the array by places in memory.
[[nodiscard]] bool has_linear_access(const Kernel& kernel, std::string_view array);

/// `array[indices]`, or 0 where the indices may be outside of the array.
/// @param box  constraints of the indices
[[nodiscard]] Expr clipped_element(const Argument& argument, const std::vector<Expr>& indices,
                                   const ConstraintSet& box);

}  // namespace rtcg::loopy
