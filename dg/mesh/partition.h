#pragma once

#include <string>
#include <vector>

#include "rtcg/dg/mesh/connectivity.h"
#include "rtcg/dg/mesh/mesh.h"

namespace rtcg::dg {

enum class PartitionMethod {
  automatic,  ///< metis if it is found
  metis,      ///< few faces between parts; a library, opened at first use
  curve,      ///< pieces of a Hilbert curve through the elements, equal to one element
};

/// Why METIS cannot be used; empty: it can. It is looked for as `libmetis.so.5`.
[[nodiscard]] const std::string& why_no_metis();

/// Distributes the elements over parts of about equal size.
///
/// @returns [element]: its part, from 0 to parts - 1; the same for the same mesh
/// @throws InvalidInput  dg.partition.bad_count: fewer parts than one, or more than elements
/// @throws Unsupported   dg.partition.no_metis
[[nodiscard]] std::vector<int> partition(const Mesh& mesh, const Connectivity& connectivity,
                                         int parts,
                                         PartitionMethod method = PartitionMethod::automatic);

/// The number of faces between elements of different parts.
[[nodiscard]] std::size_t count_cut_faces(const Connectivity& connectivity,
                                          const std::vector<int>& part_of);

/// The same mesh with the elements of part 0 first, then those of part 1, and so on; within a part
/// they keep their order.
[[nodiscard]] Mesh ordered_by_parts(Mesh mesh, const std::vector<int>& part_of);

/// The elements in parts of about 64 by METIS, which follow each other along a Hilbert curve.
///
/// @throws Unsupported  dg.partition.no_metis
[[nodiscard]] Mesh ordered_by_metis(Mesh mesh);

}  // namespace rtcg::dg
