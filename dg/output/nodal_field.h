#pragma once

#include <string>
#include <vector>

namespace rtcg::dg {

/// Values at the nodes of all elements: a number, or a vector of several
/// components.
struct NodalField {
  std::string name;
  std::size_t components = 1;
  std::vector<double> values{};  ///< [(component * elements + element) * nodes + node]
};

/// One value for each element.
struct ElementField {
  std::string name;
  std::vector<double> values{};
};

}  // namespace rtcg::dg
