#include "rtcg/dg/mesh/mesh.h"

#include <algorithm>
#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "rtcg/dg/mesh/connectivity.h"
#include "tests/dg/mesh/box_examples.h"
#include "tests/support/expect_error.h"

namespace rtcg::dg {
namespace {

using testing::box;

TEST(Mesh, CurveOrderKeepsTheElementsAndBringsNeighboursTogether) {
  for (int dimension = 1; dimension <= 3; ++dimension) {
    Mesh mesh = make_box_mesh(box(dimension, dimension == 1 ? 64 : 8));
    std::shuffle(mesh.elements.begin(), mesh.elements.end(), std::mt19937(1));
    for (std::size_t i = 0; i < mesh.element_count(); ++i) {
      mesh.element_regions.push_back(mesh.elements[i][0]);
    }
    const Mesh ordered = ordered_along_curve(mesh);
    const auto distance = [](const Mesh& each) {
      const Connectivity connectivity = find_connectivity(each);
      double sum = 0;
      for (std::size_t i = 0; i < connectivity.links.size(); ++i) {
        if (!connectivity.links[i].is_boundary()) {
          sum +=
              std::abs(static_cast<double>(i / connectivity.faces) - connectivity.links[i].element);
        }
      }
      return sum;
    };
    EXPECT_LT(distance(ordered), 0.3 * distance(mesh));
    for (std::size_t i = 0; i < ordered.element_count(); ++i) {
      EXPECT_EQ(ordered.element_regions[i], ordered.elements[i][0]);
    }
    auto left = mesh.elements;
    auto right = ordered.elements;
    std::sort(left.begin(), left.end());
    std::sort(right.begin(), right.end());
    EXPECT_EQ(left, right);
  }
}

}  // namespace
}  // namespace rtcg::dg
