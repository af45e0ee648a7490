#pragma once

#include <string>
#include <vector>

#include "rtcg/loopy/create/make_kernel.h"

// Kernels with sums that depend on loops of their statement alone, and the same with temporaries.

namespace rtcg::loopy {

struct ValuesOfLoops {
  std::string name{};
  std::string domains{};
  std::string arguments{};
  std::string with_rules{};
  std::string with_temporaries{};

  [[nodiscard]] Kernel kernel(const std::string& statements) const {
    return make_kernel(
        domains, statements,
        {.arguments = arguments, .default_type = cgen::f32, .assumptions = "n >= 1 and m >= 1"});
  }
  [[nodiscard]] Kernel as_rules() const { return kernel(with_rules); }
  [[nodiscard]] Kernel as_temporaries() const { return kernel(with_temporaries); }
};

inline std::vector<ValuesOfLoops> values_of_loops() {
  const std::string rows = "{[i, j, k, a, b]: 0 <= i < n and 0 <= j, k, a, b < m}";
  const std::string soft =
      "top(r) := reduce(max, a, x[r, a])\n"
      "total(r) := sum(b, exp(x[r, b] - top(r)))\n";
  const std::string soft_row =
      "<> top = reduce(max, a, x[i, a])\n"
      "<> total = sum(b, exp(x[i, b] - top))\n";
  return {
      {"softmax", rows, "x, y: f32[n, m]", soft + "y[i, j] = exp(x[i, j] - top(i))/total(i)",
       soft_row + "y[i, j] = exp(x[i, j] - top)/total"},
      {"cross_entropy", rows, "x, g: f32[n, m]; label: i32[n]",
       soft + "g[i, j] = exp(x[i, j] - top(i))/total(i) - if(j == label[i], 1, 0)",
       soft_row + "g[i, j] = exp(x[i, j] - top)/total - if(j == label[i], 1, 0)"},
      {"normalisation", rows, "x, y: f32[n, m]",
       "mean(r) := sum(a, x[r, a])/m\n"
       "var(r) := sum(b, (x[r, b] - mean(r))**2)/m\n"
       "y[i, j] = (x[i, j] - mean(i))/sqrt(var(i) + 1e-5)",
       "<> mean = sum(a, x[i, a])/m\n"
       "<> deviation = sqrt(sum(b, (x[i, b] - mean)**2)/m + 1e-5)\n"
       "y[i, j] = (x[i, j] - mean)/deviation"},
      {"two_results", rows, "x, y, z: f32[n, m]",
       soft + "y[i, j] = exp(x[i, j] - top(i))/total(i)\n"
              "z[i, k] = x[i, k] - top(i) - log(total(i))",
       soft_row + "y[i, j] = exp(x[i, j] - top)/total\n"
                  "z[i, k] = x[i, k] - top - log(total)"},
      {"sum_and_result", rows, "x, y: f32[n, m]; l: f32[n]",
       "top(r) := reduce(max, a, x[r, a])\n"
       "l[i] = log(sum(b, exp(x[i, b] - top(i))))\n"
       "y[i, j] = x[i, j] - top(i)",
       "<> top = reduce(max, a, x[i, a])\n"
       "l[i] = log(sum(b, exp(x[i, b] - top)))\n"
       "y[i, j] = x[i, j] - top"},
      {"one_statement", rows, "x: f32[n, m]; l: f32[n]",
       "l[i] = log(sum(b, exp(x[i, b] - reduce(max, a, x[i, a]))))",
       "<> top = reduce(max, a, x[i, a])\n"
       "l[i] = log(sum(b, exp(x[i, b] - top)))"},
      {"columns", "{[i, j, a]: 0 <= i, a < n and 0 <= j < m}", "x, y: f32[n, m]",
       "y[i, j] = x[i, j]/(1 + sum(a, abs(x[a, j])))",
       "<> total = 1 + sum(a, abs(x[a, j]))\n"
       "y[i, j] = x[i, j]/total"},
      {"trapezium", "{[i, j, a]: 0 <= i < n and 0 <= j, a < m + i}", "x, y: f32[n, n + m]",
       "y[i, j] = exp(x[i, j])/sum(a, exp(x[i, a]))",
       "<> total = sum(a, exp(x[i, a]))\n"
       "y[i, j] = exp(x[i, j])/total"},
  };
}

}  // namespace rtcg::loopy
