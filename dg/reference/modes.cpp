#include "rtcg/dg/reference/modes.h"

#include <Eigen/Eigenvalues>
#include <cmath>

namespace rtcg::dg {
namespace {

// nearer to a collapsed vertex or edge the collapsed coordinate is undefined, and set to -1
constexpr double collapsed = 1e-14;

// x^n, but 1 for n = -1, which is multiplied by zero
double power(double x, int n) {
  return n <= 0 ? 1 : std::pow(x, n);
}

using Gradient = std::array<double, 3>;

struct Collapsed {
  double a;
  double b;
  double c;
};

Collapsed collapse(int dimension, const std::array<double, 3>& point) {
  const auto& [r, s, t] = point;
  if (dimension == 2) {
    return {std::abs(s - 1) > collapsed ? 2 * (1 + r) / (1 - s) - 1 : -1, s, 0};
  }
  return {std::abs(s + t) > collapsed ? -2 * (1 + r) / (s + t) - 1 : -1,
          std::abs(t - 1) > collapsed ? 2 * (1 + s) / (1 - t) - 1 : -1, t};
}

Gradient triangle_gradient(const Collapsed& at, int i, int j) {
  const double f = jacobi(at.a, 0, 0, i);
  const double df = jacobi_derivative(at.a, 0, 0, i);
  const double g = jacobi(at.b, 2 * i + 1, 0, j);
  const double dg = jacobi_derivative(at.b, 2 * i + 1, 0, j);
  const double half = (1 - at.b) / 2;
  const double by_r = df * g * power(half, i - 1);
  const double inner = dg * power(half, i) - 0.5 * i * g * power(half, i - 1);
  const double scale = std::pow(2.0, i + 0.5);
  return {scale * by_r, scale * (by_r * (1 + at.a) / 2 + f * inner), 0};
}

Gradient tetrahedron_gradient(const Collapsed& at, int i, int j, int k) {
  const double f = jacobi(at.a, 0, 0, i);
  const double df = jacobi_derivative(at.a, 0, 0, i);
  const double g = jacobi(at.b, 2 * i + 1, 0, j);
  const double dg = jacobi_derivative(at.b, 2 * i + 1, 0, j);
  const double h = jacobi(at.c, 2 * (i + j) + 2, 0, k);
  const double dh = jacobi_derivative(at.c, 2 * (i + j) + 2, 0, k);
  const double half_b = (1 - at.b) / 2;
  const double half_c = (1 - at.c) / 2;
  const double by_r = df * g * h * power(half_b, i - 1) * power(half_c, i + j - 1);
  const double inner_b = dg * power(half_b, i) - 0.5 * i * g * power(half_b, i - 1);
  const double by_b = f * inner_b * power(half_c, i + j - 1) * h;
  const double inner_c = dh * power(half_c, i + j) - 0.5 * (i + j) * h * power(half_c, i + j - 1);
  const double scale = std::pow(2.0, 2 * i + j + 1.5);
  return {
      scale * by_r, scale * ((1 + at.a) / 2 * by_r + by_b),
      scale * ((1 + at.a) / 2 * by_r + (1 + at.b) / 2 * by_b + f * g * power(half_b, i) * inner_c)};
}

// Calls visit(i, j, k) for the degrees of every mode.
template <class Visit>
void for_each_mode(int dimension, int order, Visit&& visit) {
  for (int i = 0; i <= order; ++i) {
    for (int j = 0; j <= (dimension > 1 ? order - i : 0); ++j) {
      for (int k = 0; k <= (dimension > 2 ? order - i - j : 0); ++k) {
        visit(i, j, k);
      }
    }
  }
}

}  // namespace

double jacobi(double x, double a, double b, int n) {
  const double g0 = std::pow(2.0, a + b + 1) / (a + b + 1) * std::tgamma(a + 1) *
                    std::tgamma(b + 1) / std::tgamma(a + b + 1);
  double last = 1 / std::sqrt(g0);
  if (n == 0) {
    return last;
  }
  const double g1 = (a + 1) * (b + 1) / (a + b + 3) * g0;
  double value = ((a + b + 2) * x / 2 + (a - b) / 2) / std::sqrt(g1);
  double a_old = 2 / (2 + a + b) * std::sqrt((a + 1) * (b + 1) / (a + b + 3));
  for (int i = 1; i < n; ++i) {
    const double h = 2 * i + a + b;
    const double a_new =
        2 / (h + 2) *
        std::sqrt((i + 1) * (i + 1 + a + b) * (i + 1 + a) * (i + 1 + b) / ((h + 1) * (h + 3)));
    const double b_new = -(a * a - b * b) / (h * (h + 2));
    const double next = ((x - b_new) * value - a_old * last) / a_new;
    last = value;
    value = next;
    a_old = a_new;
  }
  return value;
}

double jacobi_derivative(double x, double a, double b, int n) {
  return n == 0 ? 0 : std::sqrt(n * (n + a + b + 1)) * jacobi(x, a + 1, b + 1, n - 1);
}

std::vector<double> gauss_lobatto_nodes(int order) {
  // the inner nodes are Gauss nodes for the weight (1-x)(1+x), which are eigenvalues of the
  // symmetric matrix of the recurrence
  const int inner = order - 1;
  Eigen::VectorXd off_diagonal(std::max(inner - 1, 0));
  for (int i = 1; i < inner; ++i) {
    const double h = 2.0 * (i - 1) + 2;
    off_diagonal[i - 1] =
        2 / (h + 2) * std::sqrt(i * (i + 2.0) * (i + 1.0) * (i + 1.0) / ((h + 1) * (h + 3)));
  }
  std::vector<double> nodes = {-1};
  if (inner > 0) {
    Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver;
    solver.computeFromTridiagonal(Eigen::VectorXd::Zero(inner), off_diagonal,
                                  Eigen::EigenvaluesOnly);
    // symmetric nodes come out symmetric to the last bit
    for (int i = 0; i < inner; ++i) {
      nodes.push_back((solver.eigenvalues()[i] - solver.eigenvalues()[inner - 1 - i]) / 2);
    }
  }
  nodes.push_back(1);
  return nodes;
}

int count_modes(int dimension, int order) {
  int count = 1;
  for (int i = 1; i <= dimension; ++i) {
    count = count * (order + i) / i;
  }
  return count;
}

std::vector<double> modes(int dimension, int order, const std::array<double, 3>& point) {
  std::vector<double> values;
  if (dimension == 0) {
    return {1};
  }
  const Collapsed at = collapse(dimension, point);
  for_each_mode(dimension, order, [&](int i, int j, int k) {
    if (dimension == 1) {
      values.push_back(jacobi(point[0], 0, 0, i));
      return;
    }
    const double in_plane =
        jacobi(at.a, 0, 0, i) * jacobi(at.b, 2 * i + 1, 0, j) * power(1 - at.b, i);
    values.push_back(dimension == 2
                         ? std::sqrt(2.0) * in_plane
                         : 2 * std::sqrt(2.0) * in_plane * jacobi(at.c, 2 * (i + j) + 2, 0, k) *
                               power(1 - at.c, i + j));
  });
  return values;
}

std::vector<std::array<double, 3>> mode_gradients(int dimension, int order,
                                                  const std::array<double, 3>& point) {
  std::vector<Gradient> gradients;
  const Collapsed at = collapse(dimension, point);
  for_each_mode(dimension, order, [&](int i, int j, int k) {
    gradients.push_back(dimension == 1   ? Gradient{jacobi_derivative(point[0], 0, 0, i), 0, 0}
                        : dimension == 2 ? triangle_gradient(at, i, j)
                                         : tetrahedron_gradient(at, i, j, k));
  });
  return gradients;
}

}  // namespace rtcg::dg
