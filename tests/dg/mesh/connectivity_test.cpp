#include "rtcg/dg/mesh/connectivity.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "rtcg/dg/mesh/geometric_factors.h"
#include "tests/dg/mesh/box_examples.h"
#include "tests/support/expect_error.h"

namespace rtcg::dg {
namespace {

using testing::box;
using testing::boxes;

bool is_somewhere_periodic(const BoxOptions& options) {
  return std::find(options.periodic.begin(), options.periodic.end(), true) !=
         options.periodic.end();
}

TEST(Connectivity, NeighboursAgreeAboutFacesNormalsAndAreas) {
  for (const BoxOptions& options : boxes()) {
    const Mesh mesh = make_box_mesh(options);
    const Connectivity connectivity = find_connectivity(mesh);
    const GeometricFactors factors = find_geometric_factors(mesh);
    for (std::size_t element = 0; element < mesh.element_count(); ++element) {
      for (std::size_t face = 0; face < connectivity.faces; ++face) {
        const FaceLink& link = connectivity.link(element, face);
        if (link.is_boundary()) {
          continue;
        }
        const auto other = static_cast<std::size_t>(link.element);
        const auto other_face = static_cast<std::size_t>(link.face);
        const FaceLink& back = connectivity.link(other, other_face);
        EXPECT_EQ(back.element, static_cast<int>(element));
        EXPECT_EQ(back.face, static_cast<int>(face));
        EXPECT_NEAR(factors.face_jacobian(element, face), factors.face_jacobian(other, other_face),
                    1e-14);
        for (std::size_t axis = 0; axis < factors.dimension; ++axis) {
          EXPECT_NEAR(
              factors.normals[(element * connectivity.faces + face) * factors.dimension + axis],
              -factors
                   .normals[(other * connectivity.faces + other_face) * factors.dimension + axis],
              1e-13);
        }
      }
    }
  }
}

TEST(Connectivity, NodesOfFacesMeet) {
  for (const BoxOptions& options : boxes()) {
    const ReferenceElement reference = make_reference_element(options.dimension, 4);
    const auto permutations = face_node_permutations(reference);
    const Mesh mesh = make_box_mesh(options);
    const Connectivity connectivity = find_connectivity(mesh);
    const std::vector<double> nodes = node_coordinates(mesh, reference);
    const std::size_t count = reference.node_count();
    for (std::size_t element = 0; element < mesh.element_count(); ++element) {
      for (std::size_t face = 0; face < connectivity.faces; ++face) {
        const FaceLink& link = connectivity.link(element, face);
        for (std::size_t i = 0; i < reference.nodes_of_face() && !link.is_boundary(); ++i) {
          const auto place =
              static_cast<std::size_t>(permutations[static_cast<std::size_t>(link.permutation)][i]);
          const auto mine = static_cast<std::size_t>(reference.face_nodes[face][i]);
          const auto theirs = static_cast<std::size_t>(
              reference.face_nodes[static_cast<std::size_t>(link.face)][place]);
          for (std::size_t axis = 0; axis < static_cast<std::size_t>(mesh.dimension); ++axis) {
            const std::size_t row = axis * mesh.element_count();
            const double distance =
                std::abs(nodes[(row + element) * count + mine] -
                         nodes[(row + static_cast<std::size_t>(link.element)) * count + theirs]);
            const double period = options.upper[axis] - options.lower[axis];
            const bool is_image = is_somewhere_periodic(options) && distance > period / 2;
            ASSERT_NEAR(is_image ? distance - period : distance, 0, 1e-14);
          }
        }
      }
    }
  }
}

TEST(Connectivity, KuhnCubesMeetInSeveralWays) {
  const Connectivity connectivity = find_connectivity(make_box_mesh(box(3, 3)));
  std::set<int> permutations;
  for (const FaceLink& link : connectivity.links) {
    permutations.insert(link.permutation);
  }
  EXPECT_GE(permutations.size(), 2U);
}

TEST(Connectivity, RefusesMeshesThatAreNone) {
  Mesh mesh = make_box_mesh(box(2, 2));
  mesh.elements.push_back(mesh.elements[0]);
  mesh.elements.push_back(mesh.elements[0]);
  EXPECT_ERROR("dg.find_connectivity.shared_face", find_connectivity(mesh));
  mesh = make_box_mesh(box(2, 2));
  mesh.boundary_faces[0].vertices = {0, 8, -1};
  EXPECT_ERROR("dg.find_connectivity.stray_boundary_face", find_connectivity(mesh));
  mesh.boundary_faces[0].vertices = {0, 9, -1};
  EXPECT_ERROR("dg.find_connectivity.bad_vertex", find_connectivity(mesh));
  mesh = make_box_mesh(box(2, 2));
  mesh.elements[1][2] = -1;
  EXPECT_ERROR("dg.find_connectivity.bad_vertex", find_connectivity(mesh));
}

// Lists that are too short were read beyond their end.
TEST(Defect14, ListsOfAMeshAreAsLongAsTheyMustBe) {
  const Mesh mesh = make_box_mesh(box(2, 2));
  Mesh each = mesh;
  each.twins = {0, 1};
  EXPECT_ERROR("dg.find_connectivity.bad_list", find_connectivity(each));
  each.twins.assign(mesh.vertices.size(), 99);
  EXPECT_ERROR("dg.find_connectivity.bad_vertex", find_connectivity(each));
  each = mesh;
  each.element_regions = {0};
  EXPECT_ERROR("dg.find_connectivity.bad_list", find_connectivity(each));
  each = mesh;
  each.boundary_faces[1].tag = 4;
  EXPECT_ERROR("dg.find_connectivity.bad_list", find_connectivity(each));
  each.boundary_faces[1].tag = -1;
  EXPECT_ERROR("dg.find_connectivity.bad_list", find_connectivity(each));
  each = mesh;
  each.boundary_faces.push_back(mesh.boundary_faces[0]);
  each.boundary_faces.back().tag = mesh.boundary_faces[0].tag == 0 ? 1 : 0;
  EXPECT_ERROR("dg.find_connectivity.two_tags", find_connectivity(each));
}

TEST(Connectivity, EveryBoundaryFaceNeedsACondition) {
  Mesh mesh = make_box_mesh(box(2, 2));
  const Connectivity connectivity = find_connectivity(mesh);
  EXPECT_ERROR("dg.check_boundary_coverage.uncovered",
               (check_boundary_coverage(mesh, connectivity, {"-x", "+x", "-y"}), 0));
  EXPECT_ERROR("dg.check_boundary_coverage.unknown_tag",
               (check_boundary_coverage(mesh, connectivity, {"wall"}), 0));
  mesh.boundary_faces.pop_back();
  try {
    check_boundary_coverage(mesh, find_connectivity(mesh), {"-x", "+x", "-y", "+y"});
    FAIL();
  } catch (const InvalidInput& error) {
    EXPECT_NE(error.message().find("1 face without a tag"), std::string::npos) << error.message();
  }
}

}  // namespace
}  // namespace rtcg::dg
