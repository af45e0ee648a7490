#pragma once
// Internal header: it is not installed.

#include <cstdint>
#include <string>
#include <vector>

#include "rtcg/dg/equations/system.h"
#include "rtcg/dg/operators/discretization.h"

// What the ranks that share a mesh have to agree on, on the host. On a whole mesh nothing is
// exchanged. All ranks make the same calls.

namespace rtcg::dg::detail {

/// The ranks of a discretisation; one alone if it is whole.
[[nodiscard]] distributed::Group group_of(const Discretization& on, runtime::Device device);

/// How many elements all ranks have.
[[nodiscard]] std::size_t whole_element_count(const Discretization& on);

/// Values of the own elements, `bytes` each, in the order of the whole mesh on the first rank; none
/// on others.
[[nodiscard]] std::vector<std::byte> gather_elements(const Discretization& on,
                                                     const std::vector<std::byte>& own,
                                                     std::size_t bytes);
/// The reverse: of the first rank's values those of the own elements.
[[nodiscard]] std::vector<std::byte> scatter_elements(const Discretization& on,
                                                      const std::vector<std::byte>& whole,
                                                      std::size_t bytes);

/// The sum of terms of the own elements, `terms` each, of all ranks, in the order of the whole
/// mesh: the same bits for any number of ranks.
[[nodiscard]] double sum_over_elements(const Discretization& on, const std::vector<double>& own,
                                       std::size_t terms);

/// The data with the materials of the ghosts behind those of the own elements.
[[nodiscard]] SystemData with_materials_of_ghosts(SystemData data, const Discretization& on);

}  // namespace rtcg::dg::detail
