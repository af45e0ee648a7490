#include "rtcg/dg/reference/reflections.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <set>

#include <gtest/gtest.h>

namespace rtcg::dg {
namespace {

std::size_t entries(const Matrix& matrix) {
  return matrix.values.size() -
         static_cast<std::size_t>(std::count_if(matrix.values.begin(), matrix.values.end(),
                                                [](double x) { return std::abs(x) < 1e-11; }));
}

// Of each wave of each orbit, sums of values with its signs.
std::vector<double> waves_of(const std::vector<double>& values,
                             const std::vector<ReflectionOrbit>& orbits) {
  const int signs[4][4] = {{1, 1, 1, 1}, {1, -1, 1, -1}, {1, 1, -1, -1}, {1, -1, -1, 1}};
  std::vector<double> result;
  for (const ReflectionOrbit& orbit : orbits) {
    for (std::size_t wave = 0; wave < orbit.size(); ++wave) {
      double sum = 0;
      for (std::size_t i = 0; i < orbit.size(); ++i) {
        sum += signs[wave][i] * values[static_cast<std::size_t>(orbit[i])];
      }
      result.push_back(sum);
    }
  }
  return result;
}

std::vector<double> product(const Matrix& matrix, const std::vector<double>& x) {
  std::vector<double> y(matrix.rows);
  for (std::size_t i = 0; i < matrix.rows; ++i) {
    for (std::size_t k = 0; k < matrix.columns; ++k) {
      y[i] += matrix(i, k) * x[k];
    }
  }
  return y;
}

Matrix along(const ReferenceElement& element, std::size_t direction) {
  const Matrix directions = reflection_directions(element.dimension);
  Matrix sum = element.derivatives[0];
  for (std::size_t i = 0; i < sum.values.size(); ++i) {
    sum.values[i] = 0;
    for (std::size_t axis = 0; axis < element.derivatives.size(); ++axis) {
      sum.values[i] += directions(direction, axis) * element.derivatives[axis].values[i];
    }
  }
  return sum;
}

void expect_partition(const std::vector<ReflectionOrbit>& orbits, std::size_t count) {
  std::set<int> members;
  std::size_t sum = 0;
  for (const ReflectionOrbit& orbit : orbits) {
    EXPECT_TRUE(orbit.size() == 1 || orbit.size() == 2 || orbit.size() == 4);
    members.insert(orbit.begin(), orbit.end());
    sum += orbit.size();
  }
  EXPECT_EQ(sum, count);
  ASSERT_EQ(members.size(), count);
  EXPECT_EQ(*members.rbegin(), static_cast<int>(count) - 1);
}

TEST(ReflectionOrbits, HoldEachNodeAndPlaceOnce) {
  for (int dimension = 1; dimension <= 3; ++dimension) {
    for (int order = 1; order <= highest_order; ++order) {
      const ReferenceElement element = make_reference_element(dimension, order);
      expect_partition(node_orbits(element), element.node_count());
      for (std::size_t count = 1; count <= element.face_count(); ++count) {
        for (std::size_t first = 0; first + count <= element.face_count(); ++first) {
          expect_partition(place_orbits(element, first, count), count * element.nodes_of_face());
        }
      }
    }
  }
}

TEST(ReflectionOrbits, ChangeThePlacesOfTwoPairsOfVertices) {
  const ReferenceElement element = make_reference_element(3, 4);
  for (const ReflectionOrbit& orbit : node_orbits(element)) {
    // barycentric coordinates, each pair in ascending order
    const auto coordinates = [&](int member) {
      const ReferencePoint& x = element.nodes[static_cast<std::size_t>(member)];
      const double first = (1 + x[0]) / 2;
      const double third = (1 + x[1]) / 2;
      const double fourth = (1 + x[2]) / 2;
      const auto one = std::minmax({1 - first - third - fourth, first});
      const auto other = std::minmax({third, fourth});
      return std::array{one.first, one.second, other.first, other.second};
    };
    for (const int member : orbit) {
      for (std::size_t i = 0; i < 4; ++i) {
        EXPECT_NEAR(coordinates(member)[i], coordinates(orbit[0])[i], 1e-12);
      }
    }
  }
  EXPECT_EQ(node_orbits(make_reference_element(3, 1)),
            (std::vector<ReflectionOrbit>{{0, 1}, {2, 3}}));
  EXPECT_EQ(node_orbits(make_reference_element(1, 2)), (std::vector<ReflectionOrbit>{{0, 2}, {1}}));
}

TEST(BetweenWaves, GivesTheSameProduct) {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> number(-1, 1);
  for (int dimension = 1; dimension <= 3; ++dimension) {
    for (const int order : {1, 2, 3, 5}) {
      const ReferenceElement element = make_reference_element(dimension, order);
      const std::vector<ReflectionOrbit> rows = node_orbits(element);
      const auto expect_same = [&](const Matrix& matrix,
                                   const std::vector<ReflectionOrbit>& columns) {
        std::vector<double> x(matrix.columns);
        std::generate(x.begin(), x.end(), [&] { return number(random); });
        const std::vector<double> y = product(matrix, x);
        // values are sums of waves with the same signs, so that these are sums of values
        const std::vector<double> found =
            product(between_waves(matrix, rows, columns), waves_of(x, columns));
        const std::vector<double> waves = waves_of(y, rows);
        std::size_t place = 0;
        for (const ReflectionOrbit& orbit : rows) {
          for (std::size_t wave = 0; wave < orbit.size(); ++wave, ++place) {
            EXPECT_NEAR(found[place] * static_cast<double>(orbit.size()), waves[place], 1e-11);
          }
        }
      };
      for (const Matrix& derivative : element.derivatives) {
        expect_same(derivative, rows);
        expect_same(derivative, trivial_orbits(derivative.columns));
      }
      expect_same(element.lift, place_orbits(element, 0, element.face_count()));
    }
  }
}

TEST(BetweenWaves, LeavesAThirdOfTheEntriesInThreeDimensionsAndHalfInTwo) {
  for (int order = 2; order <= highest_order; ++order) {
    for (const auto& [dimension, share] : {std::pair(3, 0.37), std::pair(2, 0.6)}) {
      const ReferenceElement element = make_reference_element(dimension, order);
      const std::vector<ReflectionOrbit> rows = node_orbits(element);
      std::size_t before = entries(element.lift);
      std::size_t after = entries(
          between_waves(element.lift, rows, place_orbits(element, 0, element.face_count())));
      for (std::size_t axis = 0; axis < element.derivatives.size(); ++axis) {
        before += entries(element.derivatives[axis]);
        after += entries(between_waves(along(element, axis), rows, rows));
      }
      EXPECT_LT(static_cast<double>(after), share * static_cast<double>(before))
          << dimension << "-D, order " << order;
    }
  }
}

TEST(ReflectionDirections, BelongToTheComponents) {
  for (int dimension = 1; dimension <= 3; ++dimension) {
    const Matrix directions = reflection_directions(dimension);
    const Matrix components = reflection_components(dimension);
    for (std::size_t i = 0; i < directions.rows; ++i) {
      for (std::size_t k = 0; k < directions.rows; ++k) {
        double sum = 0;
        for (std::size_t direction = 0; direction < directions.rows; ++direction) {
          sum += components(direction, i) * directions(direction, k);
        }
        EXPECT_EQ(sum, i == k ? 1 : 0);
      }
    }
  }
}

}  // namespace
}  // namespace rtcg::dg
