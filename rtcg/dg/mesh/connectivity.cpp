#include "rtcg/dg/mesh/connectivity.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/dg/reference/reference_element.h"

namespace rtcg::dg {
namespace {

using FaceKey = std::array<int, 3>;

struct HashOfKey {
  std::size_t operator()(const FaceKey& key) const noexcept {
    std::uint64_t hash = 0;
    for (const int vertex : key) {
      hash = (hash ^ static_cast<std::uint32_t>(vertex)) * 0x9E3779B97F4A7C15ULL;
      hash ^= hash >> 29;
    }
    return hash;
  }
};

struct Place {
  std::size_t element;
  std::size_t face;
};

class Linker {
 public:
  explicit Linker(const Mesh& mesh)
      : mesh_(mesh), dimension_(static_cast<std::size_t>(mesh.dimension)) {
    result_.faces = mesh.face_count();
    result_.links.resize(mesh.element_count() * result_.faces);
  }

  Connectivity link() {
    check_vertices();
    open_.reserve(mesh_.element_count() * 2);
    for (std::size_t element = 0; element < mesh_.element_count(); ++element) {
      for (std::size_t face = 0; face < result_.faces; ++face) {
        add_face({element, face});
      }
    }
    for (const BoundaryFace& face : mesh_.boundary_faces) {
      add_tag(face);
    }
    return std::move(result_);
  }

 private:
  void check_vertices() const {
    const auto check = [&](int vertex, std::string_view what, std::size_t number) {
      if (vertex < 0 || static_cast<std::size_t>(vertex) >= mesh_.vertices.size()) {
        throw InvalidInput("dg.find_connectivity.bad_vertex",
                           fmt::format("{} {} has a vertex {}: there are {}, counted from 0", what,
                                       number, vertex, mesh_.vertices.size()));
      }
    };
    for (std::size_t i = 0; i < mesh_.elements.size(); ++i) {
      for (std::size_t v = 0; v <= dimension_; ++v) {
        check(mesh_.elements[i][v], "element", i);
      }
    }
    for (std::size_t i = 0; i < mesh_.boundary_faces.size(); ++i) {
      for (std::size_t v = 0; v < dimension_; ++v) {
        check(mesh_.boundary_faces[i].vertices[v], "boundary face", i);
      }
    }
  }

  // The vertices of a face in its own order.
  [[nodiscard]] FaceKey corners(const Place& place, bool use_twins) const {
    FaceKey key = {-1, -1, -1};
    const std::vector<int>& local = face_vertices(mesh_.dimension)[place.face];
    for (std::size_t i = 0; i < local.size(); ++i) {
      const int vertex = mesh_.elements[place.element][static_cast<std::size_t>(local[i])];
      key[i] = use_twins ? mesh_.twin(vertex) : vertex;
    }
    return key;
  }
  static FaceKey sorted(FaceKey key) {
    std::sort(key.begin(), key.end());
    return key;
  }

  void add_face(const Place& place) {
    const auto [entry, is_new] = open_.try_emplace(sorted(corners(place, true)), place);
    if (is_new) {
      return;
    }
    const Place other = entry->second;
    if (!link_at(other).is_boundary()) {
      throw InvalidInput(
          "dg.find_connectivity.shared_face",
          fmt::format("elements {}, {} and {} have one face in common: a face belongs to two at "
                      "most, and a periodic mesh needs three cells along the axis",
                      other.element, link_at(other).element, place.element));
    }
    join(place, other);
    join(other, place);
  }

  [[nodiscard]] FaceLink& link_at(const Place& place) {
    return result_.links[place.element * result_.faces + place.face];
  }

  void join(const Place& mine, const Place& other) {
    const FaceKey my_corners = corners(mine, true);
    const FaceKey other_corners = corners(other, true);
    std::vector<int> permutation;
    for (std::size_t i = 0; i < dimension_; ++i) {
      permutation.push_back(
          static_cast<int>(std::find(other_corners.begin(), other_corners.end(), my_corners[i]) -
                           other_corners.begin()));
    }
    const auto& all = face_permutations(mesh_.dimension);
    link_at(mine) = {static_cast<int>(other.element), static_cast<int>(other.face),
                     static_cast<int>(std::find(all.begin(), all.end(), permutation) - all.begin()),
                     -1};
  }

  void add_tag(const BoundaryFace& face) {
    FaceKey key = {-1, -1, -1};
    for (std::size_t i = 0; i < dimension_; ++i) {
      key[i] = mesh_.twin(face.vertices[i]);
    }
    const auto entry = open_.find(sorted(key));
    if (entry == open_.end()) {
      throw InvalidInput("dg.find_connectivity.stray_boundary_face",
                         fmt::format("the boundary face on vertices {} belongs to no element",
                                     fmt::join(face.vertices.begin(),
                                               face.vertices.begin() + mesh_.dimension, ", ")));
    }
    // a tagged face between two elements is an interface, and no boundary
    FaceLink& link = link_at(entry->second);
    if (link.is_boundary()) {
      link.boundary_tag = face.tag;
    }
  }

  const Mesh& mesh_;
  std::size_t dimension_;
  Connectivity result_;
  std::unordered_map<FaceKey, Place, HashOfKey> open_;
};

}  // namespace

Connectivity find_connectivity(const Mesh& mesh) {
  return Linker(mesh).link();
}

void check_boundary_coverage(const Mesh& mesh, const Connectivity& connectivity,
                             const std::set<std::string>& conditions) {
  for (const std::string& condition : conditions) {
    if (std::find(mesh.boundary_tags.begin(), mesh.boundary_tags.end(), condition) ==
        mesh.boundary_tags.end()) {
      throw InvalidInput("dg.check_boundary_coverage.unknown_tag",
                         fmt::format("there is a condition for the boundary '{}', but the mesh has "
                                     "'{}' only",
                                     condition, fmt::join(mesh.boundary_tags, "', '")));
    }
  }
  std::map<std::string, std::pair<int, std::size_t>> uncovered;
  for (std::size_t i = 0; i < connectivity.links.size(); ++i) {
    const FaceLink& link = connectivity.links[i];
    if (!link.is_boundary()) {
      continue;
    }
    const std::string tag = link.boundary_tag < 0
                                ? ""
                                : mesh.boundary_tags[static_cast<std::size_t>(link.boundary_tag)];
    if (link.boundary_tag < 0 || !conditions.contains(tag)) {
      auto& [count, first] = uncovered.try_emplace(tag, 0, i / connectivity.faces).first->second;
      ++count;
    }
  }
  std::string problem;
  for (const auto& [tag, place] : uncovered) {
    problem +=
        fmt::format("{}{} faces {}, the first of element {}", problem.empty() ? "" : "; ",
                    place.first, tag.empty() ? "without a tag" : "of '" + tag + "'", place.second);
  }
  if (!problem.empty()) {
    throw InvalidInput("dg.check_boundary_coverage.uncovered",
                       fmt::format("some of the boundary has no condition: {}", problem));
  }
}

}  // namespace rtcg::dg
