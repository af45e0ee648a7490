#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace rtcg::loopy {

/// An element of an array, or a scalar.
using Element = std::pair<std::string, std::vector<std::int64_t>>;

/// What arguments hold before a test runs a kernel: an integer below 97 that follows from the name
/// and the indices alone.
inline double initial_number(const Element& element) {
  double value = static_cast<double>(element.first.front());
  for (const std::int64_t index : element.second) {
    value = value * 31 + static_cast<double>(index);
  }
  return std::fmod(value, 97);
}

}  // namespace rtcg::loopy
