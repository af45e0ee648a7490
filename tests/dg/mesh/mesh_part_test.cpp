#include "rtcg/dg/mesh/mesh_part.h"

#include <algorithm>
#include <set>

#include "rtcg/dg/mesh/box_mesh.h"
#include "rtcg/dg/mesh/partition.h"
#include "tests/dg/mesh/box_examples.h"
#include "tests/support/expect_error.h"

namespace rtcg::dg {
namespace {

using testing::box;

std::vector<SplitMesh> all_parts(const Mesh& mesh, const std::vector<int>& part_of, int parts) {
  const Connectivity connectivity = find_connectivity(mesh);
  std::vector<SplitMesh> result;
  for (int part = 0; part < parts; ++part) {
    result.push_back(split_mesh(mesh, connectivity, part_of, part, parts));
  }
  return result;
}

// Parts of very different sizes, mixed up; part 2 has no elements.
std::vector<int> uneven_parts(std::size_t elements) {
  std::vector<int> part_of(elements, 0);
  for (std::size_t i = 0; i < elements; ++i) {
    part_of[i] = i % 7 == 0 ? 1 : i % 5 == 1 ? 3 : 0;
  }
  return part_of;
}

TEST(SplitMesh, GivesEachElementToOnePart) {
  for (int dimension = 1; dimension <= 3; ++dimension) {
    const Mesh mesh = make_box_mesh(box(dimension, 4, 0.2));
    const std::vector<int> part_of = uneven_parts(mesh.element_count());
    std::multiset<std::int64_t> places;
    for (const SplitMesh& each : all_parts(mesh, part_of, 4)) {
      const MeshPart& part = each.part;
      EXPECT_EQ(part.owned, each.mesh.element_count());
      EXPECT_EQ(part.owned + part.ghosts, each.with_ghosts.element_count());
      EXPECT_EQ(part.places.size(), part.owned + part.ghosts);
      EXPECT_EQ(part.whole_elements, mesh.element_count());
      EXPECT_EQ(part.whole_fingerprint, fingerprint(mesh));
      places.insert(part.places.begin(),
                    part.places.begin() + static_cast<std::ptrdiff_t>(part.owned));
      for (std::size_t i = 0; i < part.places.size(); ++i) {
        const auto place = static_cast<std::size_t>(part.places[i]);
        EXPECT_EQ(part_of[place] == part.part, i < part.owned);
        for (std::size_t corner = 0; corner < mesh.face_count(); ++corner) {
          const auto vertex = [&](const Mesh& of, std::size_t element) {
            return of.vertices[static_cast<std::size_t>(of.elements[element][corner])];
          };
          EXPECT_EQ(vertex(each.with_ghosts, i), vertex(mesh, place));
        }
      }
    }
    EXPECT_EQ(places.size(), mesh.element_count());
    EXPECT_EQ(std::set<std::int64_t>(places.begin(), places.end()).size(), mesh.element_count());
  }
}

TEST(SplitMesh, LinksPartsAsTheWholeMeshDoes) {
  for (const bool is_periodic : {false, true}) {
    const Mesh mesh = make_box_mesh(box(3, 3, 0.2, is_periodic));
    const Connectivity whole = find_connectivity(mesh);
    for (const SplitMesh& each : all_parts(mesh, uneven_parts(mesh.element_count()), 4)) {
      const MeshPart& part = each.part;
      ASSERT_EQ(each.connectivity.links.size(), part.owned * whole.faces);
      for (std::size_t i = 0; i < part.owned; ++i) {
        bool has_ghosts = false;
        for (std::size_t face = 0; face < whole.faces; ++face) {
          const FaceLink& found = each.connectivity.link(i, face);
          const FaceLink& expected = whole.link(static_cast<std::size_t>(part.places[i]), face);
          EXPECT_EQ(found.is_boundary(), expected.is_boundary());
          EXPECT_EQ(found.boundary_tag, expected.boundary_tag);
          EXPECT_EQ(found.face, expected.face);
          EXPECT_EQ(found.permutation, expected.permutation);
          if (!found.is_boundary()) {
            EXPECT_EQ(part.places[static_cast<std::size_t>(found.element)], expected.element);
            has_ghosts = has_ghosts || static_cast<std::size_t>(found.element) >= part.owned;
          }
        }
        EXPECT_EQ(has_ghosts, i >= part.interior);
      }
    }
  }
}

// What one part sends is what the other receives, side by side, without an exchange of numbers.
TEST(SplitMesh, OrdersSidesAlikeOnBothParts) {
  const Mesh mesh = make_box_mesh(box(3, 4, 0.2, true));
  const std::vector<int> part_of = partition(mesh, find_connectivity(mesh), 5);
  const std::vector<SplitMesh> parts = all_parts(mesh, part_of, 5);
  std::size_t sides = 0;
  for (const SplitMesh& each : parts) {
    for (const PartNeighbour& neighbour : each.part.neighbours) {
      const MeshPart& other = parts[static_cast<std::size_t>(neighbour.part)].part;
      const auto back =
          std::find_if(other.neighbours.begin(), other.neighbours.end(),
                       [&](const PartNeighbour& of) { return of.part == each.part.part; });
      ASSERT_NE(back, other.neighbours.end());
      ASSERT_EQ(neighbour.sent.size(), back->received.size());
      sides += neighbour.sent.size();
      for (std::size_t i = 0; i < neighbour.sent.size(); ++i) {
        EXPECT_EQ(neighbour.sent[i] % 4, back->received[i] % 4);
        EXPECT_EQ(each.part.places[neighbour.sent[i] / 4], other.places[back->received[i] / 4]);
        EXPECT_LT(neighbour.sent[i] / 4, each.part.owned);
        EXPECT_GE(back->received[i] / 4, other.owned);
      }
      ASSERT_EQ(neighbour.sent_elements.size(), back->received_elements.size());
      for (std::size_t i = 0; i < neighbour.sent_elements.size(); ++i) {
        EXPECT_EQ(each.part.places[neighbour.sent_elements[i]],
                  other.places[back->received_elements[i]]);
      }
    }
  }
  EXPECT_EQ(sides, 2 * count_cut_faces(find_connectivity(mesh), part_of));
}

TEST(SplitMesh, KeepsTagsRegionsAndNames) {
  Mesh mesh = make_box_mesh(box(2, 3));
  mesh.regions = {"air", "glass"};
  for (std::size_t i = 0; i < mesh.element_count(); ++i) {
    mesh.element_regions.push_back(static_cast<int>(i % 2));
    mesh.element_numbers.push_back(static_cast<std::int64_t>(100 + i));
  }
  for (std::size_t i = 0; i < mesh.vertices.size(); ++i) {
    mesh.vertex_numbers.push_back(static_cast<std::int64_t>(1000 + i));
  }
  std::size_t boundary_faces = 0;
  for (const SplitMesh& each : all_parts(mesh, uneven_parts(mesh.element_count()), 4)) {
    EXPECT_EQ(each.mesh.boundary_tags, mesh.boundary_tags);
    EXPECT_EQ(each.mesh.regions, mesh.regions);
    EXPECT_EQ(each.part.whole_boundary.size(), mesh.boundary_faces.size());
    for (std::size_t i = 0; i < each.part.owned; ++i) {
      EXPECT_EQ(each.mesh.element_regions[i], each.part.places[i] % 2);
      EXPECT_EQ(element_name(each.mesh, i),
                element_name(mesh, static_cast<std::size_t>(each.part.places[i])));
    }
    for (const BoundaryFace& face : each.mesh.boundary_faces) {
      const auto nodes = [](const Mesh& of, const BoundaryFace& on) {
        return std::set<std::int64_t>{of.vertex_numbers[static_cast<std::size_t>(on.vertices[0])],
                                      of.vertex_numbers[static_cast<std::size_t>(on.vertices[1])]};
      };
      const auto same = [&](const BoundaryFace& of) {
        return of.tag == face.tag && nodes(mesh, of) == nodes(each.mesh, face);
      };
      EXPECT_TRUE(std::any_of(mesh.boundary_faces.begin(), mesh.boundary_faces.end(), same));
    }
    boundary_faces += each.mesh.boundary_faces.size();
  }
  EXPECT_EQ(boundary_faces, mesh.boundary_faces.size());
  mesh.element_numbers.clear();
  const SplitMesh last = all_parts(mesh, uneven_parts(mesh.element_count()), 4)[3];
  EXPECT_EQ(element_name(last.mesh, 0), "element " + std::to_string(last.part.places[0]));
}

TEST(SplitMesh, RefusesPartsThatDoNotExist) {
  const Mesh mesh = make_box_mesh(box(1, 3));
  const Connectivity connectivity = find_connectivity(mesh);
  EXPECT_ERROR("dg.split_mesh.bad_parts", split_mesh(mesh, connectivity, {0, 1}, 0, 2));
  EXPECT_ERROR("dg.split_mesh.bad_parts", split_mesh(mesh, connectivity, {0, 1, 2}, 0, 2));
  EXPECT_ERROR("dg.split_mesh.bad_parts", split_mesh(mesh, connectivity, {0, 1, -1}, 0, 2));
  EXPECT_ERROR("dg.split_mesh.bad_parts", split_mesh(mesh, connectivity, {0, 1, 1}, 2, 2));
}

}  // namespace
}  // namespace rtcg::dg
