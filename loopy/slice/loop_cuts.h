#pragma once
// Internal header: it is not installed.

#include <array>
#include <cstdint>
#include <vector>

#include "rtcg/loopy/slice/slicing_problem.h"

// The lengths that loops are cut into.

namespace rtcg::loopy::detail {

using Lengths = std::vector<std::uint16_t>;

[[nodiscard]] bool is_power(std::int64_t value);
/// Powers of two up to the first that is at least `length`, and at most `most`.
[[nodiscard]] Lengths powers(std::int64_t length, std::uint16_t most);
/// With the other divisors of `length` up to `most`.
[[nodiscard]] Lengths with_divisors(Lengths lengths, std::int64_t length, std::int64_t most);

/// The ways to cut a loop of results into strided items, threads and contiguous items.
/// @param has_long_rows  whether its items read rows along the reduction, several steps at once:
///                       then many of them are strided
[[nodiscard]] std::vector<std::array<std::uint16_t, 3>> cuts_of(const SlicedLoop& loop,
                                                                std::uint16_t most_threads,
                                                                std::uint16_t most_neighbours,
                                                                bool has_long_rows);

}  // namespace rtcg::loopy::detail
