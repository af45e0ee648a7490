#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace rtcg::dg {

using Point = std::array<double, 3>;

/// A face on the boundary of a mesh, and the condition that holds there.
struct BoundaryFace {
  std::array<int, 3> vertices{-1, -1, -1};  ///< as many as the dimension
  int tag = 0;                              ///< index into Mesh::boundary_tags
};

/// Straight-sided simplices that cover a domain.
struct Mesh {
  int dimension = 3;
  std::vector<Point> vertices{};               ///< coordinates beyond the dimension are 0
  std::vector<std::array<int, 4>> elements{};  ///< dimension + 1 vertices, the others -1
  std::vector<BoundaryFace> boundary_faces{};
  std::vector<std::string> boundary_tags{};  ///< the names of boundary conditions
  std::vector<int> element_regions{};        ///< index into regions; empty or one for each element
  std::vector<std::string> regions{};        ///< the names of materials
  /// For each vertex the representative of it and its periodic images; empty without periodicity.
  std::vector<int> twins{};
  /// The names of vertices and elements in the mesh's file, for messages; empty: none.
  std::vector<std::int64_t> vertex_numbers{};
  std::vector<std::int64_t> element_numbers{};
  /// The places of the elements in the mesh that this one is a part of; empty: it is the whole.
  std::vector<std::int64_t> places_in_whole{};

  [[nodiscard]] std::size_t element_count() const noexcept { return elements.size(); }
  [[nodiscard]] std::size_t face_count() const noexcept {
    return static_cast<std::size_t>(dimension) + 1;
  }
  /// The representative of `vertex` and its periodic images.
  [[nodiscard]] int twin(int vertex) const {
    return twins.empty() ? vertex : twins[static_cast<std::size_t>(vertex)];
  }
};

/// The same mesh with the first two vertices of elements exchanged where their volume was negative.
[[nodiscard]] Mesh with_positive_volumes(Mesh mesh);

/// Six times the volume of a tetrahedron, twice the area of a triangle, or the length of an
/// interval; negative when the vertices run the other way round.
[[nodiscard]] double signed_volume(const Mesh& mesh, std::size_t element);

/// The name of an element in messages: `element 5`, or `element 1207 of the file`.
[[nodiscard]] std::string element_name(const Mesh& mesh, std::size_t element);
/// The names of vertices in messages: `vertices 3, 5`, or `nodes 17, 4 of the file`.
[[nodiscard]] std::string vertex_names(const Mesh& mesh, const int* vertices, std::size_t count);

/// Of all that decides what the numbers of a state on the mesh mean: equal meshes have equal ones.
[[nodiscard]] std::uint64_t fingerprint(const Mesh& mesh);

/// The numbers of the elements along a Hilbert curve through their centres.
[[nodiscard]] std::vector<std::size_t> curve_order(const Mesh& mesh);

/// The same mesh with element `order[i]` at place i.
[[nodiscard]] Mesh with_element_order(Mesh mesh, const std::vector<std::size_t>& order);

/// The elements in the order of a Hilbert curve through their centres: neighbours are then close in
/// memory.
[[nodiscard]] Mesh ordered_along_curve(Mesh mesh);

}  // namespace rtcg::dg
