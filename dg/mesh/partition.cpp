#include "rtcg/dg/mesh/partition.h"

#include <algorithm>
#include <cstdint>
#include <dlfcn.h>
#include <numeric>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/cgen/support/integer.h"

namespace rtcg::dg {
namespace {

// What we need of METIS 5, without its header: no build needs it.
// Source: metis.h of METIS 5.1.0
constexpr int metis_options = 40;
constexpr int metis_ok = 1;

struct Metis {
  using SetDefaults = int (*)(void* options);
  template <class Index>
  using PartGraph = int (*)(Index* vertices, Index* constraints, Index* starts, Index* neighbours,
                            Index* vertex_weights, Index* vertex_sizes, Index* edge_weights,
                            Index* parts, void* target_weights, void* imbalance, Index* options,
                            Index* cut, Index* part);

  std::string why_not{};
  void* part_graph = nullptr;
  bool is_wide = false;  ///< whether its indices have 64 bits, which is chosen when it is built
};

// Asks the library for its defaults, which are -1 everywhere, and sees how much it wrote.
bool has_wide_indices(Metis::SetDefaults set_defaults) {
  std::vector<std::int32_t> options(2 * metis_options, 0);
  set_defaults(options.data());
  return options[metis_options] != 0;
}

Metis open_metis() {
  Metis metis;
  for (const char* name : {"libmetis.so.5", "libmetis.so"}) {
    if (void* library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL)) {
      metis.part_graph = ::dlsym(library, "METIS_PartGraphKway");
      void* const set_defaults = ::dlsym(library, "METIS_SetDefaultOptions");
      if (metis.part_graph != nullptr && set_defaults != nullptr) {
        metis.is_wide = has_wide_indices(reinterpret_cast<Metis::SetDefaults>(set_defaults));
        metis.why_not.clear();
        return metis;
      }
      metis.why_not = fmt::format("'{}' is not METIS 5", name);
    }
  }
  if (metis.why_not.empty()) {
    metis.why_not = "there is no 'libmetis.so.5': Debian's package is libmetis5";
  }
  return metis;
}

const Metis& metis() {
  static const Metis opened = open_metis();
  return opened;
}

template <class Index>
std::vector<int> parts_by_metis(const Connectivity& connectivity, std::size_t elements,
                                int wanted) {
  std::vector<Index> starts = {0};
  std::vector<Index> neighbours;
  for (std::size_t element = 0; element < elements; ++element) {
    for (std::size_t face = 0; face < connectivity.faces; ++face) {
      const FaceLink& link = connectivity.link(element, face);
      if (!link.is_boundary()) {
        neighbours.push_back(link.element);
      }
    }
    starts.push_back(static_cast<Index>(neighbours.size()));
  }
  auto vertices = static_cast<Index>(elements);
  Index constraints = 1;
  Index parts = wanted;
  Index cut = 0;
  std::vector<Index> part(elements);
  const auto part_graph = reinterpret_cast<Metis::PartGraph<Index>>(metis().part_graph);
  const int status =
      part_graph(&vertices, &constraints, starts.data(), neighbours.data(), nullptr, nullptr,
                 nullptr, &parts, nullptr, nullptr, nullptr, &cut, part.data());
  if (status != metis_ok) {
    throw Unsupported("dg.partition.no_metis",
                      fmt::format("METIS refused a mesh of {} elements in {} parts with status {}",
                                  elements, wanted, status));
  }
  return {part.begin(), part.end()};
}

// Equal pieces of the curve.
std::vector<int> parts_by_curve(const Mesh& mesh, int parts) {
  const std::vector<std::size_t> order = curve_order(mesh);
  std::vector<int> part_of(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    part_of[order[i]] = static_cast<int>(i * static_cast<std::size_t>(parts) / order.size());
  }
  return part_of;
}

}  // namespace

const std::string& why_no_metis() {
  return metis().why_not;
}

std::vector<int> partition(const Mesh& mesh, const Connectivity& connectivity, int parts,
                           PartitionMethod method) {
  if (parts < 1 || static_cast<std::size_t>(parts) > mesh.element_count()) {
    throw InvalidInput("dg.partition.bad_count",
                       fmt::format("{} elements cannot be distributed over {} parts",
                                   mesh.element_count(), parts));
  }
  if (method == PartitionMethod::metis && !why_no_metis().empty()) {
    throw Unsupported("dg.partition.no_metis",
                      fmt::format("METIS cannot be used: {}", why_no_metis()));
  }
  if (parts == 1) {  // METIS takes no fewer than two
    return std::vector<int>(mesh.element_count(), 0);
  }
  if (method == PartitionMethod::curve || !why_no_metis().empty()) {
    return parts_by_curve(mesh, parts);
  }
  return metis().is_wide ? parts_by_metis<std::int64_t>(connectivity, mesh.element_count(), parts)
                         : parts_by_metis<std::int32_t>(connectivity, mesh.element_count(), parts);
}

std::size_t count_cut_faces(const Connectivity& connectivity, const std::vector<int>& part_of) {
  std::size_t count = 0;
  for (std::size_t side = 0; side < connectivity.links.size(); ++side) {
    const FaceLink& link = connectivity.links[side];
    if (!link.is_boundary() &&
        part_of[side / connectivity.faces] != part_of[static_cast<std::size_t>(link.element)]) {
      ++count;
    }
  }
  return count / 2;
}

Mesh ordered_by_parts(Mesh mesh, const std::vector<int>& part_of) {
  std::vector<std::size_t> order(mesh.element_count());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t left, std::size_t right) {
    return part_of[left] < part_of[right];
  });
  return with_element_order(std::move(mesh), order);
}

Mesh ordered_by_metis(Mesh mesh) {
  constexpr std::size_t elements_of_part = 64;
  // along the curve first: it decides the order within parts and among them
  mesh = ordered_along_curve(std::move(mesh));
  const auto parts = static_cast<int>(ceil_divide(mesh.element_count(), elements_of_part));
  std::vector<int> part_of =
      partition(mesh, find_connectivity(mesh), parts, PartitionMethod::metis);
  std::vector<int> number(static_cast<std::size_t>(parts), -1);
  int next = 0;
  for (int& part : part_of) {
    int& known = number[static_cast<std::size_t>(part)];
    known = known < 0 ? next++ : known;
    part = known;
  }
  return ordered_by_parts(std::move(mesh), part_of);
}

}  // namespace rtcg::dg
