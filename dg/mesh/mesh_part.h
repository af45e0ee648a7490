#pragma once

#include <cstdint>
#include <vector>

#include "rtcg/dg/mesh/connectivity.h"
#include "rtcg/dg/mesh/mesh.h"

namespace rtcg::dg {

/// The faces that a part of a mesh has in common with another part.
///
/// Both parts number their sides of these faces by elements of the whole mesh and their faces,
/// ascending: what one sends is in the order in which the other receives it.
struct PartNeighbour {
  int part = 0;
  /// Sides of the part's own elements: element * faces + face.
  std::vector<std::uint32_t> sent{};
  /// Sides of its ghosts, numbered after its own elements.
  std::vector<std::uint32_t> received{};
  /// The part's own elements that are ghosts of the neighbour, and its ghosts there; in the order
  /// of the whole mesh.
  std::vector<std::uint32_t> sent_elements{};
  std::vector<std::uint32_t> received_elements{};
};

/// What a part of a mesh knows of the whole.
struct MeshPart {
  int part = 0;
  int parts = 1;
  /// The first elements of the part, which have no face in common with another part.
  std::size_t interior = 0;
  std::size_t owned = 0;
  /// Elements of other parts that have a face in common with this one. They are numbered after the
  /// part's own, by part, then in the order of the whole mesh.
  std::size_t ghosts = 0;
  /// The places in the whole mesh: of the part's own elements, then of its ghosts.
  std::vector<std::int64_t> places{};
  std::vector<PartNeighbour> neighbours{};  ///< ascending

  std::size_t whole_elements = 0;
  std::uint64_t whole_fingerprint = 0;
  std::vector<Point> whole_boundary{};  ///< the first vertex of each of its boundary faces
};

/// A part of a mesh as a mesh of its own.
struct SplitMesh {
  /// The part's elements. Its boundary is that of the whole mesh only; it has no periodic vertices.
  Mesh mesh{};
  Mesh with_ghosts{};           ///< the same with the ghosts behind
  Connectivity connectivity{};  ///< of the part's elements; neighbours may be ghosts
  MeshPart part{};
};

/// @param part_of  [element]: its part; a part may have no elements
/// @param parts    how many there are
/// @throws InvalidInput  dg.split_mesh.bad_parts: not a part in [0, parts) for each element
[[nodiscard]] SplitMesh split_mesh(const Mesh& mesh, const Connectivity& connectivity,
                                   const std::vector<int>& part_of, int part, int parts);

}  // namespace rtcg::dg
