#pragma once

#include <set>
#include <string>
#include <vector>

#include "rtcg/dg/mesh/mesh.h"

namespace rtcg::dg {

/// The neighbour or boundary at a face of an element.
struct FaceLink {
  int element = -1;  ///< the neighbour; -1 on the boundary
  int face = -1;     ///< the neighbour's face
  int permutation =
      0;  ///< index into face_permutations: from this element's vertices to the neighbour's
  int boundary_tag = -1;  ///< index into Mesh::boundary_tags; -1 inside, or where none was given

  [[nodiscard]] bool is_boundary() const noexcept { return element < 0; }
};

struct Connectivity {
  std::size_t faces = 0;          ///< of an element
  std::vector<FaceLink> links{};  ///< [element * faces + face]

  [[nodiscard]] const FaceLink& link(std::size_t element, std::size_t face) const {
    return links[element * faces + face];
  }
};

/// The neighbours of all elements. Faces are shared if their vertices, or the representatives of
/// these, are the same. Boundary faces between two elements are interfaces and are ignored.
///
/// @throws InvalidInput  dg.find_connectivity.bad_vertex: no such vertex;
///                       dg.find_connectivity.shared_face: more than two elements have one face;
///                       dg.find_connectivity.stray_boundary_face: no element has it;
///                       dg.find_connectivity.bad_list: a number of entries other than that of
///                       vertices or elements, or an unknown tag;
///                       dg.find_connectivity.two_tags: a face on the boundary has two
[[nodiscard]] Connectivity find_connectivity(const Mesh& mesh);

/// Checks that every boundary face has a tag and every tag a condition.
///
/// @param conditions  the tags for which there are conditions
/// @throws InvalidInput  dg.check_boundary_coverage.uncovered: names tag or place and how many
/// faces;
///                       dg.check_boundary_coverage.unknown_tag: a condition for no tag of the mesh
void check_boundary_coverage(const Mesh& mesh, const Connectivity& connectivity,
                             const std::set<std::string>& conditions);

}  // namespace rtcg::dg
