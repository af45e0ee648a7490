#include "rtcg/dg/mesh/mesh.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "rtcg/dg/mesh/hash_bytes.h"

namespace rtcg::dg {
namespace {

constexpr int curve_bits = 20;  // of each coordinate; three make one key

// The place of a cell on the Hilbert curve through a cube of 2^curve_bits cells a side.
// Source: Skilling 2004, Programming the Hilbert curve.
std::uint64_t hilbert_key(std::array<std::uint32_t, 3> cell, std::size_t dimension) {
  const std::uint32_t top = 1U << (curve_bits - 1);
  for (std::uint32_t bit = top; bit > 1; bit >>= 1) {
    const std::uint32_t lower = bit - 1;
    for (std::size_t axis = 0; axis < dimension; ++axis) {
      if ((cell[axis] & bit) != 0) {
        cell[0] ^= lower;
      } else {
        const std::uint32_t exchanged = (cell[0] ^ cell[axis]) & lower;
        cell[0] ^= exchanged;
        cell[axis] ^= exchanged;
      }
    }
  }
  for (std::size_t axis = 1; axis < dimension; ++axis) {
    cell[axis] ^= cell[axis - 1];
  }
  std::uint32_t flips = 0;
  for (std::uint32_t bit = top; bit > 1; bit >>= 1) {
    if ((cell[dimension - 1] & bit) != 0) {
      flips ^= bit - 1;
    }
  }
  std::uint64_t key = 0;
  for (int bit = curve_bits - 1; bit >= 0; --bit) {
    for (std::size_t axis = 0; axis < dimension; ++axis) {
      key = key << 1 | (((cell[axis] ^ flips) >> bit) & 1U);
    }
  }
  return key;
}

Point sum_of_vertices(const Mesh& mesh, std::size_t element) {
  Point sum{};
  for (std::size_t i = 0; i < mesh.face_count(); ++i) {
    const Point& vertex = mesh.vertices[static_cast<std::size_t>(mesh.elements[element][i])];
    for (std::size_t axis = 0; axis < 3; ++axis) {
      sum[axis] += vertex[axis];
    }
  }
  return sum;
}

std::vector<std::uint64_t> curve_keys(const Mesh& mesh) {
  std::vector<Point> centres;
  Point low;
  low.fill(std::numeric_limits<double>::infinity());
  double extent = 0;
  for (std::size_t element = 0; element < mesh.element_count(); ++element) {
    centres.push_back(sum_of_vertices(mesh, element));
    for (std::size_t axis = 0; axis < 3; ++axis) {
      low[axis] = std::min(low[axis], centres.back()[axis]);
    }
  }
  for (const Point& centre : centres) {
    for (std::size_t axis = 0; axis < 3; ++axis) {
      extent = std::max(extent, centre[axis] - low[axis]);
    }
  }
  const double scale = extent > 0 ? ((1U << curve_bits) - 1) / extent : 0;
  std::vector<std::uint64_t> keys;
  for (const Point& centre : centres) {
    std::array<std::uint32_t, 3> cell{};
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const double place = (centre[axis] - low[axis]) * scale;
      // coordinates near the largest number there is overflow to no number
      cell[axis] = place > 0 ? static_cast<std::uint32_t>(place) : 0;
    }
    keys.push_back(hilbert_key(cell, static_cast<std::size_t>(mesh.dimension)));
  }
  return keys;
}

}  // namespace

double signed_volume(const Mesh& mesh, std::size_t element) {
  const std::array<int, 4>& corners = mesh.elements[element];
  const auto edge = [&](std::size_t corner, std::size_t axis) {
    return mesh.vertices[static_cast<std::size_t>(corners[corner])][axis] -
           mesh.vertices[static_cast<std::size_t>(corners[0])][axis];
  };
  if (mesh.dimension == 1) {
    return edge(1, 0);
  }
  const auto minor = [&](std::size_t first, std::size_t second) {
    return edge(1, first) * edge(2, second) - edge(1, second) * edge(2, first);
  };
  if (mesh.dimension == 2) {
    return minor(0, 1);
  }
  return edge(3, 2) * minor(0, 1) - edge(3, 1) * minor(0, 2) + edge(3, 0) * minor(1, 2);
}

Mesh with_positive_volumes(Mesh mesh) {
  for (std::size_t element = 0; element < mesh.element_count(); ++element) {
    if (signed_volume(mesh, element) < 0) {
      std::swap(mesh.elements[element][0], mesh.elements[element][1]);
    }
  }
  return mesh;
}

std::string element_name(const Mesh& mesh, std::size_t element) {
  if (element < mesh.element_numbers.size()) {
    return fmt::format("element {} of the file", mesh.element_numbers[element]);
  }
  const bool is_of_whole = element < mesh.places_in_whole.size();
  return fmt::format("element {}", is_of_whole ? mesh.places_in_whole[element]
                                               : static_cast<std::int64_t>(element));
}

std::string vertex_names(const Mesh& mesh, const int* vertices, std::size_t count) {
  const bool is_of_file = mesh.vertex_numbers.size() == mesh.vertices.size();
  std::string text = is_of_file ? "nodes " : "vertices ";
  for (std::size_t i = 0; i < count; ++i) {
    const bool is_known = is_of_file && vertices[i] >= 0 &&
                          static_cast<std::size_t>(vertices[i]) < mesh.vertex_numbers.size();
    text += fmt::format("{}{}", i == 0 ? "" : ", ",
                        is_known ? mesh.vertex_numbers[static_cast<std::size_t>(vertices[i])]
                                 : std::int64_t{vertices[i]});
  }
  return text + (is_of_file ? " of the file" : "");
}

std::uint64_t fingerprint(const Mesh& mesh) {
  StructuralHash hash;
  detail::add_bytes(hash, mesh.vertices.data(), mesh.vertices.size() * sizeof(Point));
  detail::add_bytes(hash, mesh.elements.data(), mesh.elements.size() * sizeof(mesh.elements[0]));
  detail::add_bytes(hash, mesh.twins.data(), mesh.twins.size() * sizeof(int));
  for (const BoundaryFace& face : mesh.boundary_faces) {
    detail::add_bytes(hash, face.vertices.data(), sizeof face.vertices);
    hash.add(mesh.boundary_tags[static_cast<std::size_t>(face.tag)]);
  }
  return hash.value();
}

std::vector<std::size_t> curve_order(const Mesh& mesh) {
  const std::vector<std::uint64_t> keys = curve_keys(mesh);
  std::vector<std::size_t> order(mesh.element_count());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t left, std::size_t right) { return keys[left] < keys[right]; });
  return order;
}

Mesh with_element_order(Mesh mesh, const std::vector<std::size_t>& order) {
  const auto elements = mesh.elements;
  const auto regions = mesh.element_regions;
  const auto numbers = mesh.element_numbers;
  const auto places = mesh.places_in_whole;
  for (std::size_t i = 0; i < order.size(); ++i) {
    mesh.elements[i] = elements[order[i]];
    if (!regions.empty()) {
      mesh.element_regions[i] = regions[order[i]];
    }
    if (!numbers.empty()) {
      mesh.element_numbers[i] = numbers[order[i]];
    }
    if (!places.empty()) {
      mesh.places_in_whole[i] = places[order[i]];
    }
  }
  return mesh;
}

Mesh ordered_along_curve(Mesh mesh) {
  const std::vector<std::size_t> order = curve_order(mesh);
  return with_element_order(std::move(mesh), order);
}

}  // namespace rtcg::dg
