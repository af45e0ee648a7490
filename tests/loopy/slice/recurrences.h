#pragma once

#include <string>
#include <vector>

#include "rtcg/loopy/analyze/evaluate_integer.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/transform/fix_parameters.h"

// Kernels whose results follow from each other along some loops: many independent ones of each.

namespace rtcg::loopy {

struct Recurrence {
  std::string name{};
  std::string batch{};  ///< the independent loop
  std::string rows{};   ///< its length
  IntegerValues small{};
  std::string domains{};
  std::string statements{};
  std::string arguments{};

  [[nodiscard]] Kernel described() const {
    return make_kernel(domains, statements,
                       {.arguments = arguments, .sequential_dependencies = true});
  }
  [[nodiscard]] Kernel of(const IntegerValues& sizes) const {
    return fix_parameters(described(), {sizes.begin(), sizes.end()});
  }
};

/// The most likely states of hidden Markov chains: each state of a step needs all of the last one.
inline Recurrence best_paths() {
  return {"best_paths",
          "b",
          "nb",
          {{"nb", 4}, {"nt", 6}, {"m", 19}},
          "{[b, t, s, r]: 0 <= b < nb and 0 <= t < nt and 0 <= s, r < m}",
          "for b, t\n"
          "  <> best, <> previous = argmax(r, v[b, t, r] + a[r, s], r)\n"
          "  p[b, t, s] = previous\n"
          "  v[b, t + 1, s] = best + e[b, t, s]\n"
          "end",
          "v: f32[nb, nt + 1, m]; p: i32[nb, nt, m]; e: f32[nb, nt, m]; a: f32[m, m]; "
          "nb, nt, m: i32"};
}

/// Without pivots.
inline Recurrence factorizations() {
  return {"factorizations",
          "b",
          "nb",
          {{"nb", 5}, {"n", 11}},
          "{[b, k, i, j]: 0 <= b < nb and 0 <= k < n and k < i < n and k < j < n}",
          "for b, k\n"
          "  a[b, i, k] = a[b, i, k]/(a[b, k, k] + 4)\n"
          "  a[b, i, j] = a[b, i, j] - a[b, i, k]*a[b, k, j]\n"
          "end",
          "a: f64[nb, n, n]; nb, n: i32"};
}

/// Time steps of many short rods.
inline Recurrence rods() {
  return {"rods",
          "r",
          "nr",
          {{"nr", 6}, {"nt", 5}, {"n", 50}},
          "{[r, t, i]: 0 <= r < nr and 0 <= t < nt and 1 <= i < n - 1}",
          "for r, t, i\n"
          "  u[r, t + 1, i] = u[r, t, i] + 0.2*(u[r, t, i - 1] - 2*u[r, t, i] + u[r, t, i + 1])\n"
          "end",
          "u: f64[nr, nt + 1, n]; nr, nt, n: i32"};
}

/// By elimination downwards and substitution upwards.
inline Recurrence tridiagonal_systems() {
  return {"tridiagonal_systems",
          "b",
          "nb",
          {{"nb", 40}, {"n", 9}},
          "{[b, i, k]: 0 <= b < nb and 1 <= i < n and 1 <= k < n}",
          "for b\n"
          "  c[b, 0] = up[b, 0]/(di[b, 0] + 4)\n"
          "  x[b, 0] = r[b, 0]/(di[b, 0] + 4)\n"
          "  for i\n"
          "    <> w = di[b, i] + 4 - lo[b, i]*c[b, i - 1]\n"
          "    c[b, i] = up[b, i]/w\n"
          "    x[b, i] = (r[b, i] - lo[b, i]*x[b, i - 1])/w\n"
          "  end\n"
          "  for k\n"
          "    x[b, n - 1 - k] = x[b, n - 1 - k] - c[b, n - 1 - k]*x[b, n - k]\n"
          "  end\n"
          "end",
          "lo, di, up, r, c, x: f64[nb, n]; nb, n: i32"};
}

/// Dynamic time warping of pairs of sequences.
inline Recurrence alignments() {
  return {"alignments",
          "p",
          "np",
          {{"np", 35}, {"n", 7}, {"m", 9}},
          "{[p, i, j]: 0 <= p < np and 1 <= i <= n and 1 <= j <= m}",
          "for p, i, j\n"
          "  d[p, i, j] = abs(a[p, i - 1] - b[p, j - 1]) + min(d[p, i - 1, j - 1], "
          "min(d[p, i - 1, j], d[p, i, j - 1]))\n"
          "end",
          "a: f64[np, n]; b: f64[np, m]; d: f64[np, n + 1, m + 1]; np, n, m: i32"};
}

/// Phases without jumps.
inline Recurrence phases() {
  return {"phases",
          "r",
          "nr",
          {{"nr", 33}, {"nt", 23}},
          "{[r, t]: 0 <= r < nr and 1 <= t < nt}",
          "for r\n"
          "  o[r, 0] = p[r, 0]\n"
          "  for t\n"
          "    <> d = p[r, t] - p[r, t - 1]\n"
          "    o[r, t] = o[r, t - 1] + d - 0.75*floor((d + 0.375)/0.75)\n"
          "  end\n"
          "end",
          "p, o: f64[nr, nt]; nr, nt: i32"};
}

/// Two filters of second order, one after the other, for each channel.
inline Recurrence filters() {
  return {"filters",
          "c",
          "nc",
          {{"nc", 34}, {"nt", 17}},
          "{[c, t, s]: 0 <= c < nc and 0 <= t < nt and 0 <= s < 2}",
          "for c\n"
          "  <f64> z[2]\n"
          "  <f64> q[2]\n"
          "  for t\n"
          "    <f64> v = x[c, t]\n"
          "    for s\n"
          "      <f64> w = g[s, 0]*v + (z[s] if t > 0 else 0)\n"
          "      z[s] = g[s, 1]*v - 0.25*w + (q[s] if t > 0 else 0)\n"
          "      q[s] = g[s, 2]*v - 0.125*w\n"
          "      v = w\n"
          "    end\n"
          "    y[c, t] = v\n"
          "  end\n"
          "end",
          "x, y: f64[nc, nt]; g: f64[2, 3]; nc, nt: i32"};
}

/// A filter of second order through memory, and a sum of what it has read, for rows of two groups.
inline Recurrence responses() {
  return {"responses",
          "r",
          "nr",
          {{"nr", 37}, {"nt", 41}},
          "{[g, r, t]: 0 <= g < 2 and 0 <= r < nr and 2 <= t < nt}",
          "for g, r, t\n"
          "  y[g, r, t] = x[g, r, t] - 0.5*x[g, r, t - 2] + 0.25*y[g, r, t - 1] - "
          "0.125*y[g, r, t - 2]\n"
          "  s[g, r, t] = s[g, r, t - 1] + x[g, r, t]*w[g, r, t]\n"
          "end",
          "x, y, s, w: f64[2, nr, nt]; nr, nt: i32"};
}

/// Numbers that a thread keeps through a row, of which the largest is written in the end.
inline Recurrence averages() {
  return {"averages",
          "r",
          "nr",
          {{"nr", 33}, {"nt", 29}},
          "{[r, t]: 0 <= r < nr and 0 <= t < nt}",
          "for r\n"
          "  <f64> p = 1\n"
          "  <f64> q = 0\n"
          "  for t\n"
          "    p = 0.5*p + a[r, t]*b[r, t]\n"
          "    q = max(q, p)\n"
          "    c[r, t] = p\n"
          "    d[r, t] = q - p\n"
          "  end\n"
          "  last[r] = q\n"
          "end",
          "a, b, c, d: f64[nr, nt]; last: f64[nr]; nr, nt: i32"};
}

inline std::vector<Recurrence> recurrences() {
  return {best_paths(), factorizations(), rods(),    tridiagonal_systems(), alignments(), phases(),
          filters(),    responses(),      averages()};
}

}  // namespace rtcg::loopy
