#include "rtcg/dg/mesh/geometric_factors.h"

#include <gtest/gtest.h>

#include "rtcg/dg/mesh/connectivity.h"
#include "tests/dg/mesh/box_examples.h"
#include "tests/support/expect_error.h"

namespace rtcg::dg {
namespace {

using testing::box;

// By the divergence theorem: the integral of div (x^2 y, y z^2, x y z) over the unit cube.
TEST(GeometricFactors, VolumeAndBoundaryIntegralsAgree) {
  const ReferenceElement reference = make_reference_element(3, 4);
  const Mesh mesh = make_box_mesh(box(3, 3, 0.2));
  const Connectivity connectivity = find_connectivity(mesh);
  const GeometricFactors factors = find_geometric_factors(mesh);
  const std::vector<double> nodes = node_coordinates(mesh, reference);
  const std::size_t count = reference.node_count();
  double volume = 0;
  double boundary = 0;
  for (std::size_t element = 0; element < mesh.element_count(); ++element) {
    const auto at = [&](std::size_t node) {
      Point point{};
      for (std::size_t axis = 0; axis < 3; ++axis) {
        point[axis] = nodes[(axis * mesh.element_count() + element) * count + node];
      }
      return point;
    };
    const auto field = [](const Point& p) {
      return Point{p[0] * p[0] * p[1], p[1] * p[2] * p[2], p[0] * p[1] * p[2]};
    };
    for (std::size_t node = 0; node < count; ++node) {
      double divergence = 0;
      for (std::size_t j = 0; j < 3; ++j) {
        for (std::size_t other = 0; other < count; ++other) {
          const Point value = field(at(other));
          for (std::size_t i = 0; i < 3; ++i) {
            divergence += factors.metric[element * 9 + j * 3 + i] *
                          reference.derivatives[j](node, other) * value[i];
          }
        }
      }
      for (std::size_t row = 0; row < count; ++row) {
        volume += factors.jacobian[element] * reference.mass(row, node) * divergence;
      }
    }
    for (std::size_t face = 0; face < 4; ++face) {
      if (!connectivity.link(element, face).is_boundary()) {
        continue;
      }
      for (std::size_t i = 0; i < reference.nodes_of_face(); ++i) {
        const auto node = static_cast<std::size_t>(reference.face_nodes[face][i]);
        const Point value = field(at(node));
        double through = 0;
        for (std::size_t axis = 0; axis < 3; ++axis) {
          through += factors.normals[(element * 4 + face) * 3 + axis] * value[axis];
        }
        for (std::size_t row = 0; row < count; ++row) {
          boundary += factors.face_jacobian(element, face) * through *
                      reference.face_mass(row, face * reference.nodes_of_face() + i);
        }
      }
    }
  }
  EXPECT_NEAR(volume, 13.0 / 12, 2e-14);
  EXPECT_NEAR(boundary, 13.0 / 12, 2e-14);
}

TEST(GeometricFactors, MeasuresTheUnitBox) {
  const std::array<double, 3> reference_volume = {2, 2, 4.0 / 3};
  const std::array<double, 3> reference_face = {1, 2, 2};
  const std::array<double, 3> boundary = {2, 4, 6};
  for (std::size_t dimension = 1; dimension <= 3; ++dimension) {
    const Mesh mesh = make_box_mesh(box(static_cast<int>(dimension), 3, 0.2));
    const Connectivity connectivity = find_connectivity(mesh);
    const GeometricFactors factors = find_geometric_factors(mesh);
    double volume = 0;
    double area = 0;
    for (std::size_t element = 0; element < mesh.element_count(); ++element) {
      volume += factors.jacobian[element] * reference_volume[dimension - 1];
      for (std::size_t face = 0; face < factors.faces; ++face) {
        if (connectivity.link(element, face).is_boundary()) {
          area += factors.face_jacobian(element, face) * reference_face[dimension - 1];
        }
      }
    }
    EXPECT_NEAR(volume, 1, 1e-14);
    EXPECT_NEAR(area, boundary[dimension - 1], 2e-14);
  }
}

TEST(GeometricFactors, SmallestSizeOfAnInterval) {
  EXPECT_NEAR(smallest_size(find_geometric_factors(make_box_mesh(box(1, 8)))), 0.125, 1e-15);
}

// Such meshes made time steps of 1e-320, or none.
TEST(Attack12, ElementsWithoutAVolumeOrAHeightAreRefused) {
  for (int dimension = 1; dimension <= 3; ++dimension) {
    SCOPED_TRACE(dimension);
    const Mesh mesh = make_box_mesh(box(dimension, 2));
    const auto scaled = [&](double factor, std::size_t axes) {
      Mesh each = mesh;
      for (Point& point : each.vertices) {
        for (std::size_t axis = 0; axis < axes; ++axis) {
          point[axis] *= factor;
        }
      }
      return each;
    };
    const auto all = static_cast<std::size_t>(dimension);
    EXPECT_ERROR("dg.find_geometric_factors.degenerate",
                 find_geometric_factors(scaled(1e-320, all)));
    EXPECT_ERROR("dg.find_geometric_factors.degenerate", find_geometric_factors(scaled(1e-320, 1)));
    if (dimension > 1) {
      EXPECT_ERROR("dg.find_geometric_factors.degenerate",
                   find_geometric_factors(scaled(1e308, all)));
      EXPECT_ERROR("dg.find_geometric_factors.degenerate",
                   find_geometric_factors(scaled(1e-11, 1)));
      EXPECT_ERROR("dg.find_geometric_factors.degenerate", find_geometric_factors(scaled(1e11, 1)));
    }
    EXPECT_NO_THROW(find_geometric_factors(scaled(1e-8, 1))) << "boundary layers are thin";
    EXPECT_NO_THROW(find_geometric_factors(scaled(1e-60, all))) << "units are the user's";
    EXPECT_NO_THROW(find_geometric_factors(scaled(1e60, all)));
  }
  Mesh ends = make_box_mesh(box(1, 1));
  ends.vertices[0][0] = -1e308;
  ends.vertices[1][0] = 1e308;
  EXPECT_ERROR("dg.find_geometric_factors.degenerate", find_geometric_factors(ends));
}

TEST(GeometricFactors, RefusesFlatElements) {
  Mesh mesh = make_box_mesh(box(2, 2));
  mesh.elements[3][1] = mesh.elements[3][0];
  EXPECT_ERROR("dg.find_geometric_factors.degenerate", find_geometric_factors(mesh));
}

}  // namespace
}  // namespace rtcg::dg
