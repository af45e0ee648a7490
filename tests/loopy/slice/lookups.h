#pragma once

#include <map>
#include <string>
#include <vector>

#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/execute/compare_with_reference.h"
#include "rtcg/loopy/transform/fix_parameters.h"

// Kernels that read elements of rows and tables at computed places.

namespace rtcg::loopy {

struct Lookup {
  std::string name;
  std::string domain;
  std::string text;
  std::string arguments;
  IntegerValues large;
  IntegerValues small;
  std::map<std::string, int> places;  ///< elements of each array of places, for the small sizes
  std::string fetched;                ///< the array that blocks of a GPU may copy

  [[nodiscard]] Kernel of(const IntegerValues& sizes) const {
    return fix_parameters(make_kernel(domain, text, {.name = name, .arguments = arguments}),
                          {sizes.begin(), sizes.end()});
  }
  /// Places from 0 to 4.
  [[nodiscard]] CompareOptions options() const {
    CompareOptions result;
    for (const auto& [array, count] : places) {
      for (int i = 0; i < count; ++i) {
        result.values[array].push_back((i * (array == "p" ? 7 : 3) + 2) % 5);
      }
    }
    return result;
  }
};

inline std::vector<Lookup> lookups() {
  return {
      {"columns_of_rows",
       "{[i, j]: 0 <= i < n and 0 <= j < m}",
       "out[i, j] = a[i, p[j]] + 0.5f*a[i, q[j]] - a[i, p[j] + 1]",
       "out, a: f32[n, m]; p, q: i32[m]",
       {{"n", 4096}, {"m", 8192}},
       {{"n", 7}, {"m", 13}},
       {{"p", 13}, {"q", 13}},
       "a"},
      // rows that the steps of a sum choose
      {"sums_of_tables",
       "{[i, k]: 0 <= i < n and 0 <= k < 16}",
       "out[i] = sum(k, table[k, p[i, k]])",
       "out: f32[n]; table: f32[16, 256]; p: u8[n, 16]",
       {{"n", 4000000}},
       {{"n", 37}},
       {{"p", 592}},
       "table"},
      // places from a scalar
      {"computed_places",
       "{[i]: 0 <= i < n}",
       "<i32> place = p[i] + 1 {id=place}\n"
       "out[i] = table[place]*table[place + 1] {dep=place}",
       "out: f32[n]; p: u8[n]; table: f32[1024]",
       {{"n", 67108864}},
       {{"n", 131}},
       {{"p", 131}},
       "table"},
      // places along two axes, next to a factor that is read as it lies
      {"tiles_in_another_order",
       "{[b, i, j]: 0 <= b < n and 0 <= i, j < m}",
       "out[b, i, j] = a[b, p[i], q[j]]*w[j] + a[b, q[i], p[j]]",
       "out, a: f32[n, m, m]; p, q: i32[m]; w: f32[m]",
       {{"n", 4096}, {"m", 64}},
       {{"n", 2}, {"m", 9}},
       {{"p", 9}, {"q", 9}},
       "a"},
      // a triangle of sums over windows that begin at computed places
      {"triangle_of_windows",
       "{[i, j, k]: 0 <= j <= i < n and 0 <= k < 4}",
       "out[i, j] = sum(k, a[i, 4*p[j] + k]*w[k, q[i]])",
       "out: f64[n, n]; a: f64[n, 200]; w: f64[4, 60]; p, q: i32[n]",
       {{"n", 2048}},
       {{"n", 11}},
       {{"p", 11}, {"q", 11}},
       "a"},
      // two nests that look up one table, and a third that reads it as it lies
      {"one_table_of_three_nests",
       "{[i, j]: 0 <= i < n and 0 <= j < m} {[k, l]: 0 <= k < n and 0 <= l < m} "
       "{[s]: 0 <= s < m}",
       "out[i, j] = t[p[i, j]]\n"
       "also[k, l] = t[q[l]]*t[l]\n"
       "row[s] = 2*t[s] + t[q[s]]",
       "out, also: f32[n, m]; row, t: f32[m]; p: i32[n, m]; q: i32[m]",
       {{"n", 4096}, {"m", 2048}},
       {{"n", 5}, {"m", 11}},
       {{"p", 55}, {"q", 11}},
       "t"},
      // nests within a loop of the host, which look up one table
      {"one_table_of_two_steps",
       "{[s]: 0 <= s < 3} {[i]: 0 <= i < n} {[k]: 0 <= k < n}",
       "for s\n"
       "  y[i] = 0.5f*x[p[i]] + t[q[i]]\n"
       "  ... gbarrier\n"
       "  x[k] = y[k]*t[q[k]]\n"
       "  ... gbarrier\n"
       "end",
       "x, y: f32[n]; t: f32[64]; p, q: i32[n]",
       {{"n", 4000000}},
       {{"n", 13}},
       {{"p", 13}, {"q", 13}},
       "t"},
  };
}

}  // namespace rtcg::loopy
