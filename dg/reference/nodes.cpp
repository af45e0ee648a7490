#include "rtcg/dg/reference/nodes.h"

#include <Eigen/Dense>
#include <cmath>

#include "rtcg/dg/reference/modes.h"

namespace rtcg::dg {
namespace {

using Point = std::array<double, 3>;
using Eigen::Vector2d;
using Eigen::Vector3d;

// how strongly the interior is warped, by order; these minimise the Lebesgue constant
constexpr std::array<double, 10> triangle_alpha = {0,      0,      0,      1.4152, 0.1001,
                                                   0.2751, 0.9800, 1.0999, 1.2832, 1.3648};
constexpr std::array<double, 10> tetrahedron_alpha = {0,      0,      0,      0,      0.1002,
                                                      1.1332, 1.5608, 1.3413, 1.2577, 1.1603};
constexpr double on_edge_tolerance = 1e-10;

// The distance of Gauss-Lobatto nodes from equidistant ones, as a polynomial over (1 - x^2).
class Warp {
 public:
  explicit Warp(int order) : order_(order) {
    const std::vector<double> lobatto = gauss_lobatto_nodes(order);
    Eigen::MatrixXd vandermonde(order + 1, order + 1);
    Eigen::VectorXd shift(order + 1);
    for (int i = 0; i <= order; ++i) {
      const double x = -1 + 2.0 * i / order;
      shift[i] = lobatto[static_cast<std::size_t>(i)] - x;
      for (int j = 0; j <= order; ++j) {
        vandermonde(i, j) = jacobi(x, 0, 0, j);
      }
    }
    modes_ = vandermonde.partialPivLu().solve(shift);
  }

  [[nodiscard]] double operator()(double x) const {
    if (std::abs(x) >= 1 - on_edge_tolerance) {
      return 0;
    }
    double sum = 0;
    for (int j = 0; j <= order_; ++j) {
      sum += modes_[j] * jacobi(x, 0, 0, j);
    }
    return sum / (1 - x * x);
  }

 private:
  int order_;
  Eigen::VectorXd modes_;
};

// The shift of a node within an equilateral triangle, given its barycentric coordinates.
Vector2d shift_in_triangle(const Warp& warp, double alpha, double l1, double l2, double l3) {
  const auto edge = [&](double own, double from, double to) {
    return 4 * from * to * warp(to - from) * (1 + alpha * own * alpha * own);
  };
  const double w1 = edge(l1, l2, l3);
  const double w2 = edge(l2, l3, l1);
  const double w3 = edge(l3, l1, l2);
  const double half_root = std::sqrt(3.0) / 2;
  return {w1 - 0.5 * (w2 + w3), half_root * (w2 - w3)};
}

Point triangle_node(const Warp& warp, int order, const Point& regular) {
  const double l1 = (1 + regular[1]) / 2;
  const double l3 = (1 + regular[0]) / 2;
  const double l2 = 1 - l1 - l3;
  const double alpha = triangle_alpha[static_cast<std::size_t>(order)];
  const Vector2d at = Vector2d(l3 - l2, (2 * l1 - l2 - l3) / std::sqrt(3.0)) +
                      shift_in_triangle(warp, alpha, l1, l2, l3);
  const double m1 = (std::sqrt(3.0) * at[1] + 1) / 3;
  const double m2 = (-3 * at[0] - std::sqrt(3.0) * at[1] + 2) / 6;
  const double m3 = (3 * at[0] - std::sqrt(3.0) * at[1] + 2) / 6;
  return {m3 - m2 - m1, m1 - m2 - m3, 0};
}

// A face of the equilateral tetrahedron: the barycentric coordinate that is 0 on it, the others,
// and two orthonormal vectors in it.
struct Face {
  std::array<int, 4> barycentric;
  Vector3d first;
  Vector3d second;
};

const std::array<Vector3d, 4>& equilateral_vertices() {
  static const std::array<Vector3d, 4> vertices = {
      Vector3d(-1, -1 / std::sqrt(3.0), -1 / std::sqrt(6.0)),
      Vector3d(1, -1 / std::sqrt(3.0), -1 / std::sqrt(6.0)),
      Vector3d(0, 2 / std::sqrt(3.0), -1 / std::sqrt(6.0)), Vector3d(0, 0, 3 / std::sqrt(6.0))};
  return vertices;
}

std::array<Face, 4> equilateral_faces() {
  const auto& v = equilateral_vertices();
  const auto face = [](std::array<int, 4> barycentric, const Vector3d& first,
                       const Vector3d& second) {
    return Face{barycentric, first.normalized(), second.normalized()};
  };
  return {face({0, 1, 2, 3}, v[1] - v[0], v[2] - 0.5 * (v[0] + v[1])),
          face({1, 0, 2, 3}, v[1] - v[0], v[3] - 0.5 * (v[0] + v[1])),
          face({2, 0, 3, 1}, v[2] - v[1], v[3] - 0.5 * (v[1] + v[2])),
          face({3, 0, 2, 1}, v[2] - v[0], v[3] - 0.5 * (v[0] + v[2]))};
}

Vector3d shift_in_tetrahedron(const Warp& warp, double alpha, const std::array<double, 4>& l) {
  Vector3d shift = Vector3d::Zero();
  for (const Face& face : equilateral_faces()) {
    const auto coordinate = [&](std::size_t i) {
      return l[static_cast<std::size_t>(face.barycentric[i])];
    };
    const double own = coordinate(0);
    const double b = coordinate(1);
    const double c = coordinate(2);
    const double d = coordinate(3);
    const Vector2d in_face = shift_in_triangle(warp, alpha, b, c, d);
    const Vector3d vector = in_face[0] * face.first + in_face[1] * face.second;
    const int inside = (b > on_edge_tolerance ? 1 : 0) + (c > on_edge_tolerance ? 1 : 0) +
                       (d > on_edge_tolerance ? 1 : 0);
    if (own < on_edge_tolerance && inside < 3) {
      // on an edge each of its two faces gives the whole shift
      shift = vector;
      continue;
    }
    double blend = b * c * d;
    const double divisor = (b + own / 2) * (c + own / 2) * (d + own / 2);
    if (divisor > on_edge_tolerance) {
      blend *= (1 + alpha * own * alpha * own) / divisor;
    }
    shift += blend * vector;
  }
  return shift;
}

Point tetrahedron_node(const Warp& warp, int order, const Point& regular) {
  const auto& [r, s, t] = regular;
  const std::array<double, 4> l = {(1 + t) / 2, (1 + s) / 2, -(1 + r + s + t) / 2, (1 + r) / 2};
  const auto& v = equilateral_vertices();
  const double alpha = tetrahedron_alpha[static_cast<std::size_t>(order)];
  const Vector3d at =
      l[2] * v[0] + l[3] * v[1] + l[1] * v[2] + l[0] * v[3] + shift_in_tetrahedron(warp, alpha, l);
  Eigen::Matrix3d edges;
  edges << 0.5 * (v[1] - v[0]), 0.5 * (v[2] - v[0]), 0.5 * (v[3] - v[0]);
  const Vector3d node = edges.partialPivLu().solve(at - 0.5 * (v[1] + v[2] + v[3] - v[0]));
  return {node[0], node[1], node[2]};
}

}  // namespace

std::vector<Point> equispaced_nodes(int dimension, int order) {
  std::vector<Point> nodes;
  const auto coordinate = [&](int i) { return -1 + 2.0 * i / order; };
  for (int k = 0; k <= (dimension > 2 ? order : 0); ++k) {
    for (int j = 0; j <= (dimension > 1 ? order - k : 0); ++j) {
      for (int i = 0; i <= order - j - k; ++i) {
        nodes.push_back(
            {coordinate(i), dimension > 1 ? coordinate(j) : 0, dimension > 2 ? coordinate(k) : 0});
      }
    }
  }
  return nodes;
}

std::vector<Point> warp_blend_nodes(int dimension, int order) {
  std::vector<Point> nodes = equispaced_nodes(dimension, order);
  if (dimension == 1) {
    const std::vector<double> lobatto = gauss_lobatto_nodes(order);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      nodes[i][0] = lobatto[i];
    }
    return nodes;
  }
  const Warp warp(order);
  for (Point& node : nodes) {
    node = dimension == 2 ? triangle_node(warp, order, node) : tetrahedron_node(warp, order, node);
  }
  return nodes;
}

}  // namespace rtcg::dg
