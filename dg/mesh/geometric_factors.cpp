#include "rtcg/dg/mesh/geometric_factors.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"

namespace rtcg::dg {
namespace {

// of three rows and columns at most, so that none is on the heap
using Square = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor, 3, 3>;
using Row = Eigen::Matrix<double, 1, Eigen::Dynamic, Eigen::RowMajor, 1, 3>;

// The gradient of face f, as a function that is 0 on it and falls inward, by the reference
// coordinates.
Row reference_normal(Eigen::Index dimension, Eigen::Index face) {
  Row normal = Row::Zero(dimension);
  const auto opposite_of_first = dimension == 3 ? 2 : 1;
  if (face == opposite_of_first) {
    return Row::Ones(dimension);
  }
  const std::array<std::array<Eigen::Index, 4>, 3> axes = {
      {{0, 0, 0, 0}, {1, 0, 0, 0}, {2, 1, 0, 0}}};
  normal[axes[static_cast<std::size_t>(dimension - 1)][static_cast<std::size_t>(face)]] = -1;
  return normal;
}

// d x_i / d r_j
Square map_of(const Mesh& mesh, std::size_t element) {
  const auto dimension = static_cast<Eigen::Index>(mesh.dimension);
  Square map(dimension, dimension);
  const std::array<int, 4>& corners = mesh.elements[element];
  const Point& origin = mesh.vertices[static_cast<std::size_t>(corners[0])];
  for (Eigen::Index j = 0; j < dimension; ++j) {
    const Point& corner =
        mesh.vertices[static_cast<std::size_t>(corners[static_cast<std::size_t>(j) + 1])];
    for (Eigen::Index i = 0; i < dimension; ++i) {
      const auto axis = static_cast<std::size_t>(i);
      map(i, j) = (corner[axis] - origin[axis]) / 2;
    }
  }
  return map;
}

// The longest edge, of halves: half the vector from one corner to another.
double longest_half_edge(const Square& map) {
  double longest = 0;
  for (Eigen::Index j = 0; j < map.cols(); ++j) {
    longest = std::max(longest, map.col(j).norm());
    for (Eigen::Index other = 0; other < j; ++other) {
      longest = std::max(longest, (map.col(j) - map.col(other)).norm());
    }
  }
  return longest;
}

// Heights below this part of the longest edge are rounding: their normals have few right digits.
constexpr double least_flatness = 1e-10;

[[noreturn]] void refuse(const Mesh& mesh, std::size_t element, const std::string& problem) {
  throw InvalidInput(
      "dg.find_geometric_factors.degenerate",
      fmt::format("{} with {} {}", element_name(mesh, element),
                  vertex_names(mesh, mesh.elements[element].data(), mesh.face_count()), problem));
}

}  // namespace

GeometricFactors find_geometric_factors(const Mesh& mesh) {
  GeometricFactors result;
  result.dimension = static_cast<std::size_t>(mesh.dimension);
  result.faces = mesh.face_count();
  const auto dimension = static_cast<Eigen::Index>(mesh.dimension);
  std::vector<Row> normals_of_reference;
  for (std::size_t face = 0; face < result.faces; ++face) {
    normals_of_reference.push_back(reference_normal(dimension, static_cast<Eigen::Index>(face)));
  }
  result.jacobian.reserve(mesh.element_count());
  result.metric.reserve(mesh.element_count() * result.dimension * result.dimension);
  result.face_scale.reserve(mesh.element_count() * result.faces);
  result.normals.reserve(mesh.element_count() * result.faces * result.dimension);
  for (std::size_t element = 0; element < mesh.element_count(); ++element) {
    const Square map = map_of(mesh, element);
    const double jacobian = map.determinant();
    if (!(jacobian >= std::numeric_limits<double>::min()) || !std::isfinite(jacobian)) {
      refuse(mesh, element,
             fmt::format("has the volume {}: it must be a positive normal number", jacobian));
    }
    const Square inverse = map.inverse();
    result.jacobian.push_back(jacobian);
    const double longest = longest_half_edge(map);
    result.metric.insert(result.metric.end(), inverse.data(), inverse.data() + inverse.size());
    for (std::size_t face = 0; face < result.faces; ++face) {
      const Row normal = normals_of_reference[face] * inverse;
      const double scale = normal.norm();
      // the height over this face is 2 / scale
      if (!std::isfinite(scale) || !(1 / scale >= least_flatness * longest)) {
        refuse(mesh, element,
               fmt::format(
                   "has a height of {:.3g} and an edge of {:.3g}: the ratio must be at least {}",
                   2 / scale, 2 * longest, least_flatness));
      }
      result.face_scale.push_back(scale);
      for (Eigen::Index i = 0; i < dimension; ++i) {
        result.normals.push_back(normal[i] / scale);
      }
    }
  }
  return result;
}

double smallest_size(const GeometricFactors& factors) {
  return factors.face_scale.empty()
             ? 0
             : 2 / *std::max_element(factors.face_scale.begin(), factors.face_scale.end());
}

std::vector<double> node_coordinates(const Mesh& mesh, const ReferenceElement& element) {
  const auto dimension = static_cast<std::size_t>(mesh.dimension);
  std::vector<double> result;
  result.reserve(dimension * mesh.element_count() * element.node_count());
  for (std::size_t axis = 0; axis < dimension; ++axis) {
    for (const std::array<int, 4>& corners : mesh.elements) {
      const auto coordinate = [&](std::size_t corner) {
        return mesh.vertices[static_cast<std::size_t>(corners[corner])][axis];
      };
      for (const ReferencePoint& node : element.nodes) {
        double x = coordinate(0);
        for (std::size_t j = 0; j < dimension; ++j) {
          x += (1 + node[j]) / 2 * (coordinate(j + 1) - coordinate(0));
        }
        result.push_back(x);
      }
    }
  }
  return result;
}

}  // namespace rtcg::dg
