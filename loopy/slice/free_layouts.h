#pragma once
// Internal header: it is not installed.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "rtcg/loopy/analyze/evaluate_integer.h"
#include "rtcg/loopy/slice/slicing.h"

// The layouts that a search looks at.

namespace rtcg::loopy::detail {

/// The most arrays whose layout is free.
constexpr std::size_t most_free_arrays = 4;
/// A layout for each of them, as a place in FreeLayout::ways.
using LayoutNumbers = std::array<std::uint8_t, most_free_arrays>;

/// No way of FreeLayout::ways, but what each access likes best: no slicing takes less than with it.
constexpr std::uint8_t ideal_layout = 255;
/// The fastest varying axis of such an array.
constexpr std::size_t any_axis = SIZE_MAX;

/// An array that the caller lets the tuner lay out.
struct FreeLayout {
  struct Way {
    LayoutPlan plan{};
    std::size_t fastest_axis = 0;  ///< as the kernel describes axes
    bool has_aligned_rows = false;
  };
  std::string array{};
  std::vector<Way> ways{};  ///< the first is as described
};

/// Each axis as the fastest varying one, rows as they are and at multiples of 128 bytes, and the
/// slower axes cut into pieces of `piece` elements; what is the same in memory once.
///
/// @throws InvalidInput  loopy.slicings.fixed_layout, loopy.slicings.missing_parameter
[[nodiscard]] std::vector<FreeLayout> read_free_layouts(const Kernel& kernel,
                                                        const std::vector<std::string>& arrays,
                                                        const IntegerValues& parameters,
                                                        std::int64_t piece);

/// All as described, then those with one array otherwise, then with two, ...: at most 16.
[[nodiscard]] std::vector<LayoutNumbers> layout_combinations(const std::vector<FreeLayout>& free);

}  // namespace rtcg::loopy::detail
