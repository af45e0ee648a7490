#pragma once
// Internal header: it is not installed.

#include <cstddef>
#include <vector>

// Which launches share a loop of the host: for what runs a plan.

namespace rtcg::loopy {

struct LaunchPlan;

namespace detail {
/// After the last of the launches from `begin` on that run in the loop of the first at `depth`.
[[nodiscard]] std::size_t end_of_host_loop(const std::vector<LaunchPlan>& launches,
                                           std::size_t begin, std::size_t depth);
}  // namespace detail

}  // namespace rtcg::loopy
