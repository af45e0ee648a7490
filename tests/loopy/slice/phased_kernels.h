#pragma once

#include <string>

#include "rtcg/loopy/create/make_kernel.h"

// Kernels whose indices are divided.

namespace rtcg::loopy {

/// A transposed convolution of stride 2: `size` rows and columns become twice as many.
inline Kernel transposed_convolution(const std::string& size, const std::string& channels) {
  return make_kernel(
      "{[b, f, y, x]: 0 <= b < 2 and 0 <= f < 4 and 0 <= y, x < 2*" + size +
          "} {[c, p, q]: 0 <= c < " + channels + " and 0 <= p, q < 2}",
      "out[b, f, y, x] = sum((c, p, q), image[b, c, (y + 1)//2 + p, (x + 1)//2 + q]"
      "*weight[c, f, 2 - 2*p + (y + 1) % 2, 2 - 2*q + (x + 1) % 2])",
      {.arguments = "image: [2, " + channels + ", " + size + " + 2, " + size + " + 2]; weight: [" +
                    channels + ", 4, 4, 4]; out: [2, 4, 2*" + size + ", 2*" + size + "]",
       .default_type = cgen::f32});
}

/// Twice as many samples: even and odd ones have filters of their own.
inline Kernel polyphase_filter() {
  return make_kernel("{[b, n, k]: 0 <= b < 3 and 0 <= n < 48 and 0 <= k < 5}",
                     "y[b, n] = sum(k, x[b, n//2 + k]*h[2*k + n % 2])",
                     {.arguments = "x: [3, 28]; h: [10]; y: [3, 48]", .default_type = cgen::f64});
}

/// A convolution whose sum counts through channels, rows and columns of the weights.
inline Kernel flat_convolution() {
  return make_kernel(
      "{[b, f, y, x, k]: 0 <= b < 2 and 0 <= f < 5 and 0 <= y < 7 and 0 <= x < 9 "
      "and 0 <= k < 27}",
      "out[b, f, y, x] = sum(k, image[b, k//9, y + k%9//3, x + k%3]*w[f, k])",
      {.arguments = "image: [2, 3, 9, 11]; w: [5, 27]; out: [2, 5, 7, 9]",
       .default_type = cgen::f32});
}

}  // namespace rtcg::loopy
