#pragma once
// Internal header: it is not installed.

#include <array>
#include <vector>

namespace rtcg::dg {

/// The orthonormal Jacobi polynomial of degree n for the weight (1-x)^a (1+x)^b on [-1, 1].
[[nodiscard]] double jacobi(double x, double a, double b, int n);
[[nodiscard]] double jacobi_derivative(double x, double a, double b, int n);
/// The order + 1 Gauss-Lobatto nodes of [-1, 1], ascending; order >= 1.
[[nodiscard]] std::vector<double> gauss_lobatto_nodes(int order);

/// How many polynomials of degree up to `order` there are.
[[nodiscard]] int count_modes(int dimension, int order);
/// The polynomials up to `order` that are orthonormal on the reference simplex, at a point; in
/// dimension 0 the constant 1.
[[nodiscard]] std::vector<double> modes(int dimension, int order,
                                        const std::array<double, 3>& point);
/// Their gradients by r, s, t.
[[nodiscard]] std::vector<std::array<double, 3>> mode_gradients(int dimension, int order,
                                                                const std::array<double, 3>& point);

}  // namespace rtcg::dg
