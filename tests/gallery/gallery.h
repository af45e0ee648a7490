#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "rtcg/loopy/execute/compare_with_reference.h"

namespace rtcg::gallery {

using Int = std::int64_t;

/// An array in C order, in double; a complex number is a last axis of length 2.
struct Grid {
  std::vector<Int> lengths{};
  std::vector<double> values{};

  /// The element at some indices, each within its axis.
  template <class... Indices>
  double& operator()(Indices... indices) {
    const Int given[] = {static_cast<Int>(indices)...};
    return values.at(place(given, sizeof...(indices)));
  }
  /// The element at the indices of a list.
  double& at(const std::vector<Int>& indices) {
    return values.at(place(indices.data(), indices.size()));
  }

 private:
  [[nodiscard]] std::size_t place(const Int* indices, std::size_t count) const;
};

/// The arguments of a kernel: what a reference reads and changes.
struct Numbers {
  loopy::IntegerValues sizes{};
  std::map<std::string, double> reals{};
  std::map<std::string, Grid> arrays{};

  Grid& operator[](const std::string& name) { return arrays.at(name); }
  [[nodiscard]] Int size(std::string_view name) const { return sizes.find(name)->second; }
  [[nodiscard]] double real(const std::string& name) const { return reals.at(name); }
};

/// What a gallery file has to compute, written as plain loops, without rtcg.
struct Entry {
  void (*reference)(Numbers& numbers);
  /// Changes random data, in [-1, 1) or whole in [0, 8), to what the kernel is made for.
  void (*prepare)(Numbers& numbers) = nullptr;
  /// Largest |a - b| / (1 + |b|) where elements are f32; f64 have a millionth of it.
  double tolerance = 1e-4;
};

/// By the name of the file without `.loopy`.
using Entries = std::map<std::string, Entry, std::less<>>;
[[nodiscard]] Entries polybench_entries();
[[nodiscard]] Entries other_entries();
[[nodiscard]] Entries application_entries();
[[nodiscard]] Entries field_entries();

/// Adds `value` to the diagonal of a square matrix, so that it can be factored.
void add_to_diagonal(Grid& matrix, double value);

inline void fill(Grid& grid, double value) {
  std::fill(grid.values.begin(), grid.values.end(), value);
}

/// Calls `visit` with the indices of each element of a box, the last one fastest.
template <class Visit>
void for_each_point(const std::vector<Int>& lengths, const Visit& visit) {
  Int count = 1;
  for (const Int each : lengths) {
    count *= each;
  }
  std::vector<Int> at(lengths.size());
  for (Int point = 0; point < count; ++point) {
    Int rest = point;
    for (std::size_t axis = lengths.size(); axis-- > 0;) {
      at[axis] = rest % lengths[axis];
      rest /= lengths[axis];
    }
    visit(at);
  }
}

}  // namespace rtcg::gallery
