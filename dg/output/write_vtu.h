#pragma once

#include <string>
#include <vector>

#include "rtcg/dg/mesh/mesh.h"
#include "rtcg/dg/output/nodal_field.h"
#include "rtcg/dg/reference/reference_element.h"

namespace rtcg::dg {

struct VtuOptions {
  /// One Lagrange cell of the solution's order for each element, which needs ParaView 5.5 or VTK
  /// 8.1; otherwise order^dimension straight cells for each element, which all readers accept.
  bool high_order = true;
  bool single_precision = false;  ///< of the numbers in the file: half the size
};

/// Writes an unstructured grid for VTK and ParaView, with numbers in base64 at the end. Elements do
/// not share points, so jumps between elements are kept. The points form a regular grid at which
/// the polynomials are evaluated. Fields of two components get a third one, 0, because vectors have
/// three. The cells carry `region`, the index into Mesh::regions or 0, and `element`,
/// the number in the whole mesh.
///
/// @param element  the nodes of the fields; of the dimension of the mesh
/// @throws InvalidInput  dg.write_vtu.shape_mismatch: another dimension, or a wrong number of
///                       values for nodes or elements; dg.write_file.unwritable_file
/// @cost   about the file's size in memory
/// @source VTK file formats 4.2; VTK's vtkLagrangeTetra
void write_vtu(const std::string& path, const Mesh& mesh, const ReferenceElement& element,
               const std::vector<NodalField>& fields,
               const std::vector<ElementField>& element_fields = {},
               const VtuOptions& options = {});

/// Writes the file that makes one grid of those that ranks wrote for their parts of a mesh: VTK and
/// ParaView open it like one file.
///
/// @param pieces  the ranks' files, as seen from the folder of this one; of ranks with elements
/// @param fields, element_fields  as in the calls of write_vtu; their values are not used
/// @throws InvalidInput  dg.write_file.unwritable_file
void write_pvtu(const std::string& path, const std::vector<std::string>& pieces,
                const std::vector<NodalField>& fields,
                const std::vector<ElementField>& element_fields = {},
                const VtuOptions& options = {});

struct PvdStep {
  double time = 0;
  std::string file;  ///< as seen from the folder of the series
};

/// Writes a series of VTU files, which ParaView opens as one animation.
///
/// @throws InvalidInput  dg.write_file.unwritable_file
void write_pvd(const std::string& path, const std::vector<PvdStep>& steps);

}  // namespace rtcg::dg
