#pragma once

#include "rtcg/loopy/create/make_kernel.h"

// Kernels whose nests hand arrays on within the elements, rows or points of a batch.

namespace rtcg::loopy {

/// Fluxes of two fields at the nodes of faces, then their lift and a derivative, as of a
/// discontinuous Galerkin method.
inline Kernel lifted_fluxes() {
  return make_kernel(
      "{[c, f]: 0 <= c < n and 0 <= f < 12}\n{[e, i]: 0 <= e < n and 0 <= i < 4}\n"
      "{[j]: 0 <= j < 4}\n{[m]: 0 <= m < 12}",
      "<f32> flux[n, 2, 12]\n"
      "flux[c, 0, f] = scale[c]*u[c, 0, inside[f] % 4]\n"
      "flux[c, 1, f] = scale[c]*u[c, 1, inside[f] % 4] - u[c, 0, inside[f] % 4]\n"
      "rhs[e, 0, i] = sum(j, D[i, j]*u[e, 1, j]) + sum(m, lift[i, m]*flux[e, 0, m])\n"
      "rhs[e, 1, i] = sum(j, D[i, j]*u[e, 0, j]) + sum(m, lift[i, m]*flux[e, 1, m])",
      {.arguments = "u, rhs: f32[n, 2, 4]; D: f32[4, 4]; lift: f32[4, 12]; scale: f32[n]; "
                    "inside: i32[12]",
       .default_type = cgen::f32});
}

/// The same with fluxes that the caller gets.
inline Kernel lifted_fluxes_as_results() {
  return make_kernel(
      "{[c, f]: 0 <= c < n and 0 <= f < 6}\n{[e, i]: 0 <= e < n and 0 <= i < 3}\n"
      "{[m]: 0 <= m < 6}",
      "flux[c, f] = scale[c]*u[c, f // 2]\n"
      "rhs[e, i] = sum(m, lift[i, m]*flux[e, m])",
      {.arguments = "u, rhs: f32[n, 3]; lift: f32[3, 6]; scale: f32[n]; "
                    "flux: f32[n, 6]",
       .default_type = cgen::f32});
}

/// A stiffness matrix of a spectral element: a gradient, then a divergence.
inline Kernel spectral_elements() {
  return make_kernel(
      "{[c, p, q]: 0 <= c < n and 0 <= p, q < 5}\n{[e, i, j]: 0 <= e < n and 0 <= i, j < 5}\n"
      "{[k]: 0 <= k < 5}\n{[l]: 0 <= l < 5}",
      "<f32> gx[n, 5, 5]\n<f32> gy[n, 5, 5]\n"
      "gx[c, p, q] = G[c, p, q]*sum(k, D[p, k]*u[c, k, q])\n"
      "gy[c, p, q] = G[c, p, q]*sum(k, D[q, k]*u[c, p, k])\n"
      "w[e, i, j] = sum(l, D[l, i]*gx[e, l, j]) + sum(l, D[l, j]*gy[e, i, l])",
      {.arguments = "u, w, G: f32[n, 5, 5]; D: f32[5, 5]", .default_type = cgen::f32});
}

/// Histograms of rows, and their shares.
inline Kernel histograms_of_rows() {
  return make_kernel(
      "{[r, k]: 0 <= r < n and 0 <= k < 40}\n{[b]: 0 <= b < 8}\n{[s]: 0 <= s < 8}\n"
      "{[o, t]: 0 <= o < n and 0 <= t < 8}",
      "<f32> count[n, 8]\n"
      "count[r, b] = 0\n"
      "count[r, bin[r, k] % 8] = count[r, bin[r, k] % 8] + 1 {atomic}\n"
      "share[o, t] = count[o, t] / 40",
      {.arguments = "bin: i32[n, 40]; share: f32[n, 8]",
       .default_type = cgen::f32,
       .sequential_dependencies = true});
}

/// Normal equations of patches, and a step of an iteration that solves them.
inline Kernel normal_equations() {
  return make_kernel(
      "{[p, i, j]: 0 <= p < n and 0 <= i, j < 5}\n{[q, s]: 0 <= q < n and 0 <= s < 5}\n"
      "{[r]: 0 <= r < 7}\n{[t]: 0 <= t < 5}",
      "<f32> M[n, 5, 5]\n"
      "M[p, i, j] = sum(r, A[p, r, i]*A[p, r, j])\n"
      "y[q, s] = x[q, s] + 0.1f*(sum(r, A[q, r, s]*b[q, r]) - sum(t, M[q, s, t]*x[q, t]))",
      {.arguments = "A: f32[n, 7, 5]; b: f32[n, 7]; x, y: f32[n, 5]", .default_type = cgen::f32});
}

/// A perceptron with a hidden layer, for each vector of a batch.
inline Kernel perceptrons() {
  return make_kernel(
      "{[a, h]: 0 <= a < n and 0 <= h < 10}\n{[b, o]: 0 <= b < n and 0 <= o < 3}\n"
      "{[k]: 0 <= k < 6}\n{[m]: 0 <= m < 10}",
      "<f32> hidden[n, 10]\n"
      "hidden[a, h] = max(0, bias[h] + sum(k, first[h, k]*x[a, k]))\n"
      "y[b, o] = sum(m, second[o, m]*hidden[b, m])",
      {.arguments = "x: f32[n, 6]; y: f32[n, 3]; first: f32[10, 6]; "
                    "second: f32[3, 10]; bias: f32[10]",
       .default_type = cgen::f32});
}

}  // namespace rtcg::loopy
