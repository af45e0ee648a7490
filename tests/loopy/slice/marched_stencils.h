#pragma once

#include <string>
#include <vector>

#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/transform/fix_parameters.h"

// Stencils that blocks march through.

namespace rtcg::loopy {

struct MarchedStencil {
  std::string name;
  std::string domain;
  std::string text;
  std::string arguments;
  std::int64_t large;  ///< n as it is used
  std::int64_t small;  ///< an odd length

  [[nodiscard]] Kernel of(std::int64_t n) const {
    return fix_parameters(make_kernel(domain, text, {.name = name, .arguments = arguments}),
                          {{"n", n}});
  }
};

inline std::vector<MarchedStencil> marched_stencils() {
  return {
      {"faces", "{[i, j, k]: 1 <= i, j, k < n - 1}",
       "out[i, j, k] = c[k]*(u[i - 1, j, k] + u[i + 1, j, k] + u[i, j - 1, k] + u[i, j + 1, k] + "
       "u[i, j, k - 1] + u[i, j, k + 1] - 6*u[i, j, k])",
       "u, out: f32[n, n, n]; c: f32[n]", 512, 13},
      // sums over distances, and two statements
      {"star", "{[i, j, k, p]: 2 <= i, j, k < n - 2 and 1 <= p <= 2}",
       "<f32> around = sum(p, w[p]*(u[i - p, j, k] + u[i + p, j, k] + u[i, j - p, k] + "
       "u[i, j + p, k] + u[i, j, k - p] + u[i, j, k + p])) {id=around}\n"
       "out[i, j, k] = w[0]*u[i, j, k] + around {dep=around}",
       "u, out: f32[n, n, n]; w: f32[3]", 512, 14},
      // planes on both sides have neighbours, and another array has none
      {"cube", "{[i, j, k, p, q, r]: 0 <= i, j, k < n and 0 <= p, q, r < 3}",
       "out[i, j, k] = v[i + 1, j, k] - v[i, j, k] + "
       "sum((p, q, r), w[p, q, r]*u[i + p, j + q, k + r])",
       "u: f64[n + 2, n + 2, n + 2]; v: f64[n + 1, n, n]; w: f64[3, 3, 3]; out: f64[n, n, n]", 256,
       9},
      {"diagonals", "{[i, j, k]: 1 <= i, j, k < n - 1}",
       "out[i, j, k] = u[i, j, k] + u[i - 1, j - 1, k] + u[i + 1, j + 1, k] - u[i, j, k - 1]",
       "u, out: f32[n, n, n]", 300, 11},
      // rows begin at multiples of 16 bytes: planes are copied so, and threads load vectors
      {"wide_star", "{[i, j, k, p]: 3 <= i, j, k < n - 3 and 1 <= p <= 3}",
       "out[i, j, k] = v[i, j, k] + sum(p, w[p]*(u[i - p, j, k] + u[i + p, j, k] + "
       "u[i, j - p, k] + u[i, j + p, k] + u[i, j, k - p] + u[i, j, k + p]))",
       "u, v, out: f32[n, n, n]; w: f32[4]", 512, 20},
      {"wide_faces", "{[i, j, k]: 1 <= i, j, k < n - 1}",
       "out[i, j, k] = u[i - 1, j, k] + u[i + 1, j, k] + u[i, j - 1, k] + u[i, j + 1, k] + "
       "u[i, j, k - 1] + u[i, j, k + 1] - v[i + 1, j, k]*v[i, j, k]",
       "u, v, out: f64[n, n, n]", 256, 14},
      // complex numbers in two dimensions; reads within rules
      {"wave", "{[i, j]: 2 <= i, j < n - 2}",
       "across(a, b) := u[a + 1, b] - u[a - 1, b]\n"
       "out[i, j] = across(i + 1, j) - across(i - 1, j) + u[i, j + 1]*v[i - 1, j] + "
       "u[i, j - 2]*v[i, j]",
       "u, v, out: c64[n, n]", 4096, 17},
  };
}

}  // namespace rtcg::loopy
