#pragma once

#include <string>
#include <vector>

#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/transform/fix_parameters.h"

// Kernels of the classes that a general loop engine has to slice.

namespace rtcg::loopy {

struct KernelToSlice {
  std::string name;
  std::string domain;
  std::string text;
  std::string arguments;
  IntegerValues large;  ///< as they are used
  IntegerValues small;  ///< odd lengths that an interpreter goes through in no time

  [[nodiscard]] Kernel kernel() const {
    return make_kernel(domain, text, {.name = name, .arguments = arguments});
  }
  [[nodiscard]] Kernel of(const IntegerValues& sizes) const {
    return fix_parameters(kernel(), {sizes.begin(), sizes.end()});
  }
};

inline std::vector<KernelToSlice> kernels_to_slice() {
  return {
      // loops that carry dependences: over rows, over diagonals by the host, and around a sum
      {"column_recurrence",
       "{[i, j]: 1 <= i < n and 0 <= j < m}",
       "a[i, j] = 0.5f*a[i - 1, j] + b[i, j]",
       "a, b: f32[n, m]",
       {{"n", 512}, {"m", 65536}},
       {{"n", 9}, {"m", 35}}},
      {"alignment",
       "{[d]: 2 <= d <= 2*n} {[i]: 1 <= i <= n and d - n <= i <= d - 1}",
       "for d\n"
       "  score[i, d - i] = max(score[i - 1, d - i - 1] + same[i, d - i], \\\n"
       "                        max(score[i - 1, d - i], score[i, d - i - 1]) - 0.25f)\n"
       "  ... gbarrier\n"
       "end",
       "score, same: f32[n + 1, n + 1]",
       {{"n", 4096}},
       {{"n", 33}}},
      {"substitution",
       "{[b]: 0 <= b < m} {[i]: 0 <= i < n} {[j]: 0 <= j < i}",
       "x[b, i] = (y[b, i] - sum(j, L[i, j]*x[b, j]))/(2 + L[i, i]*L[i, i])",
       "L: f32[n, n]; x, y: f32[m, n]",
       {{"m", 1024}, {"n", 512}},
       {{"m", 35}, {"n", 13}}},
      {"convolution",
       "{[b, f, y, x, c, p, q]: 0 <= b < n and 0 <= f < m and 0 <= c < l and 0 <= y, x < h and "
       "0 <= p, q < 3}",
       "out[b, f, y, x] = sum((c, p, q), image[b, c, y + p, x + q]*w[f, c, p, q])",
       "image: f32[n, l, h + 2, h + 2]; w: f32[m, l, 3, 3]; out: f32[n, m, h, h]",
       {{"n", 32}, {"m", 64}, {"l", 64}, {"h", 56}},
       {{"n", 3}, {"m", 5}, {"l", 9}, {"h", 7}}},
      {"contraction",
       "{[a, b, c, d, e, f]: 0 <= a, b, c, d, e, f < n}",
       "C[a, b, c, d] = sum((e, f), A[a, e, b, f]*B[d, f, c, e])",
       "A, B, C: f32[n, n, n, n]",
       {{"n", 72}},
       {{"n", 5}}},
      {"triangular",
       "{[i, j, k]: 0 <= i < n and 0 <= j <= i and 0 <= k < m}",
       "C[i, j] = C0[i, j] + sum(k, A[i, k]*B[j, k] + B[i, k]*A[j, k])",
       "A, B: f32[n, m]; C0, C: f32[n, n]",
       {{"n", 1024}, {"m", 1024}},
       {{"n", 21}, {"m", 19}}},
      {"elements",
       "{[e, i, j, k, m, o, p, q]: 0 <= e < n and 0 <= i, j, k, m, o, p, q < l}",
       "ur(a, b, c) := sum(o, d[a, o]*u[e, o, b, c])\n"
       "us(a, b, c) := sum(p, d[b, p]*u[e, a, p, c])\n"
       "ut(a, b, c) := sum(q, d[c, q]*u[e, a, b, q])\n"
       "lap[e, i, j, k] = sum(m, d[m, i]*g[0, e, m, j, k]*ur(m, j, k) + \\\n"
       "                         d[m, j]*g[1, e, i, m, k]*us(i, m, k) + \\\n"
       "                         d[m, k]*g[2, e, i, j, m]*ut(i, j, m))",
       "d: f32[l, l]; u, lap: f32[n, l, l, l]; g: f32[3, n, l, l, l]",
       {{"n", 10000}, {"l", 8}},
       {{"n", 3}, {"l", 4}}},
      {"norm",
       "{[i, j, k, l]: 0 <= i < n and 0 <= j, k, l < m}",
       "<f32> mean = sum(j, x[i, j]) / m {id=mean}\n"
       "<f32> spread = sum(k, (x[i, k] - mean)*(x[i, k] - mean)) / m {id=spread, dep=mean}\n"
       "y[i, l] = (x[i, l] - mean)/sqrt(spread + 0.01f)*w[l] + c[l] {dep=spread}",
       "x, y: f32[n, m]; w, c: f32[m]",
       {{"n", 16384}, {"m", 4096}},
       {{"n", 21}, {"m", 35}}},
      {"softmax",
       "{[i, j, k, l]: 0 <= i < n and 0 <= j, k, l < m}",
       "top[i] = reduce(max, j, x[i, j]) {id=top}\n"
       "total[i] = sum(k, exp(x[i, k] - top[i])) {id=total, dep=top}\n"
       "y[i, l] = exp(x[i, l] - top[i])/total[i] {dep=total}",
       "x, y: f32[n, m]; top, total: f32[n]",
       {{"n", 16384}, {"m", 4096}},
       {{"n", 21}, {"m", 35}}},
      {"norm_in_place",
       "{[i, j, k, l]: 0 <= i < n and 0 <= j, k, l < m}",
       "<f32> mean = sum(j, x[i, j]) / m {id=mean}\n"
       "<f32> spread = sum(k, (x[i, k] - mean)*(x[i, k] - mean)) / m {id=spread, dep=mean}\n"
       "x[i, l] = (x[i, l] - mean)/sqrt(spread + 0.01f) {dep=spread}",
       "x: f32[n, m]",
       {{"n", 16384}, {"m", 4096}},
       {{"n", 21}, {"m", 35}}},
      {"root_mean_square",
       "{[b, i, j, l]: 0 <= b < k and 0 <= i < n and 0 <= j, l < m}",
       "<f32> scale = rsqrt(sum(j, x[b, i, j]*x[b, i, j])/m + 0.01f) {id=scale}\n"
       "y[b, i, l] = x[b, i, l]*scale*w[l] {dep=scale}",
       "x, y: f32[k, n, m]; w: f32[m]",
       {{"k", 64}, {"n", 256}, {"m", 1000}},
       {{"k", 2}, {"n", 7}, {"m", 24}}},
      {"product_and_transposed",
       "{[i, j, k, l]: 0 <= i, k < n and 0 <= j, l < m}",
       "t[i] = sum(j, A[i, j]*x[j])\n"
       "... gbarrier\n"
       "y[l] = sum(k, A[k, l]*t[k])",
       "A: f32[n, m]; x, y: f32[m]; t: f32[n]",
       {{"n", 1900}, {"m", 2100}},
       {{"n", 21}, {"m", 35}}},
      {"both_products",
       "{[i, j, k, l]: 0 <= i, j, k, l < n}",
       "p[i] = p[i] + sum(j, A[i, j]*x[j])\n"
       "q[k] = q[k] + sum(l, A[l, k]*y[l])",
       "A: f32[n, n]; x, y, p, q: f32[n]",
       {{"n", 2000}},
       {{"n", 37}}},
      {"chained_products",
       "{[i, j, k, p, q, r]: 0 <= i, p < n and 0 <= j, r < m and 0 <= k, q < l}",
       "T[i, j] = sum(k, A[i, k]*B[k, j])\n"
       "... gbarrier\n"
       "D[p, q] = 2*D[p, q] + sum(r, T[p, r]*C[r, q])",
       "A: f32[n, l]; B: f32[l, m]; C: f32[m, l]; T: f32[n, m]; D: f32[n, l]",
       {{"n", 64}, {"m", 32}, {"l", 32}},
       {{"n", 13}, {"m", 9}, {"l", 11}}},
      {"centred_rows",
       "{[i, j, k, l, p, q]: 0 <= i, p < n and 0 <= j, k, l, q < m}",
       "<f32> top = reduce(max, j, x[i, j]) {id=top}\n"
       "y[i, k] = x[i, k] - top {dep=top}\n"
       "... gbarrier\n"
       "z[p] = sum(q, y[p, q])",
       "x, y: f32[n, m]; z: f32[n]",
       {{"n", 3000}, {"m", 1024}},
       {{"n", 21}, {"m", 35}}},
      {"nearest",
       "{[i, j, k]: 0 <= i < n and 0 <= j < m and 0 <= k < 3}",
       "v[i], p[i] = argmin(j, sum(k, (a[i, k] - b[j, k])*(a[i, k] - b[j, k])), j)",
       "a: f32[n, 3]; b: f32[m, 3]; v: f32[n]; p: i32[n]",
       {{"n", 16384}, {"m", 16384}},
       {{"n", 21}, {"m", 70}}},
      {"nearest_centre",
       "{[i, j, k]: 0 <= i < n and 0 <= j < m and 0 <= k < l}",
       "v[i], p[i] = argmin(j, w[j]*sum(k, (a[i, k] - b[j, k])*(a[i, k] - b[j, k])), j)",
       "a: f32[n, l]; b: f32[m, l]; w: f32[m]; v: f32[n]; p: i32[n]",
       {{"n", 4096}, {"m", 10}, {"l", 784}},
       {{"n", 21}, {"m", 5}, {"l", 70}}},
      {"rank_update_in_place",
       "{[i, j, k]: 0 <= j <= i < n and 0 <= k < m}",
       "C[i, j] = 3*C[i, j] + sum(k, A[i, k]*A[j, k])",
       "A: f32[n, m]; C: f32[n, n]",
       {{"n", 1200}, {"m", 1000}},
       {{"n", 21}, {"m", 19}}},
      {"gram",
       "{[i, j, k]: 0 <= i, j < n and 0 <= k < m}",
       "C[i, j] = sum(k, A[k, i]*A[k, j])",
       "A: f32[m, n]; C: f32[n, n]",
       {{"n", 512}, {"m", 100000}},
       {{"n", 19}, {"m", 37}}},
      {"columns",
       "{[i, k]: 0 <= i < n and 0 <= k < m}",
       "y[i] = 2*z[i] + sum(k, x[k]*A[k, i])",
       "A: f32[m, n]; x: f32[m]; y, z: f32[n]",
       {{"n", 8192}, {"m", 8192}},
       {{"n", 37}, {"m", 45}}},
      {"depthwise",
       "{[b, c, y, x, p, q]: 0 <= b < n and 0 <= c < m and 0 <= y, x < h and 0 <= p, q < 5}",
       "out[b, c, y, x] = sum((p, q), image[b, c, 2*y + p, 2*x + q]*w[c, p, q]) + bias[c]",
       "image: f32[n, m, 2*h + 3, 2*h + 3]; w: f32[m, 5, 5]; bias: f32[m]; out: f32[n, m, h, h]",
       {{"n", 32}, {"m", 96}, {"h", 28}},
       {{"n", 3}, {"m", 4}, {"h", 7}}},
      {"six_indices",
       "{[a, b, c, d, e, f, g]: 0 <= a, d, g < n and 0 <= b, c, e, f < m}",
       "C[a, b, c, d, e, f] = sum(g, A[g, d, a, b]*B[e, f, g, c])",
       "A: f32[n, n, n, m]; B: f32[m, m, n, m]; C: f32[n, m, m, n, m, m]",
       {{"n", 24}, {"m", 16}},
       {{"n", 5}, {"m", 3}}},
      {"symmetric_part",
       "{[i, j, k]: 0 <= i, j, k < n}",
       "C[i, j] = sum(k, A[i, k]*B[k, j]) + A[j, i] - A[i, j]",
       "A, B, C: f32[n, n]",
       {{"n", 500}},
       {{"n", 21}}},
      {"two_sums",
       "{[i, j, k, l]: 0 <= i, j < n and 0 <= k, l < m}",
       "C[i, j] = sum(k, A[i, k]*B[k, j]) + sum(l, B[l, i]*A[j, l])*D[i, j]",
       "A: f64[n, m]; B: f64[m, n]; C, D: f64[n, n]",
       {{"n", 512}, {"m", 512}},
       {{"n", 19}, {"m", 21}}},
      {"lower_product",
       "{[i, j, k]: 0 <= i < n and 0 <= j < m and 0 <= k <= i}",
       "C[i, j] = sum(k, A[i, k]*B[k, j])",
       "A: f32[n, n]; B, C: f32[n, m]",
       {{"n", 1024}, {"m", 1024}},
       {{"n", 37}, {"m", 21}}},
      {"upper_product",
       "{[i, j, k]: 0 <= i < n and 0 <= j < m and i <= k < n}",
       "C[i, j] = sum(k, A[i, k]*B[k, j])",
       "A: f32[n, n]; B, C: f32[n, m]",
       {{"n", 1024}, {"m", 1024}},
       {{"n", 37}, {"m", 21}}},
      {"band",
       "{[i, j, k]: 0 <= i < n and 0 <= j < m and i <= k <= i + 15}",
       "C[i, j] = sum(k, A[i, k - i]*B[k, j])",
       "A: f32[n, 16]; B: f32[n + 16, m]; C: f32[n, m]",
       {{"n", 1024}, {"m", 1024}},
       {{"n", 37}, {"m", 21}}},
      {"gather",
       "{[i, j, k]: 0 <= i, j < n and 0 <= k < m}",
       "C[i, j] = sum(k, A[p[i], k]*B[k, j])*A[i, j]",
       "A: f32[n, m + n]; p: i32[n]; B: f32[m, n]; C: f32[n, n]",
       {{"n", 512}, {"m", 512}},
       {{"n", 19}, {"m", 21}}},
      {"channels",
       "{[c, b, p, b2, p2, b3, p3]: 0 <= c < n and 0 <= b, b2, b3 < m and 0 <= p, p2, p3 < k}",
       "<f32> mean = sum((b, p), x[b, c, p])/(m*k)\n"
       "<f32> spread = sum((b2, p2), (x[b2, c, p2] - mean)*(x[b2, c, p2] - mean))/(m*k)\n"
       "y[b3, c, p3] = (x[b3, c, p3] - mean)*rsqrt(spread + 0.01f)*g[c]",
       "x, y: f32[m, n, k]; g: f32[n]",
       {{"n", 64}, {"m", 32}, {"k", 3136}},
       {{"n", 5}, {"m", 3}, {"k", 140}}},
      {"one_row",
       "{[j, k, l]: 0 <= j, k, l < n}",
       "<f32> top = reduce(max, j, x[j])\n"
       "<f32> total = sum(k, exp(x[k] - top))\n"
       "y[l] = exp(x[l] - top)/total",
       "x, y: f32[n]",
       {{"n", 10000000}},
       {{"n", 300}}},
      {"histogram",
       "{[i]: 0 <= i < n}",
       "count[x[i]] += 1 {atomic}",
       "x: i32[n]; count: i32[m]",
       {{"n", 1 << 24}, {"m", 256}},
       {{"n", 137}, {"m", 8}}},
      {"largest_by_group",
       "{[i, j]: 0 <= i < n and 0 <= j < m}",
       "top[g[i], j] = max(top[g[i], j], a[i, j]) {atomic}",
       "a: f32[n, m]; g: i32[n]; top: f32[k, m]",
       {{"n", 1000000}, {"m", 24}, {"k", 64}},
       {{"n", 41}, {"m", 5}, {"k", 8}}},
      {"degrees_and_weights",
       "{[e, p]: 0 <= e, p < n}",
       "d[a[e]] += 1 {atomic}\n"
       "d[b[e]] += 1 {atomic}\n"
       "w[a[p]] += u[p] {atomic}",
       "a, b, u: i32[n]; d, w: i32[m]",
       {{"n", 1 << 22}, {"m", 1000}},
       {{"n", 137}, {"m", 8}}},
  };
}

}  // namespace rtcg::loopy
