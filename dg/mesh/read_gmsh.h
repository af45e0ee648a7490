#pragma once

#include <string>
#include <string_view>

#include "rtcg/dg/mesh/mesh.h"

namespace rtcg::dg {

struct GmshOptions {
  /// Uses only the vertices of curved elements, which then become straight. Default: curved
  /// elements are refused.
  bool vertices_only = false;
};

/// A mesh from a file of Gmsh: MSH 4.1 or 2.2, ASCII or binary, partitioned or not.
///
/// The simplices of the highest dimension are the elements, those of one less the boundary faces.
/// The names of physical groups, or their numbers, are the tags and regions; boundary faces without
/// a group are left out. Periodic vertices are identified. Elements are oriented to a positive
/// volume.
/// @throws InvalidInput  dg.read_gmsh.unreadable_file, dg.read_gmsh.syntax, dg.read_gmsh.truncated,
///                       dg.read_gmsh.unknown_node, dg.read_gmsh.unknown_entity,
///                       dg.read_gmsh.no_elements, dg.read_gmsh.not_flat,
///                       dg.read_gmsh.two_groups: an element or boundary face is of two,
///                       dg.read_gmsh.duplicate_element; each with the line
/// @throws Unsupported   dg.read_gmsh.version, dg.read_gmsh.element_type, dg.read_gmsh.curved
[[nodiscard]] Mesh read_gmsh(const std::string& path, const GmshOptions& options = {});

/// The same from the bytes of a file; `name` is for messages.
[[nodiscard]] Mesh parse_gmsh(std::string_view bytes, const std::string& name,
                              const GmshOptions& options = {});

}  // namespace rtcg::dg
