#include "rtcg/dg/mesh/mesh_part.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/dg/reference/reference_element.h"

namespace rtcg::dg {
namespace {

void check_parts(const Mesh& mesh, const std::vector<int>& part_of, int part, int parts) {
  if (part_of.size() != mesh.element_count() || part < 0 || part >= parts) {
    throw InvalidInput("dg.split_mesh.bad_parts",
                       fmt::format("part {} of {}, with a part for each of {} elements of {}: give "
                                   "one to each",
                                   part, parts, part_of.size(), mesh.element_count()));
  }
  for (std::size_t element = 0; element < part_of.size(); ++element) {
    if (part_of[element] < 0 || part_of[element] >= parts) {
      throw InvalidInput("dg.split_mesh.bad_parts",
                         fmt::format("{} is of part {}: there are {}, counted from 0",
                                     element_name(mesh, element), part_of[element], parts));
    }
  }
}

class Splitter {
 public:
  Splitter(const Mesh& mesh, const Connectivity& connectivity, const std::vector<int>& part_of,
           int part, int parts)
      : mesh_(mesh), connectivity_(connectivity), part_of_(part_of), part_(part) {
    MeshPart& known = result_.part;
    known.part = part;
    known.parts = parts;
    known.whole_elements = mesh.element_count();
    known.whole_fingerprint = fingerprint(mesh);
    for (const BoundaryFace& face : mesh.boundary_faces) {
      known.whole_boundary.push_back(mesh.vertices[static_cast<std::size_t>(face.vertices[0])]);
    }
  }

  SplitMesh split() {
    order_elements();
    number_elements();
    add_links();
    add_neighbours();
    result_.with_ghosts = mesh_of(result_.part.places);
    std::vector<std::int64_t> owned = result_.part.places;
    owned.resize(result_.part.owned);
    result_.mesh = mesh_of(owned);
    add_boundary();
    return std::move(result_);
  }

 private:
  [[nodiscard]] int part_of(const FaceLink& link) const {
    return part_of_[static_cast<std::size_t>(link.element)];
  }
  [[nodiscard]] bool is_remote(const FaceLink& link) const {
    return !link.is_boundary() && part_of(link) != part_;
  }

  // Elements without remote faces, others, ghosts.
  void order_elements() {
    MeshPart& part = result_.part;
    std::vector<std::int64_t> at_rim;
    std::set<std::pair<int, std::int64_t>> ghosts;
    for (std::size_t element = 0; element < mesh_.element_count(); ++element) {
      if (part_of_[element] != part_) {
        continue;
      }
      bool has_remote = false;
      for (std::size_t face = 0; face < connectivity_.faces; ++face) {
        const FaceLink& link = connectivity_.link(element, face);
        if (is_remote(link)) {
          has_remote = true;
          ghosts.insert({part_of(link), link.element});
        }
      }
      (has_remote ? at_rim : part.places).push_back(static_cast<std::int64_t>(element));
    }
    part.interior = part.places.size();
    part.places.insert(part.places.end(), at_rim.begin(), at_rim.end());
    part.owned = part.places.size();
    for (const auto& [of, element] : ghosts) {
      part.places.push_back(element);
    }
    part.ghosts = ghosts.size();
  }

  void number_elements() {
    numbers_.assign(mesh_.element_count(), 0);
    for (std::size_t i = 0; i < result_.part.places.size(); ++i) {
      numbers_[static_cast<std::size_t>(result_.part.places[i])] = static_cast<std::uint32_t>(i);
    }
  }

  void add_links() {
    result_.connectivity.faces = connectivity_.faces;
    result_.connectivity.links.reserve(result_.part.owned * connectivity_.faces);
    for (std::size_t i = 0; i < result_.part.owned; ++i) {
      const auto element = static_cast<std::size_t>(result_.part.places[i]);
      for (std::size_t face = 0; face < connectivity_.faces; ++face) {
        FaceLink link = connectivity_.link(element, face);
        if (!link.is_boundary()) {
          link.element = static_cast<int>(numbers_[static_cast<std::size_t>(link.element)]);
        }
        result_.connectivity.links.push_back(link);
      }
    }
  }

  void add_neighbours() {
    using Side = std::pair<std::int64_t, std::size_t>;  // element of the whole, face
    struct Sides {
      std::set<Side> sent;
      std::set<Side> received;
    };
    std::map<int, Sides> all;
    for (std::size_t i = 0; i < result_.part.owned; ++i) {
      const std::int64_t element = result_.part.places[i];
      for (std::size_t face = 0; face < connectivity_.faces; ++face) {
        const FaceLink& link = connectivity_.link(static_cast<std::size_t>(element), face);
        if (is_remote(link)) {
          Sides& sides = all[part_of(link)];
          sides.sent.insert({element, face});
          sides.received.insert({link.element, static_cast<std::size_t>(link.face)});
        }
      }
    }
    for (const auto& [part, sides] : all) {
      PartNeighbour neighbour;
      neighbour.part = part;
      number(sides.sent, neighbour.sent, neighbour.sent_elements);
      number(sides.received, neighbour.received, neighbour.received_elements);
      result_.part.neighbours.push_back(std::move(neighbour));
    }
  }

  void number(const std::set<std::pair<std::int64_t, std::size_t>>& from,
              std::vector<std::uint32_t>& sides, std::vector<std::uint32_t>& elements) const {
    for (const auto& [element, face] : from) {
      const std::uint32_t number = numbers_[static_cast<std::size_t>(element)];
      sides.push_back(number * static_cast<std::uint32_t>(connectivity_.faces) +
                      static_cast<std::uint32_t>(face));
      if (elements.empty() || elements.back() != number) {
        elements.push_back(number);
      }
    }
  }

  // With the vertices that its elements have, in their order in the whole.
  [[nodiscard]] Mesh mesh_of(const std::vector<std::int64_t>& places) const {
    constexpr int absent = -1;
    std::vector<int> own(mesh_.vertices.size(), absent);  // [vertex of the whole]
    for (const std::int64_t place : places) {
      for (std::size_t i = 0; i < mesh_.face_count(); ++i) {
        const int vertex = mesh_.elements[static_cast<std::size_t>(place)][i];
        own[static_cast<std::size_t>(vertex)] = 0;
      }
    }
    Mesh result;
    result.dimension = mesh_.dimension;
    result.boundary_tags = mesh_.boundary_tags;
    result.regions = mesh_.regions;
    result.places_in_whole = places;
    for (std::size_t vertex = 0; vertex < own.size(); ++vertex) {
      if (own[vertex] == absent) {
        continue;
      }
      own[vertex] = static_cast<int>(result.vertices.size());
      result.vertices.push_back(mesh_.vertices[vertex]);
      if (!mesh_.vertex_numbers.empty()) {
        result.vertex_numbers.push_back(mesh_.vertex_numbers[vertex]);
      }
    }
    result.elements.reserve(places.size());
    for (const std::int64_t place : places) {
      const auto element = static_cast<std::size_t>(place);
      std::array<int, 4> corners = mesh_.elements[element];
      for (std::size_t i = 0; i < mesh_.face_count(); ++i) {
        corners[i] = own[static_cast<std::size_t>(corners[i])];
      }
      result.elements.push_back(corners);
      if (!mesh_.element_regions.empty()) {
        result.element_regions.push_back(mesh_.element_regions[element]);
      }
      if (!mesh_.element_numbers.empty()) {
        result.element_numbers.push_back(mesh_.element_numbers[element]);
      }
    }
    return result;
  }

  void add_boundary() {
    const std::vector<std::vector<int>>& corners = face_vertices(mesh_.dimension);
    for (std::size_t side = 0; side < result_.connectivity.links.size(); ++side) {
      const FaceLink& link = result_.connectivity.links[side];
      if (link.is_boundary() && link.boundary_tag >= 0) {
        BoundaryFace face;
        face.tag = link.boundary_tag;
        const std::vector<int>& local = corners[side % connectivity_.faces];
        for (std::size_t i = 0; i < local.size(); ++i) {
          face.vertices[i] =
              result_.mesh.elements[side / connectivity_.faces][static_cast<std::size_t>(local[i])];
        }
        result_.mesh.boundary_faces.push_back(face);
      }
    }
  }

  const Mesh& mesh_;
  const Connectivity& connectivity_;
  const std::vector<int>& part_of_;
  int part_;
  SplitMesh result_;
  std::vector<std::uint32_t> numbers_;  // [place in the whole]: in the part, if it is there
};

}  // namespace

SplitMesh split_mesh(const Mesh& mesh, const Connectivity& connectivity,
                     const std::vector<int>& part_of, int part, int parts) {
  check_parts(mesh, part_of, part, parts);
  return Splitter(mesh, connectivity, part_of, part, parts).split();
}

}  // namespace rtcg::dg
