#include "rtcg/dg/reference/reference_element.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/dg/reference/modes.h"
#include "rtcg/dg/reference/nodes.h"

namespace rtcg::dg {
namespace {

using Dense = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// the largest distance of nodes from their face
constexpr double on_face_tolerance = 1e-8;

Matrix to_matrix(const Dense& dense) {
  Matrix matrix{static_cast<std::size_t>(dense.rows()), static_cast<std::size_t>(dense.cols()), {}};
  matrix.values.assign(dense.data(), dense.data() + dense.size());
  return matrix;
}

Dense to_dense(const Matrix& matrix) {
  return Eigen::Map<const Dense>(matrix.values.data(), static_cast<Eigen::Index>(matrix.rows),
                                 static_cast<Eigen::Index>(matrix.columns));
}

Dense vandermonde(int dimension, int order, const std::vector<ReferencePoint>& points) {
  Dense result(static_cast<Eigen::Index>(points.size()), count_modes(dimension, order));
  for (Eigen::Index i = 0; i < result.rows(); ++i) {
    const std::vector<double> values = modes(dimension, order, points[static_cast<std::size_t>(i)]);
    result.row(i) = Eigen::Map<const Eigen::RowVectorXd>(values.data(), result.cols());
  }
  return result;
}

// 0 at each vertex except the one of this barycentric coordinate
double barycentric(int dimension, const ReferencePoint& point, int vertex) {
  if (vertex > 0) {
    return (1 + point[static_cast<std::size_t>(vertex - 1)]) / 2;
  }
  double others = 0;
  for (int other = 1; other <= dimension; ++other) {
    others += barycentric(dimension, point, other);
  }
  return 1 - others;
}

std::vector<std::vector<int>> find_face_nodes(int dimension,
                                              const std::vector<ReferencePoint>& nodes) {
  std::vector<std::vector<int>> result;
  for (const std::vector<int>& vertices : face_vertices(dimension)) {
    std::vector<int> on_this;
    for (std::size_t node = 0; node < nodes.size(); ++node) {
      double sum = 0;
      for (const int vertex : vertices) {
        sum += barycentric(dimension, nodes[node], vertex);
      }
      if (std::abs(sum - 1) < on_face_tolerance) {
        on_this.push_back(static_cast<int>(node));
      }
    }
    result.push_back(std::move(on_this));
  }
  return result;
}

// The coordinates of a face's node in the reference simplex of one dimension less.
ReferencePoint point_in_face(int dimension, const std::vector<int>& vertices,
                             const ReferencePoint& node) {
  ReferencePoint point{};
  for (std::size_t i = 1; i < vertices.size(); ++i) {
    point[i - 1] = 2 * barycentric(dimension, node, vertices[i]) - 1;
  }
  return point;
}

std::vector<ReferencePoint> points_in_face(const ReferenceElement& element, std::size_t face) {
  std::vector<ReferencePoint> points;
  for (const int node : element.face_nodes[face]) {
    points.push_back(point_in_face(element.dimension, face_vertices(element.dimension)[face],
                                   element.nodes[static_cast<std::size_t>(node)]));
  }
  return points;
}

Dense make_face_mass(const ReferenceElement& element) {
  const auto per_face = static_cast<Eigen::Index>(element.nodes_of_face());
  Dense result = Dense::Zero(static_cast<Eigen::Index>(element.node_count()),
                             per_face * static_cast<Eigen::Index>(element.face_count()));
  for (std::size_t face = 0; face < element.face_count(); ++face) {
    const Dense v =
        vandermonde(element.dimension - 1, element.order, points_in_face(element, face));
    const Dense mass = (v * v.transpose()).inverse();
    for (Eigen::Index i = 0; i < per_face; ++i) {
      result.block(element.face_nodes[face][static_cast<std::size_t>(i)],
                   static_cast<Eigen::Index>(face) * per_face, 1, per_face) = mass.row(i);
    }
  }
  return result;
}

std::vector<Matrix> make_derivatives(const ReferenceElement& element, const Dense& inverse) {
  std::vector<Matrix> result;
  for (int direction = 0; direction < element.dimension; ++direction) {
    Dense slopes(inverse.rows(), inverse.cols());
    for (Eigen::Index node = 0; node < slopes.rows(); ++node) {
      const auto gradients = mode_gradients(element.dimension, element.order,
                                            element.nodes[static_cast<std::size_t>(node)]);
      for (Eigen::Index mode = 0; mode < slopes.cols(); ++mode) {
        slopes(node, mode) =
            gradients[static_cast<std::size_t>(mode)][static_cast<std::size_t>(direction)];
      }
    }
    result.push_back(to_matrix(slopes * inverse));
  }
  return result;
}

std::vector<std::vector<int>> all_permutations(int dimension) {
  std::vector<int> permutation(static_cast<std::size_t>(dimension));
  std::iota(permutation.begin(), permutation.end(), 0);
  std::vector<std::vector<int>> result;
  do {
    result.push_back(permutation);
  } while (std::next_permutation(permutation.begin(), permutation.end()));
  return result;
}

}  // namespace

ReferenceElement make_reference_element(int dimension, int order) {
  if (dimension < 1 || dimension > 3) {
    throw InvalidInput(
        "dg.make_reference_element.bad_dimension",
        fmt::format("there is no reference element of dimension {}: write 1, 2 or 3", dimension));
  }
  if (order < 1 || order > highest_order) {
    throw InvalidInput("dg.make_reference_element.bad_order",
                       fmt::format("there is no reference element of order {}: write 1 to {}",
                                   order, highest_order));
  }
  ReferenceElement element;
  element.dimension = dimension;
  element.order = order;
  element.nodes = warp_blend_nodes(dimension, order);
  element.face_nodes = find_face_nodes(dimension, element.nodes);
  const Dense v = vandermonde(dimension, order, element.nodes);
  const Dense inverse = v.inverse();
  const Dense inverse_mass = v * v.transpose();
  const Dense face_mass = make_face_mass(element);
  element.vandermonde = to_matrix(v);
  element.inverse_vandermonde = to_matrix(inverse);
  element.derivatives = make_derivatives(element, inverse);
  element.mass = to_matrix(inverse.transpose() * inverse);
  element.inverse_mass = to_matrix(inverse_mass);
  element.face_mass = to_matrix(face_mass);
  element.lift = to_matrix(inverse_mass * face_mass);
  return element;
}

const std::vector<std::vector<int>>& face_vertices(int dimension) {
  static const std::array<std::vector<std::vector<int>>, 3> all = {
      {{{0}, {1}}, {{0, 1}, {1, 2}, {0, 2}}, {{0, 1, 2}, {0, 1, 3}, {1, 2, 3}, {0, 2, 3}}}};
  return all.at(static_cast<std::size_t>(dimension - 1));
}

Matrix interpolation_matrix(const ReferenceElement& element,
                            const std::vector<ReferencePoint>& points) {
  return to_matrix(vandermonde(element.dimension, element.order, points) *
                   to_dense(element.inverse_vandermonde));
}

const std::vector<std::vector<int>>& face_permutations(int dimension) {
  static const std::array<std::vector<std::vector<int>>, 3> all = {
      {all_permutations(1), all_permutations(2), all_permutations(3)}};
  return all.at(static_cast<std::size_t>(dimension - 1));
}

std::vector<std::vector<int>> face_node_permutations(const ReferenceElement& element) {
  const int dimension = element.dimension;
  // all faces order their nodes in the same way, so the first represents all
  const std::vector<ReferencePoint> points = points_in_face(element, 0);
  const auto coordinate = [&](std::size_t node, int vertex) {
    return barycentric(dimension - 1, points[node], vertex);
  };
  std::vector<std::vector<int>> result;
  for (const std::vector<int>& permutation : face_permutations(dimension)) {
    std::vector<int> places;
    for (std::size_t mine = 0; mine < points.size(); ++mine) {
      double nearest = INFINITY;
      int place = 0;
      for (std::size_t other = 0; other < points.size(); ++other) {
        double distance = 0;
        for (int vertex = 0; vertex < dimension; ++vertex) {
          distance += std::abs(coordinate(mine, vertex) -
                               coordinate(other, permutation[static_cast<std::size_t>(vertex)]));
        }
        if (distance < nearest) {
          nearest = distance;
          place = static_cast<int>(other);
        }
      }
      require_internal(nearest < on_face_tolerance, "nodes that are symmetric on faces");
      places.push_back(place);
    }
    result.push_back(std::move(places));
  }
  return result;
}

}  // namespace rtcg::dg
