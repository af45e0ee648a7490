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

// The elements of all ranks and their neighbours; of the links no more than these.
Connectivity whole_connectivity(const Discretization& on) {
  if (!on.part) {
    return on.connectivity;
  }
  Connectivity whole{on.connectivity.faces, {}};
  whole.links.resize(on.part->whole_elements * whole.faces);
  // the place of an element, then those of its neighbours
  std::vector<std::int64_t> own;
  for (std::size_t element = 0; element < on.element_count(); ++element) {
    own.push_back(on.part->places[element]);
    for (std::size_t face = 0; face < whole.faces; ++face) {
      const FaceLink& link = on.connectivity.link(element, face);
      own.push_back(link.is_boundary() ? -1
                                       : on.part->places[static_cast<std::size_t>(link.element)]);
    }
  }
  for (const std::vector<std::byte>& bytes : on.group->all_gather(distributed::bytes_of(own))) {
    const std::vector<std::int64_t> theirs = distributed::values_of<std::int64_t>(bytes);
    for (std::size_t i = 0; i < theirs.size(); i += whole.faces + 1) {
      for (std::size_t face = 0; face < whole.faces; ++face) {
        whole.links[static_cast<std::size_t>(theirs[i]) * whole.faces + face].element =
            static_cast<int>(theirs[i + 1 + face]);
      }
    }
  }
  return whole;
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
  // the same for any number of ranks
  const std::vector<std::size_t> all_colors = colors_of(whole_connectivity(on), reach);
  const std::size_t count = *std::max_element(all_colors.begin(), all_colors.end()) + 1;
  const auto place_of = [&](std::size_t element) {
    return on.part ? static_cast<std::size_t>(on.part->places[element]) : element;
  };
  std::vector<std::size_t> colors;
  for (std::size_t element = 0; element < elements; ++element) {
    colors.push_back(all_colors[place_of(element)]);
  }
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
                                     place_of(element)));
    }
    block = factors.solve(mass);
  }
  return blocks;
}

}  // namespace rtcg::dg::detail
