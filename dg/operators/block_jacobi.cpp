#include "rtcg/dg/operators/block_jacobi.h"

#include <Eigen/Dense>
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/cgen/support/graph.h"

namespace rtcg::dg::detail {
namespace {

using Block = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// The elements at most `distance` faces away, itself among them.
std::set<std::size_t> elements_near(const Connectivity& connectivity, std::size_t element,
                                    int distance) {
  std::set<std::size_t> near = {element};
  std::vector<std::size_t> rim = {element};
  for (int step = 0; step < distance; ++step) {
    std::vector<std::size_t> next;
    for (const std::size_t each : rim) {
      for (std::size_t face = 0; face < connectivity.faces; ++face) {
        const FaceLink& link = connectivity.link(each, face);
        if (!link.is_boundary() && near.insert(static_cast<std::size_t>(link.element)).second) {
          next.push_back(static_cast<std::size_t>(link.element));
        }
      }
    }
    rim = std::move(next);
  }
  return near;
}

}  // namespace

std::vector<std::size_t> colors_of(const Connectivity& connectivity, int distance) {
  Edges neighbours(connectivity.links.size() / connectivity.faces);
  for (std::size_t element = 0; element < neighbours.size(); ++element) {
    std::set<std::size_t> near = elements_near(connectivity, element, distance);
    near.erase(element);
    neighbours[element].assign(near.begin(), near.end());
  }
  return color_nodes(neighbours);
}

std::vector<double> inverse_blocks(
    const Discretization& on, int reach,
    const std::function<std::vector<double>(const std::vector<double>&)>& apply) {
  const std::size_t elements = on.element_count();
  const std::size_t nodes = on.node_count();
  const std::vector<std::size_t> colors = colors_of(on.connectivity, reach);
  const std::size_t count = *std::max_element(colors.begin(), colors.end()) + 1;
  std::vector<double> blocks(elements * nodes * nodes);
  // the response of an element to one of its own nodes, for many elements at once
  for (std::size_t color = 0; color < count; ++color) {
    for (std::size_t node = 0; node < nodes; ++node) {
      std::vector<double> unit(elements * nodes);
      for (std::size_t element = 0; element < elements; ++element) {
        unit[element * nodes + node] = colors[element] == color ? 1 : 0;
      }
      const std::vector<double> image = apply(unit);
      for (std::size_t element = 0; element < elements; ++element) {
        for (std::size_t row = 0; colors[element] == color && row < nodes; ++row) {
          blocks[(element * nodes + row) * nodes + node] = image[element * nodes + row];
        }
      }
    }
  }
  const auto n = static_cast<Eigen::Index>(nodes);
  const Block mass = Eigen::Map<const Block>(on.element.mass.values.data(), n, n);
  for (std::size_t element = 0; element < elements; ++element) {
    Eigen::Map<Block> block(&blocks[element * nodes * nodes], n, n);
    const Block weighted = mass * block;
    const Eigen::LLT<Block> factors((weighted + weighted.transpose()) / 2);
    if (factors.info() != Eigen::Success) {
      throw InvalidInput("dg.solve_poisson.not_definite",
                         fmt::format("the equation of element {} alone is not positive definite: "
                                     "use a larger penalty or a positive diffusion",
                                     element));
    }
    block = factors.solve(mass);
  }
  return blocks;
}

}  // namespace rtcg::dg::detail
