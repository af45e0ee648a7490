#include "rtcg/dg/reference/reference_element.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include <gtest/gtest.h>

#include "rtcg/dg/reference/nodes.h"
#include "tests/support/expect_error.h"

namespace rtcg::dg {
namespace {

double frobenius(const Matrix& matrix) {
  double sum = 0;
  for (const double value : matrix.values) {
    sum += value * value;
  }
  return std::sqrt(sum);
}

// What a print of twelve digits rounds away.
void expect_near_relative(double found, double expected) {
  EXPECT_NEAR(found, expected, 1e-10 * std::abs(expected));
}

void expect_rows(const Matrix& matrix, const std::vector<std::vector<double>>& rows,
                 double tolerance = 1e-13) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t j = 0; j < rows[i].size(); ++j) {
      EXPECT_NEAR(matrix(i, j), rows[i][j], tolerance) << i << ", " << j;
    }
  }
}

void for_every_element(const std::function<void(const ReferenceElement&)>& check) {
  for (int dimension = 1; dimension <= 3; ++dimension) {
    for (int order = 1; order <= highest_order; ++order) {
      SCOPED_TRACE(::testing::Message() << "dimension " << dimension << ", order " << order);
      check(make_reference_element(dimension, order));
    }
  }
}

TEST(ReferenceElement, DifferentiatesPolynomialsExactly) {
  for_every_element([](const ReferenceElement& element) {
    const int dimension = element.dimension;
    const int order = element.order;
    for (int i = 0; i <= order; ++i) {
      for (int j = 0; j <= (dimension > 1 ? order - i : 0); ++j) {
        for (int k = 0; k <= (dimension > 2 ? order - i - j : 0); ++k) {
          const std::array<int, 3> powers = {i, j, k};
          const auto value = [&](const ReferencePoint& point, std::size_t by) {
            double product = 1;
            for (std::size_t axis = 0; axis < 3; ++axis) {
              const int power = powers[axis];
              product *= axis == by ? (power == 0 ? 0 : power * std::pow(point[axis], power - 1))
                                    : std::pow(point[axis], power);
            }
            return product;
          };
          for (std::size_t axis = 0; axis < static_cast<std::size_t>(dimension); ++axis) {
            for (std::size_t row = 0; row < element.node_count(); ++row) {
              double sum = 0;
              for (std::size_t column = 0; column < element.node_count(); ++column) {
                sum += element.derivatives[axis](row, column) * value(element.nodes[column], 3);
              }
              ASSERT_NEAR(sum, value(element.nodes[row], axis), order <= 4 ? 1.5e-14 : 6e-13);
            }
          }
        }
      }
    }
  });
}

TEST(ReferenceElement, MassAndLiftMeasureElementAndFaces) {
  const std::array<double, 3> volume = {2, 2, 4.0 / 3};
  const std::array<double, 3> faces = {2, 6, 8};
  for_every_element([&](const ReferenceElement& element) {
    const auto place = static_cast<std::size_t>(element.dimension - 1);
    double lifted = 0;
    double total = 0;
    for (std::size_t i = 0; i < element.node_count(); ++i) {
      for (std::size_t j = 0; j < element.node_count(); ++j) {
        total += element.mass(i, j);
        double row = 0;
        for (std::size_t k = 0; k < element.lift.columns; ++k) {
          row += element.lift(j, k);
        }
        lifted += element.mass(i, j) * row;
      }
    }
    EXPECT_NEAR(total, volume[place], 1e-12);
    EXPECT_NEAR(lifted, faces[place], 1e-11);
  });
}

TEST(ReferenceElement, SummationByParts) {
  // unnormalised outward normals over the reference faces, whose measure they carry
  const std::vector<std::vector<std::array<double, 3>>> normals = {
      {{-1, 0, 0}, {1, 0, 0}},
      {{0, -1, 0}, {1, 1, 0}, {-1, 0, 0}},
      {{0, 0, -1}, {0, -1, 0}, {1, 1, 1}, {-1, 0, 0}}};
  for_every_element([&](const ReferenceElement& element) {
    const std::size_t count = element.node_count();
    for (std::size_t axis = 0; axis < element.derivatives.size(); ++axis) {
      Matrix stiffness{count, count, std::vector<double>(count * count)};
      for (std::size_t i = 0; i < count; ++i) {
        for (std::size_t k = 0; k < count; ++k) {
          for (std::size_t j = 0; j < count; ++j) {
            stiffness(i, j) += element.mass(i, k) * element.derivatives[axis](k, j);
          }
        }
      }
      Matrix boundary{count, count, std::vector<double>(count * count)};
      for (std::size_t face = 0; face < element.face_count(); ++face) {
        const double normal = normals[static_cast<std::size_t>(element.dimension - 1)][face][axis];
        for (std::size_t i = 0; i < count; ++i) {
          for (std::size_t j = 0; j < element.nodes_of_face(); ++j) {
            boundary(i, static_cast<std::size_t>(element.face_nodes[face][j])) +=
                normal * element.face_mass(i, face * element.nodes_of_face() + j);
          }
        }
      }
      for (std::size_t i = 0; i < count; ++i) {
        for (std::size_t j = 0; j < count; ++j) {
          ASSERT_NEAR(stiffness(i, j) + stiffness(j, i), boundary(i, j),
                      element.order <= 4 ? 2e-15 : 1e-13);
        }
      }
    }
  });
}

TEST(ReferenceElement, SmallMatricesAreAsInTheBook) {
  const ReferenceElement linear = make_reference_element(2, 1);
  expect_rows(linear.derivatives[0], {{-.5, .5, 0}, {-.5, .5, 0}, {-.5, .5, 0}});
  expect_rows(linear.derivatives[1], {{-.5, 0, .5}, {-.5, 0, .5}, {-.5, 0, .5}});
  // the last face runs from vertex 0 to vertex 2
  expect_rows(linear.lift, {{2.5, .5, -1.5, -1.5, 2.5, .5},
                            {.5, 2.5, 2.5, .5, -1.5, -1.5},
                            {-1.5, -1.5, .5, 2.5, .5, 2.5}});
  Matrix doubled = make_reference_element(2, 2).derivatives[0];
  for (double& value : doubled.values) {
    value *= 2;
  }
  expect_rows(doubled, {{-3, 4, -1, 0, 0, 0},
                        {-1, 0, 1, 0, 0, 0},
                        {1, -4, 3, 0, 0, 0},
                        {-1, 2, -1, -2, 2, 0},
                        {1, -2, 1, -2, 2, 0},
                        {1, 0, -1, -4, 4, 0}});
  expect_rows(make_reference_element(3, 1).lift, {{3, .5, .5, 3, .5, .5, -2, -2, -2, 3, .5, .5}});
  expect_rows(make_reference_element(1, 4).derivatives[0],
              {{-5, 6.75650248872424, -8. / 3, 1.41016417794243, -0.5}});
}

TEST(ReferenceElement, FingerprintsOfMatrices) {
  struct Row {
    double derivative;
    double lift;
    double vandermonde;
  };
  const std::vector<Row> triangle = {
      {1.22474487139, 7.24568837309, 3.67423461417}, {5.38516480713, 17.195566289, 8.28402076289},
      {13.0596352964, 31.5810221818, 14.8184625139}, {25.0692948016, 51.2588656041, 23.3701247171},
      {42.3370513849, 76.7840500813, 34.0047900454}, {65.6649848996, 108.639344767, 46.7833398886},
      {96.7431655231, 147.269100704, 61.7419428758}, {136.812441217, 193.089180423, 78.9351217791},
      {189.375911728, 246.487367714, 98.3839002569}};
  const std::vector<Row> tetrahedron = {
      {1.41421356237, 12.7279220614, 6.92820323028}, {7, 33.5829197659, 20.7213657851},
      {18.8497503013, 67.086222022, 46.3468405571},  {39.7681740332, 115.253041322, 87.9864459459},
      {73.164736903, 182.436714753, 150.058624362},  {123.970605155, 271.651577116, 237.187462593},
      {203.787953072, 388.316120947, 353.603825697}, {328.710545369, 537.736300594, 504.206814408},
      {531.785713677, 729.564315681, 693.584458745}};
  for (int order = 1; order <= highest_order; ++order) {
    for (const int dimension : {2, 3}) {
      SCOPED_TRACE(::testing::Message() << "dimension " << dimension << ", order " << order);
      const Row& row =
          (dimension == 2 ? triangle : tetrahedron)[static_cast<std::size_t>(order - 1)];
      const ReferenceElement element = make_reference_element(dimension, order);
      expect_near_relative(frobenius(element.derivatives[0]), row.derivative);
      expect_near_relative(frobenius(element.lift), row.lift);
      expect_near_relative(frobenius(element.vandermonde), row.vandermonde);
    }
  }
  const std::vector<double> interval = {1, 3.67423461417, 7.74596669241, 13.2034221754,
                                        20.0416233541};
  for (int order = 1; order <= 5; ++order) {
    expect_near_relative(frobenius(make_reference_element(1, order).derivatives[0]),
                         interval[static_cast<std::size_t>(order - 1)]);
  }
}

// The largest singular value, by powers of the matrix times its transpose.
double spectral_norm(const Matrix& matrix) {
  std::vector<double> vector(matrix.columns, 1);
  vector[0] = 2;  // orthogonal to no singular vector, as it seems
  double norm = 0;
  double last = 0;
  do {
    last = norm;
    std::vector<double> image(matrix.rows);
    std::vector<double> next(matrix.columns);
    double square = 0;
    for (std::size_t row = 0; row < matrix.rows; ++row) {
      for (std::size_t column = 0; column < matrix.columns; ++column) {
        image[row] += matrix(row, column) * vector[column];
      }
      for (std::size_t column = 0; column < matrix.columns; ++column) {
        next[column] += matrix(row, column) * image[row];
      }
    }
    for (const double value : next) {
      square += value * value;
    }
    norm = std::sqrt(square);
    for (std::size_t column = 0; column < matrix.columns; ++column) {
      vector[column] = next[column] / norm;
    }
  } while (std::abs(norm - last) > 1e-13 * norm);
  return std::sqrt(norm);
}

TEST(ReferenceElement, VandermondeMatricesAreWellConditioned) {
  const std::vector<double> triangle = {2,        4.148320,  5.902840,  6.776871, 7.845000,
                                        9.591377, 11.159710, 13.886139, 16.896409};
  const std::vector<double> tetrahedron = {2.236068,  5.997931,  10.504928, 15.812555, 19.029945,
                                           26.310244, 37.224080, 56.311753, 88.323958};
  for (int order = 1; order <= highest_order; ++order) {
    for (const int dimension : {2, 3}) {
      const ReferenceElement element = make_reference_element(dimension, order);
      EXPECT_NEAR(spectral_norm(element.vandermonde) * spectral_norm(element.inverse_vandermonde),
                  (dimension == 2 ? triangle : tetrahedron)[static_cast<std::size_t>(order - 1)],
                  1e-5);
    }
  }
}

TEST(ReferenceElement, NodesAreWherePublished) {
  const ReferencePoint centroid = make_reference_element(2, 3).nodes[5];
  EXPECT_NEAR(centroid[0], -1. / 3, 1e-13);
  EXPECT_NEAR(centroid[1], -1. / 3, 1e-13);
  // the four interior nodes of order 5 in a tetrahedron
  const ReferenceElement five = make_reference_element(3, 5);
  int interior = 0;
  for (std::size_t node = 0; node < five.node_count(); ++node) {
    const bool is_on_face = std::any_of(
        five.face_nodes.begin(), five.face_nodes.end(), [&](const std::vector<int>& face) {
          return std::find(face.begin(), face.end(), static_cast<int>(node)) != face.end();
        });
    if (!is_on_face) {
      ++interior;
      std::array<double, 3> sorted = five.nodes[node];
      std::sort(sorted.begin(), sorted.end());
      EXPECT_NEAR(sorted[0], -0.622331815219382, 1e-12);
      EXPECT_NEAR(sorted[1], -0.622331815219382, 1e-12);
      EXPECT_TRUE(std::abs(sorted[2] + 0.133004554341855) < 1e-12 ||
                  std::abs(sorted[2] + 0.622331815219382) < 1e-12);
    }
  }
  EXPECT_EQ(interior, 4);
}

TEST(ReferenceElement, EdgesCarryGaussLobattoNodes) {
  const std::vector<std::pair<int, double>> spacings = {
      {3, .5527864045}, {4, .3453463293}, {5, .2349446761}, {9, .0804660918}};
  for (const auto& [order, spacing] : spacings) {
    for (int dimension = 1; dimension <= 3; ++dimension) {
      const std::vector<ReferencePoint> nodes = warp_blend_nodes(dimension, order);
      EXPECT_NEAR(nodes[1][0] - nodes[0][0], spacing, 1e-10);
      // and no two nodes are nearer to each other
      for (std::size_t i = 0; i < nodes.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) {
          const double distance = std::hypot(nodes[i][0] - nodes[j][0], nodes[i][1] - nodes[j][1],
                                             nodes[i][2] - nodes[j][2]);
          ASSERT_GT(distance, spacing - 1e-10) << i << ", " << j;
        }
      }
    }
  }
}

TEST(ReferenceElement, InterpolatesPolynomials) {
  const ReferenceElement element = make_reference_element(3, 4);
  const std::vector<ReferencePoint> points = equispaced_nodes(3, 6);
  const Matrix matrix = interpolation_matrix(element, points);
  const auto f = [](const ReferencePoint& p) { return 1 + p[0] * p[0] * p[1] - 3 * p[2] * p[1]; };
  for (std::size_t i = 0; i < points.size(); ++i) {
    double sum = 0;
    for (std::size_t j = 0; j < element.node_count(); ++j) {
      sum += matrix(i, j) * f(element.nodes[j]);
    }
    EXPECT_NEAR(sum, f(points[i]), 1e-13);
  }
}

TEST(ReferenceElement, FacePermutationsAreAGroup) {
  for_every_element([](const ReferenceElement& element) {
    const auto lists = face_node_permutations(element);
    const auto& permutations = face_permutations(element.dimension);
    ASSERT_EQ(lists.size(), permutations.size());
    for (std::size_t p = 0; p < lists.size(); ++p) {
      for (std::size_t q = 0; q < lists.size(); ++q) {
        std::vector<int> product;
        for (const int vertex : permutations[p]) {
          product.push_back(permutations[q][static_cast<std::size_t>(vertex)]);
        }
        const auto r = static_cast<std::size_t>(
            std::find(permutations.begin(), permutations.end(), product) - permutations.begin());
        for (std::size_t node = 0; node < lists[p].size(); ++node) {
          ASSERT_EQ(lists[r][node], lists[q][static_cast<std::size_t>(lists[p][node])]);
        }
      }
    }
  });
}

TEST(ReferenceElement, RefusesOtherDimensionsAndOrders) {
  EXPECT_ERROR("dg.make_reference_element.bad_dimension", make_reference_element(4, 1));
  EXPECT_ERROR("dg.make_reference_element.bad_dimension", make_reference_element(0, 1));
  EXPECT_ERROR("dg.make_reference_element.bad_order", make_reference_element(3, 0));
  EXPECT_ERROR("dg.make_reference_element.bad_order", make_reference_element(3, 10));
}

}  // namespace
}  // namespace rtcg::dg
