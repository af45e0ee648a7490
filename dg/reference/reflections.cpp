#include "rtcg/dg/reference/reflections.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "rtcg/cgen/support/error.h"

namespace rtcg::dg {
namespace {

using Permutation = std::vector<int>;

double distance(const ReferencePoint& a, const ReferencePoint& b) {
  return std::abs(a[0] - b[0]) + std::abs(a[1] - b[1]) + std::abs(a[2] - b[2]);
}

// A point in the element whose vertices 0 and 1, or 2 and 3, have changed places. Coordinates are
// twice the barycentric ones of the vertices 1, 2, 3, less 1.
ReferencePoint reflected(const ReferencePoint& point, int dimension, std::size_t reflection) {
  ReferencePoint result = point;
  if (reflection == 1) {
    std::swap(result[1], result[2]);
  } else {
    result[0] = 1 - dimension;  // that of vertex 0, which is 1 less all others
    for (std::size_t axis = 0; axis < static_cast<std::size_t>(dimension); ++axis) {
      result[0] -= point[axis];
    }
  }
  return result;
}

std::vector<Permutation> node_reflections(const ReferenceElement& element) {
  std::vector<Permutation> result(element.dimension == 3 ? 2 : 1);
  for (std::size_t reflection = 0; reflection < result.size(); ++reflection) {
    for (const ReferencePoint& node : element.nodes) {
      const ReferencePoint image = reflected(node, element.dimension, reflection);
      const auto nearest = std::min_element(element.nodes.begin(), element.nodes.end(),
                                            [&](const ReferencePoint& a, const ReferencePoint& b) {
                                              return distance(a, image) < distance(b, image);
                                            });
      require_internal(distance(*nearest, image) < 1e-8, "nodes that are symmetric");
      result[reflection].push_back(static_cast<int>(nearest - element.nodes.begin()));
    }
  }
  return result;
}

std::vector<ReflectionOrbit> orbits_of(const std::vector<Permutation>& reflections) {
  std::vector<ReflectionOrbit> result;
  std::vector<bool> is_done(reflections[0].size());
  for (std::size_t i = 0; i < is_done.size(); ++i) {
    if (is_done[i]) {
      continue;
    }
    ReflectionOrbit orbit = {static_cast<int>(i)};
    for (const Permutation& reflection : reflections) {
      if (std::find(orbit.begin(), orbit.end(), reflection[i]) == orbit.end()) {
        const ReflectionOrbit before = orbit;
        for (const int member : before) {
          orbit.push_back(reflection[static_cast<std::size_t>(member)]);
        }
      }
    }
    for (const int member : orbit) {
      is_done[static_cast<std::size_t>(member)] = true;
    }
    result.push_back(std::move(orbit));
  }
  return result;
}

// Of a member of an orbit in a wave.
int sign(std::size_t member, std::size_t wave) {
  const std::size_t both = member & wave;
  return (both == 1 || both == 2) ? -1 : 1;
}

}  // namespace

std::vector<ReflectionOrbit> trivial_orbits(std::size_t count) {
  std::vector<ReflectionOrbit> result;
  for (std::size_t i = 0; i < count; ++i) {
    result.push_back({static_cast<int>(i)});
  }
  return result;
}

std::vector<ReflectionOrbit> node_orbits(const ReferenceElement& element) {
  return orbits_of(node_reflections(element));
}

std::vector<ReflectionOrbit> place_orbits(const ReferenceElement& element, std::size_t first,
                                          std::size_t count) {
  const std::size_t per_face = element.nodes_of_face();
  // places by their nodes, sorted, which name the face, and then the node
  std::map<std::pair<std::vector<int>, int>, int> places;
  for (std::size_t place = 0; place < count * per_face; ++place) {
    const std::vector<int>& nodes = element.face_nodes[first + place / per_face];
    places[{nodes, nodes[place % per_face]}] = static_cast<int>(place);
  }
  std::vector<Permutation> reflections;
  for (const Permutation& of_nodes : node_reflections(element)) {
    Permutation& reflection = reflections.emplace_back(count * per_face);
    for (const auto& [at, place] : places) {
      std::vector<int> image;
      for (const int node : at.first) {
        image.push_back(of_nodes[static_cast<std::size_t>(node)]);
      }
      std::sort(image.begin(), image.end());
      const auto found = places.find({image, of_nodes[static_cast<std::size_t>(at.second)]});
      reflection[static_cast<std::size_t>(place)] = found == places.end() ? place : found->second;
    }
  }
  return orbits_of(reflections);
}

Matrix between_waves(const Matrix& matrix, const std::vector<ReflectionOrbit>& rows,
                     const std::vector<ReflectionOrbit>& columns) {
  Matrix result{matrix.rows, matrix.columns, std::vector<double>(matrix.rows * matrix.columns)};
  double largest = 0;
  std::size_t row = 0;
  for (const ReflectionOrbit& to : rows) {
    for (std::size_t wave = 0; wave < to.size(); ++wave, ++row) {
      std::size_t column = 0;
      for (const ReflectionOrbit& from : columns) {
        for (std::size_t other = 0; other < from.size(); ++other, ++column) {
          double sum = 0;
          for (std::size_t i = 0; i < to.size(); ++i) {
            for (std::size_t k = 0; k < from.size(); ++k) {
              sum += sign(i, wave) * sign(k, other) *
                     matrix(static_cast<std::size_t>(to[i]), static_cast<std::size_t>(from[k]));
            }
          }
          result(row, column) = sum / static_cast<double>(to.size() * from.size());
          largest = std::max(largest, std::abs(result(row, column)));
        }
      }
    }
  }
  for (double& value : result.values) {
    value = std::abs(value) < 1e-12 * largest ? 0 : value;
  }
  return result;
}

// Along the edges of vertices that change places, and between their middles.
Matrix reflection_directions(int dimension) {
  switch (dimension) {
    case 1:
      return {1, 1, {1}};
    case 2:
      return {2, 2, {1, 0, -0.5, 1}};
    default:
      return {3, 3, {1, 0, 0, 0, -1, 1, -0.5, 0.5, 0.5}};
  }
}

Matrix reflection_components(int dimension) {
  switch (dimension) {
    case 1:
      return {1, 1, {1}};
    case 2:
      return {2, 2, {1, 0.5, 0, 1}};
    default:
      return {3, 3, {1, 0.5, 0.5, 0, -0.5, 0.5, 0, 1, 1}};
  }
}

}  // namespace rtcg::dg
