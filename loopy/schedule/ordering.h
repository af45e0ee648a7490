#pragma once
// Internal header: it is not installed.

#include <optional>
#include <string>
#include <vector>

#include "rtcg/loopy/kernel/kernel.h"

// Orders of numbered things.

namespace rtcg::loopy {

using Edges = std::vector<std::vector<std::size_t>>;  // for each: those before it

/// Numbers 0 ... count-1 such that all of `before` holds, the smallest possible first; nothing on a
/// cycle.
[[nodiscard]] std::optional<std::vector<std::size_t>> sorted_topologically(const Edges& before);

/// The members of one cycle, in order.
[[nodiscard]] std::vector<std::size_t> find_cycle(const Edges& before);

/// `'a', 'b'`: the ids of statements.
[[nodiscard]] std::string ids_of(const Kernel& kernel, const std::vector<std::size_t>& statements);

}  // namespace rtcg::loopy
