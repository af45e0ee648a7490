#pragma once

#include "rtcg/loopy/create/make_kernel.h"

// Sums of which results shift what is read.

namespace rtcg::loopy {

inline Kernel autocorrelation(const cgen::Type& type = cgen::f32) {
  return make_kernel("{[l, i]: 0 <= l < 12 and 0 <= i < n}", "r[l] = sum(i, x[i]*x[i + l])",
                     {.default_type = type});
}

/// Rows of their own, in f64, with lags of both signs.
inline Kernel cross_correlations() {
  return make_kernel("{[b, l, i]: 0 <= b < nb and 0 <= l < 11 and 0 <= i < n}",
                     "r[b, l] = sum(i, w[i]*x[b, i + 10 - l]*y[b, i])",
                     {.default_type = cgen::f64});
}

/// The largest jump over so many steps.
inline Kernel largest_jumps() {
  return make_kernel("{[l, i]: 0 <= l < 9 and 0 <= i < n}",
                     "s[l] = reduce(max, i, abs(x[i + l + 1] - x[i]))",
                     {.default_type = cgen::f32});
}

/// Shifts along two axes of an image.
inline Kernel image_correlation() {
  return make_kernel("{[u, v, y, x]: 0 <= u < 6 and 0 <= v < 9 and 0 <= y < m and 0 <= x < n}",
                     "r[u, v] = sum((y, x), a[y, x]*b[y + u, x + v])", {.default_type = cgen::f32});
}

}  // namespace rtcg::loopy
