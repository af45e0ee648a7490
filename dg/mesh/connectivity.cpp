#include "rtcg/dg/mesh/connectivity.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/dg/reference/reference_element.h"

namespace rtcg::dg {
namespace {

using FaceKey = std::array<int, 3>;

struct Place {
  std::size_t element;
  std::size_t face;
};

// Faces with the same vertices are in one bucket, that of their smallest vertex; a bucket has about
// ten faces, so a linear search is fastest.
class Linker {
 public:
  explicit Linker(const Mesh& mesh)
      : mesh_(mesh),
        dimension_(static_cast<std::size_t>(mesh.dimension)),
        local_(face_vertices(mesh.dimension)) {
    result_.faces = mesh.face_count();
    result_.links.resize(mesh.element_count() * result_.faces);
  }

  Connectivity link() {
    check_vertices();
    fill_buckets();
    for (std::size_t vertex = 0; vertex < mesh_.vertices.size(); ++vertex) {
      match_bucket(vertex);
    }
    for (const BoundaryFace& face : mesh_.boundary_faces) {
      add_tag(face);
    }
    return std::move(result_);
  }

 private:
  struct Side {
    FaceKey key{};           ///< its vertices, ascending
    std::size_t number = 0;  ///< element * faces + face
  };

  void check_vertices() const {
    // texts are made where they are needed: there are millions of vertices to check
    const auto check = [&](int vertex, const auto& name) {
      if (vertex < 0 || static_cast<std::size_t>(vertex) >= mesh_.vertices.size()) {
        throw InvalidInput("dg.find_connectivity.bad_vertex",
                           fmt::format("{} has a vertex {}: there are {}, counted from 0", name(),
                                       vertex, mesh_.vertices.size()));
      }
    };
    for (std::size_t i = 0; i < mesh_.elements.size(); ++i) {
      for (std::size_t v = 0; v <= dimension_; ++v) {
        check(mesh_.elements[i][v], [i] { return fmt::format("element {}", i); });
      }
    }
    for (std::size_t i = 0; i < mesh_.boundary_faces.size(); ++i) {
      for (std::size_t v = 0; v < dimension_; ++v) {
        check(mesh_.boundary_faces[i].vertices[v],
              [i] { return fmt::format("boundary face {}", i); });
      }
    }
    for (const int twin : mesh_.twins) {
      check(twin, [] { return "the list of periodic vertices"; });
    }
    check_lengths();
  }

  // What is given for each vertex, element or face is there for each, and within its list.
  void check_lengths() const {
    const auto check = [](const char* what, std::size_t found, std::size_t right) {
      if (found != 0 && found != right) {
        throw InvalidInput(
            "dg.find_connectivity.bad_list",
            fmt::format("the mesh has {} {} instead of none or {}", found, what, right));
      }
    };
    check("periodic vertices", mesh_.twins.size(), mesh_.vertices.size());
    check("regions of elements", mesh_.element_regions.size(), mesh_.elements.size());
    for (const BoundaryFace& face : mesh_.boundary_faces) {
      if (face.tag < 0 || static_cast<std::size_t>(face.tag) >= mesh_.boundary_tags.size()) {
        throw InvalidInput("dg.find_connectivity.bad_list",
                           fmt::format("the boundary face on {} has the tag {}: there are {}, "
                                       "counted from 0",
                                       vertex_names(mesh_, face.vertices.data(), dimension_),
                                       face.tag, mesh_.boundary_tags.size()));
      }
    }
  }

  // The representatives of a face's vertices, in the face's order.
  [[nodiscard]] FaceKey corners(const Place& place) const {
    FaceKey key = {-1, -1, -1};
    const std::vector<int>& local = local_[place.face];
    for (std::size_t i = 0; i < dimension_; ++i) {
      key[i] = mesh_.twin(mesh_.elements[place.element][static_cast<std::size_t>(local[i])]);
    }
    return key;
  }
  [[nodiscard]] FaceKey sorted(FaceKey key) const {
    std::sort(key.begin(), key.begin() + static_cast<std::ptrdiff_t>(dimension_));
    return key;
  }
  [[nodiscard]] Place place_of(std::size_t number) const {
    return {number / result_.faces, number % result_.faces};
  }

  void fill_buckets() {
    std::vector<Side> sides(result_.links.size());
    first_.assign(mesh_.vertices.size() + 1, 0);
    for (std::size_t number = 0; number < sides.size(); ++number) {
      sides[number] = {sorted(corners(place_of(number))), number};
      ++first_[static_cast<std::size_t>(sides[number].key[0]) + 1];
    }
    for (std::size_t vertex = 0; vertex < mesh_.vertices.size(); ++vertex) {
      first_[vertex + 1] += first_[vertex];
    }
    std::vector<std::size_t> next(first_.begin(), first_.end() - 1);
    sides_.resize(sides.size());
    for (const Side& side : sides) {
      sides_[next[static_cast<std::size_t>(side.key[0])]++] = side;
    }
  }

  void match_bucket(std::size_t vertex) {
    for (std::size_t i = first_[vertex]; i < first_[vertex + 1]; ++i) {
      for (std::size_t j = first_[vertex]; j < i; ++j) {
        if (sides_[j].key == sides_[i].key) {
          meet(place_of(sides_[i].number), place_of(sides_[j].number));
          break;
        }
      }
    }
  }

  void meet(const Place& place, const Place& other) {
    if (!link_at(other).is_boundary()) {
      throw InvalidInput(
          "dg.find_connectivity.shared_face",
          fmt::format("{}, {} and {} have one face in common: a face belongs to two at "
                      "most, and a periodic mesh needs three cells along the axis",
                      element_name(mesh_, other.element),
                      element_name(mesh_, static_cast<std::size_t>(link_at(other).element)),
                      element_name(mesh_, place.element)));
    }
    join(place, other);
    join(other, place);
  }

  [[nodiscard]] FaceLink& link_at(const Place& place) {
    return result_.links[place.element * result_.faces + place.face];
  }

  void join(const Place& mine, const Place& other) {
    const FaceKey my_corners = corners(mine);
    const FaceKey other_corners = corners(other);
    std::array<int, 3> permutation{};
    for (std::size_t i = 0; i < dimension_; ++i) {
      permutation[i] =
          static_cast<int>(std::find(other_corners.begin(), other_corners.end(), my_corners[i]) -
                           other_corners.begin());
    }
    const auto& all = face_permutations(mesh_.dimension);
    const auto same = std::find_if(all.begin(), all.end(), [&](const std::vector<int>& each) {
      return std::equal(each.begin(), each.end(), permutation.begin());
    });
    link_at(mine) = {static_cast<int>(other.element), static_cast<int>(other.face),
                     static_cast<int>(same - all.begin()), -1};
  }

  void add_tag(const BoundaryFace& face) {
    FaceKey key = {-1, -1, -1};
    for (std::size_t i = 0; i < dimension_; ++i) {
      key[i] = mesh_.twin(face.vertices[i]);
    }
    key = sorted(key);
    const auto vertex = static_cast<std::size_t>(key[0]);
    const auto end = sides_.begin() + static_cast<std::ptrdiff_t>(first_[vertex + 1]);
    const auto side = std::find_if(sides_.begin() + static_cast<std::ptrdiff_t>(first_[vertex]),
                                   end, [&](const Side& each) { return each.key == key; });
    if (side == end) {
      throw InvalidInput("dg.find_connectivity.stray_boundary_face",
                         fmt::format("the boundary face on {} belongs to no element",
                                     vertex_names(mesh_, face.vertices.data(), dimension_)));
    }
    // a tagged face between two elements is an interface, and no boundary
    FaceLink& link = link_at(place_of(side->number));
    if (link.is_boundary()) {
      if (link.boundary_tag >= 0 && link.boundary_tag != face.tag) {
        const auto tag = [&](int number) -> const std::string& {
          return mesh_.boundary_tags[static_cast<std::size_t>(number)];
        };
        throw InvalidInput("dg.find_connectivity.two_tags",
                           fmt::format("the boundary face on {} is of '{}' and of '{}': only one "
                                       "condition can hold there",
                                       vertex_names(mesh_, face.vertices.data(), dimension_),
                                       tag(link.boundary_tag), tag(face.tag)));
      }
      link.boundary_tag = face.tag;
    }
  }

  const Mesh& mesh_;
  std::size_t dimension_;
  const std::vector<std::vector<int>>& local_;
  Connectivity result_;
  std::vector<std::size_t> first_;  // [vertex]: where its bucket begins in sides_
  std::vector<Side> sides_;
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
    problem += fmt::format("{}{} {} {}, the first of {}", problem.empty() ? "" : "; ", place.first,
                           place.first == 1 ? "face" : "faces",
                           tag.empty() ? "without a tag" : "of '" + tag + "'",
                           element_name(mesh, place.second));
  }
  if (!problem.empty()) {
    throw InvalidInput("dg.check_boundary_coverage.uncovered",
                       fmt::format("some of the boundary has no condition: {}", problem));
  }
}

}  // namespace rtcg::dg
