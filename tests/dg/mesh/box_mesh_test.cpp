#include "rtcg/dg/mesh/box_mesh.h"

#include <gtest/gtest.h>

#include "rtcg/dg/mesh/connectivity.h"
#include "rtcg/dg/mesh/geometric_factors.h"
#include "tests/dg/mesh/box_examples.h"
#include "tests/support/expect_error.h"

namespace rtcg::dg {
namespace {

using testing::box;
using testing::boxes;

TEST(BoxMesh, FillsTheBox) {
  for (const BoxOptions& options : boxes()) {
    const Mesh mesh = make_box_mesh(options);
    const GeometricFactors factors = find_geometric_factors(mesh);
    double volume = 0;
    double expected = 1;
    for (const double jacobian : factors.jacobian) {
      volume += jacobian * std::array<double, 3>{2, 2, 4.0 / 3}[factors.dimension - 1];
    }
    for (std::size_t axis = 0; axis < factors.dimension; ++axis) {
      expected *= options.upper[axis] - options.lower[axis];
    }
    EXPECT_NEAR(volume, expected, 1e-13);
  }
}

TEST(BoxMesh, BoundaryHasTheTagsOfItsSides) {
  for (const BoxOptions& options : boxes()) {
    const Mesh mesh = make_box_mesh(options);
    const Connectivity connectivity = find_connectivity(mesh);
    const GeometricFactors factors = find_geometric_factors(mesh);
    EXPECT_NO_THROW(check_boundary_coverage(
        mesh, connectivity, {mesh.boundary_tags.begin(), mesh.boundary_tags.end()}));
    std::size_t boundary_faces = 0;
    for (std::size_t i = 0; i < connectivity.links.size(); ++i) {
      if (connectivity.links[i].is_boundary()) {
        ++boundary_faces;
        const std::string tag =
            mesh.boundary_tags[static_cast<std::size_t>(connectivity.links[i].boundary_tag)];
        const auto axis = static_cast<std::size_t>(tag[1] - 'x');
        EXPECT_NEAR(factors.normals[i * factors.dimension + axis], tag[0] == '+' ? 1 : -1, 1e-14);
      }
    }
    EXPECT_EQ(boundary_faces, mesh.boundary_faces.size());
  }
  EXPECT_EQ(make_box_mesh(box(3, 4)).boundary_faces.size(), 6U * 16U * 2U);
  EXPECT_EQ(make_box_mesh(box(3, 3, 0, true)).boundary_faces.size(), 0U);
}

TEST(BoxMesh, RefusesWhatIsNoBox) {
  EXPECT_ERROR("dg.make_box_mesh.bad_dimension", make_box_mesh(box(4, 1)));
  EXPECT_ERROR("dg.make_box_mesh.bad_cells", make_box_mesh(box(2, 0)));
  EXPECT_ERROR("dg.make_box_mesh.bad_cells", make_box_mesh(box(2, 2, 0, true)));
  EXPECT_ERROR("dg.make_box_mesh.bad_cells", make_box_mesh(box(3, 2000)));
  EXPECT_ERROR("dg.make_box_mesh.bad_perturbation", make_box_mesh(box(2, 2, 0.5)));
  BoxOptions empty = box(2, 2);
  empty.upper = {1, 0, 0};
  EXPECT_ERROR("dg.make_box_mesh.bad_extent", make_box_mesh(empty));
}

}  // namespace
}  // namespace rtcg::dg
