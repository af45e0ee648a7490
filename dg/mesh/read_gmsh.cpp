#include "rtcg/dg/mesh/read_gmsh.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <numeric>
#include <sstream>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/dg/mesh/gmsh_stream.h"

namespace rtcg::dg {
namespace {

using detail::GmshStream;

struct ElementType {
  int dimension;
  int nodes;
  int order;
};

// The simplices among Gmsh's element types, straight and curved. Vertices come first in all.
const std::map<std::int64_t, ElementType>& element_types() {
  static const std::map<std::int64_t, ElementType> types = {
      {15, {0, 1, 1}},  {1, {1, 2, 1}},   {8, {1, 3, 2}},   {26, {1, 4, 3}},
      {27, {1, 5, 4}},  {28, {1, 6, 5}},  {2, {2, 3, 1}},   {9, {2, 6, 2}},
      {21, {2, 10, 3}}, {23, {2, 15, 4}}, {25, {2, 21, 5}}, {4, {3, 4, 1}},
      {11, {3, 10, 2}}, {29, {3, 20, 3}}, {30, {3, 35, 4}}, {31, {3, 56, 5}}};
  return types;
}

using Groups = std::array<std::int64_t, 2>;  // 0: no group

struct Simplex {
  std::array<std::int64_t, 4> nodes{};
  std::int64_t number = 0;       // in the file
  std::int64_t group = 0;        // physical; 0 where there is none
  std::int64_t other_group = 0;  // a second one
};

class GmshReader {
 public:
  GmshReader(std::string_view bytes, const std::string& name, const GmshOptions& options)
      : in_(bytes, name), name_(name), options_(options) {}

  Mesh read() {
    read_format();
    while (!in_.is_at_end()) {
      const std::string_view section = in_.word();
      in_.finish_line();
      read_section(section);
    }
    return assemble();
  }

 private:
  void read_format() {
    const std::string_view section = in_.word();
    if (section != "$MeshFormat") {
      in_.fail("dg.read_gmsh.syntax", "an MSH file begins with '$MeshFormat', which is missing");
    }
    const std::string version(in_.word());
    const bool is_known = version == "4.1" || version == "2.2" || version == "2" ||
                          version == "2.1" || version == "2.0";
    if (!is_known) {
      throw Unsupported("dg.read_gmsh.version",
                        fmt::format("the file is of MSH version '{}'{}: versions 4.1 and 2.2 can "
                                    "be read, which Gmsh saves with -format msh41 and msh22",
                                    version.substr(0, 40), in_.where()));
    }
    is_old_ = version[0] == '2';
    const std::int64_t mode = in_.text_integer();
    const std::int64_t size_bytes = in_.text_integer();
    if (mode < 0 || mode > 1 || size_bytes != 8) {
      in_.fail(
          "dg.read_gmsh.syntax",
          fmt::format("the file type is {} and a number takes {} bytes: they must be 0 or 1, and 8",
                      mode, size_bytes));
    }
    if (mode == 1) {
      in_.finish_line();
      in_.is_binary = true;
      const std::int64_t one = in_.integer(4);
      in_.is_swapped = one == 0x01000000;
      if (one != 1 && !in_.is_swapped) {
        in_.fail("dg.read_gmsh.syntax", "the number 1, which shows the byte order, is missing");
      }
    }
    in_.end_section("$MeshFormat");
  }

  void read_section(std::string_view section) {
    if (section == "$PhysicalNames") {
      read_names();
    } else if (section == "$Entities" && !is_old_) {
      read_entities(false);
    } else if (section == "$PartitionedEntities" && !is_old_) {
      read_entities(true);
    } else if (section == "$Nodes") {
      is_old_ ? read_old_nodes() : read_nodes();
    } else if (section == "$Elements") {
      is_old_ ? read_old_elements() : read_elements();
    } else if (section == "$Periodic") {
      is_old_ ? read_old_periodic() : read_periodic();
    } else if (section.starts_with("$") && section.size() > 1) {
      in_.skip_section(section);
      return;
    } else {
      in_.fail("dg.read_gmsh.syntax",
               fmt::format("found '{}' instead of a section",
                           section.size() > 40 ? section.substr(0, 40) : section));
    }
    in_.end_section(section);
  }

  void read_names() {
    for (std::int64_t left = in_.text_count(6); left > 0; --left) {
      const std::int64_t dimension = in_.text_integer();
      const std::int64_t group = in_.text_integer();
      names_[{dimension, group}] = in_.quoted();
    }
  }

  // ---- version 4.1 -----------------------------------------------------------------------------

  // The parts of entities in a partitioned mesh have their own tags and groups.
  void read_entities(bool are_parts) {
    if (are_parts) {
      static_cast<void>(in_.integer(8));
      for (std::int64_t ghosts = in_.count(8, 8); ghosts > 0; --ghosts) {
        static_cast<void>(in_.integer(4));
        static_cast<void>(in_.integer(4));
      }
    }
    std::array<std::int64_t, 4> counts{};
    for (std::int64_t& count : counts) {
      count = in_.count(8, 28);
    }
    for (int dimension = 0; dimension < 4; ++dimension) {
      for (std::int64_t i = 0; i < counts[static_cast<std::size_t>(dimension)]; ++i) {
        const std::int64_t tag = in_.integer(4);
        if (are_parts) {
          static_cast<void>(in_.integer(4));
          static_cast<void>(in_.integer(4));
          for (std::int64_t left = in_.count(8, 4); left > 0; --left) {
            static_cast<void>(in_.integer(4));
          }
        }
        for (int box = 0; box < (dimension == 0 ? 3 : 6); ++box) {
          static_cast<void>(in_.real());
        }
        Groups groups{};
        for (std::int64_t left = in_.count(8, 4); left > 0; --left) {
          // the sign of a physical group is its orientation
          const std::int64_t each = std::abs(in_.integer(4));
          std::int64_t& place = groups[0] == 0 ? groups[0] : groups[1];
          place = each != groups[0] ? each : place;
        }
        for (std::int64_t left = dimension == 0 ? 0 : in_.count(8, 4); left > 0; --left) {
          static_cast<void>(in_.integer(4));
        }
        entity_groups_[{dimension, tag}] = groups;
      }
    }
  }

  void read_nodes() {
    const std::int64_t blocks = in_.count(8, 20);
    static_cast<void>(in_.count(8, 24));
    static_cast<void>(in_.integer(8));
    static_cast<void>(in_.integer(8));
    for (std::int64_t block = 0; block < blocks; ++block) {
      const std::int64_t dimension = in_.integer(4);
      static_cast<void>(in_.integer(4));
      const bool is_parametric = in_.integer(4) != 0;
      const std::int64_t count = in_.count(8, 32);
      std::vector<std::int64_t> tags;
      for (std::int64_t i = 0; i < count; ++i) {
        tags.push_back(in_.integer(8));
      }
      for (const std::int64_t tag : tags) {
        add_node(tag);
        for (std::int64_t i = 0; is_parametric && i < std::min<std::int64_t>(dimension, 3); ++i) {
          static_cast<void>(in_.real());
        }
      }
    }
  }

  void add_node(std::int64_t tag) {
    Point point{};
    for (double& coordinate : point) {
      coordinate = in_.real();
    }
    if (!node_numbers_.emplace(tag, nodes_.size()).second) {
      in_.fail("dg.read_gmsh.syntax", fmt::format("node {} is there twice", tag));
    }
    nodes_.push_back(point);
    node_tags_.push_back(tag);
  }

  void read_elements() {
    const std::int64_t blocks = in_.count(8, 20);
    static_cast<void>(in_.count(8, 16));
    static_cast<void>(in_.integer(8));
    static_cast<void>(in_.integer(8));
    for (std::int64_t block = 0; block < blocks; ++block) {
      const std::int64_t dimension = in_.integer(4);
      const std::int64_t entity = in_.integer(4);
      const ElementType type = type_of(in_.integer(4));
      Groups groups{};
      if (!entity_groups_.empty()) {
        const auto found = entity_groups_.find({dimension, entity});
        if (found == entity_groups_.end()) {
          in_.fail("dg.read_gmsh.unknown_entity",
                   fmt::format("elements are on entity {} of dimension {}, which '$Entities' does "
                               "not have",
                               entity, dimension));
        }
        groups = found->second;
      }
      for (std::int64_t left = in_.count(8, 8 * (1 + type.nodes)); left > 0; --left) {
        const std::int64_t number = in_.integer(8);
        add_element(type, number, groups, 8);
      }
    }
  }

  void read_periodic() {
    for (std::int64_t links = in_.count(8, 28); links > 0; --links) {
      for (int i = 0; i < 3; ++i) {
        static_cast<void>(in_.integer(4));
      }
      for (std::int64_t affine = in_.count(8, 8); affine > 0; --affine) {
        static_cast<void>(in_.real());
      }
      for (std::int64_t pairs = in_.count(8, 16); pairs > 0; --pairs) {
        const std::int64_t node = in_.integer(8);
        add_twins(node, in_.integer(8));
      }
    }
  }

  // ---- version 2 -------------------------------------------------------------------------------

  void read_old_nodes() {
    const std::int64_t count = in_.text_count(28);
    in_.finish_line();
    for (std::int64_t i = 0; i < count; ++i) {
      add_node(in_.integer(4));
    }
  }

  void read_old_elements() {
    const std::int64_t count = in_.text_count(8);
    in_.finish_line();
    for (std::int64_t done = 0; done < count;) {
      // a binary file has a header for a run of elements; a text has it for each element
      std::int64_t number = in_.is_binary ? 0 : in_.integer(4);
      const ElementType type = type_of(in_.integer(4));
      const std::int64_t run = in_.is_binary ? in_.count(4, 8) : 1;
      const std::int64_t tags = in_.count(4, 4);
      if (run == 0) {
        in_.fail("dg.read_gmsh.syntax", "a run of no elements");
      }
      for (std::int64_t i = 0; i < run; ++i) {
        number = in_.is_binary ? in_.integer(4) : number;
        std::int64_t group = 0;
        for (std::int64_t tag = 0; tag < tags; ++tag) {
          const std::int64_t value = in_.integer(4);
          group = tag == 0 ? std::abs(value) : group;
        }
        add_element(type, number, {group, 0}, 4);
      }
      done += run;
    }
  }

  // Text, also in binary files.
  void read_old_periodic() {
    const bool was_binary = std::exchange(in_.is_binary, false);
    for (std::int64_t links = in_.text_count(2); links > 0; --links) {
      for (int i = 0; i < 3; ++i) {
        static_cast<void>(in_.text_integer());
      }
      std::string_view word = in_.word();
      if (word == "Affine") {
        in_.finish_line();
        word = in_.word();
      }
      std::int64_t pairs = 0;
      for (const char digit : word) {
        if (digit < '0' || digit > '9' || pairs > 1'000'000'000) {
          in_.fail("dg.read_gmsh.syntax", "a count of periodic nodes is missing");
        }
        pairs = 10 * pairs + (digit - '0');
      }
      for (; pairs > 0; --pairs) {
        const std::int64_t node = in_.text_integer();
        add_twins(node, in_.text_integer());
      }
    }
    in_.is_binary = was_binary;
  }

  // ---- both ------------------------------------------------------------------------------------

  ElementType type_of(std::int64_t number) {
    const auto found = element_types().find(number);
    if (found == element_types().end()) {
      throw Unsupported(
          "dg.read_gmsh.element_type",
          fmt::format("the file has elements of Gmsh's type {}{}: only points, lines, "
                      "triangles and tetrahedra can be used",
                      number, in_.where()));
    }
    if (found->second.order > 1 && !options_.vertices_only) {
      constexpr std::array<const char*, 4> shapes = {"points", "lines", "triangles", "tetrahedra"};
      throw Unsupported(
          "dg.read_gmsh.curved",
          fmt::format("the file has {} of order {}, Gmsh's type {}{}: elements are straight here, "
                      "save the mesh with order 1, or read the vertices only (vertices_only, "
                      "--vertices-only)",
                      shapes[static_cast<std::size_t>(found->second.dimension)],
                      found->second.order, number, in_.where()));
    }
    return found->second;
  }

  void add_element(const ElementType& type, std::int64_t number, const Groups& groups,
                   int size_bytes) {
    Simplex simplex;
    simplex.number = number;
    simplex.group = groups[0];
    simplex.other_group = groups[1];
    for (int i = 0; i < type.nodes; ++i) {
      const std::int64_t node = in_.integer(size_bytes);
      if (i <= type.dimension) {
        simplex.nodes[static_cast<std::size_t>(i)] = number_of(node);
      }
    }
    simplices_[static_cast<std::size_t>(type.dimension)].push_back(simplex);
  }

  [[nodiscard]] std::int64_t number_of(std::int64_t tag) const {
    const auto found = node_numbers_.find(tag);
    if (found == node_numbers_.end()) {
      in_.fail("dg.read_gmsh.unknown_node",
               fmt::format("node {} is used, but not among the nodes before", tag));
    }
    return static_cast<std::int64_t>(found->second);
  }

  void add_twins(std::int64_t left, std::int64_t right) {
    twins_.emplace_back(static_cast<std::size_t>(number_of(left)),
                        static_cast<std::size_t>(number_of(right)));
  }

  // ---- the mesh --------------------------------------------------------------------------------

  Mesh assemble() {
    Mesh mesh;
    mesh.dimension = 3;
    while (mesh.dimension > 0 && simplices_[static_cast<std::size_t>(mesh.dimension)].empty()) {
      --mesh.dimension;
    }
    if (mesh.dimension == 0) {
      in_.fail("dg.read_gmsh.no_elements", "the file has no lines, triangles or tetrahedra");
    }
    check_groups(mesh.dimension, "element");
    check_groups(mesh.dimension - 1, "boundary face");
    number_vertices(mesh);
    add_elements(mesh);
    add_boundary(mesh);
    add_periodicity(mesh);
    return with_positive_volumes(std::move(mesh));
  }

  [[noreturn]] void refuse_groups(int dimension, const char* what, const Simplex& simplex,
                                  std::int64_t other) const {
    in_.fail("dg.read_gmsh.two_groups",
             fmt::format("the {} {} is of the physical groups '{}' and '{}': only one is allowed",
                         what, simplex.number, group_name(dimension, simplex.group),
                         group_name(dimension, other)));
  }

  // Version 2 writes what is of two groups twice.
  void check_groups(int dimension, const char* what) const {
    const std::vector<Simplex>& all = simplices_[static_cast<std::size_t>(dimension)];
    std::vector<std::pair<std::array<std::int64_t, 4>, const Simplex*>> by_nodes;
    by_nodes.reserve(all.size());
    for (const Simplex& simplex : all) {
      if (simplex.other_group != 0) {
        refuse_groups(dimension, what, simplex, simplex.other_group);
      }
      by_nodes.emplace_back(simplex.nodes, &simplex);
      std::sort(by_nodes.back().first.begin(), by_nodes.back().first.begin() + dimension + 1);
    }
    std::sort(by_nodes.begin(), by_nodes.end());
    const bool is_element = simplices_.size() == static_cast<std::size_t>(dimension) + 1 ||
                            simplices_[static_cast<std::size_t>(dimension) + 1].empty();
    for (std::size_t i = 1; i < by_nodes.size(); ++i) {
      const Simplex& simplex = *by_nodes[i - 1].second;
      const Simplex& next = *by_nodes[i].second;
      if (by_nodes[i].first != by_nodes[i - 1].first) {
        continue;
      }
      if (simplex.group != next.group && (is_element || simplex.group * next.group != 0)) {
        refuse_groups(dimension, what, simplex, next.group);
      }
      if (is_element) {
        in_.fail("dg.read_gmsh.duplicate_element",
                 fmt::format("the elements {} and {} have the same nodes: remove one",
                             simplex.number, next.number));
      }
    }
  }

  // Only nodes that are vertices of elements get into the mesh.
  void number_vertices(Mesh& mesh) {
    vertex_numbers_.assign(nodes_.size(), -1);
    const auto dimension = static_cast<std::size_t>(mesh.dimension);
    for (const Simplex& simplex : simplices_[dimension]) {
      for (std::size_t i = 0; i <= dimension; ++i) {
        vertex_numbers_[static_cast<std::size_t>(simplex.nodes[i])] = 0;
      }
    }
    const Point* first = nullptr;
    for (std::size_t node = 0; node < nodes_.size(); ++node) {
      if (vertex_numbers_[node] < 0) {
        continue;
      }
      vertex_numbers_[node] = static_cast<int>(mesh.vertices.size());
      Point point = nodes_[node];
      first = first == nullptr ? &nodes_[node] : first;
      for (std::size_t axis = dimension; axis < 3; ++axis) {
        const double scale = 1 + std::abs(point[0]) + std::abs(point[1]);
        if (std::abs(point[axis] - (*first)[axis]) > 1e-9 * scale) {
          in_.fail(
              "dg.read_gmsh.not_flat",
              fmt::format("a mesh of dimension {} must be in {}, but {} differs between its nodes",
                          dimension, dimension == 1 ? "x" : "x and y", "xyz"[axis]));
        }
        point[axis] = 0;
      }
      mesh.vertices.push_back(point);
      mesh.vertex_numbers.push_back(node_tags_[node]);
    }
  }

  [[nodiscard]] int vertex(std::int64_t node) const {
    return vertex_numbers_[static_cast<std::size_t>(node)];
  }

  [[nodiscard]] std::string group_name(int dimension, std::int64_t group) const {
    const auto named = names_.find({dimension, group});
    return named != names_.end() ? named->second
           : group == 0          ? std::string()
                                 : std::to_string(group);
  }

  // The place of a group among the names of a list, which grows by it when it is new.
  int tag_of(int dimension, std::int64_t group, std::vector<std::string>& list) const {
    const std::string name = group_name(dimension, group);
    const auto place = std::find(list.begin(), list.end(), name);
    const auto index = static_cast<int>(place - list.begin());
    if (place == list.end()) {
      list.push_back(name);
    }
    return index;
  }

  void add_elements(Mesh& mesh) const {
    for (const Simplex& simplex : simplices_[static_cast<std::size_t>(mesh.dimension)]) {
      std::array<int, 4> element = {-1, -1, -1, -1};
      for (std::size_t i = 0; i < mesh.face_count(); ++i) {
        element[i] = vertex(simplex.nodes[i]);
      }
      mesh.elements.push_back(element);
      mesh.element_numbers.push_back(simplex.number);
      mesh.element_regions.push_back(tag_of(mesh.dimension, simplex.group, mesh.regions));
    }
  }

  void add_boundary(Mesh& mesh) const {
    const auto dimension = static_cast<std::size_t>(mesh.dimension);
    for (const Simplex& simplex : simplices_[dimension - 1]) {
      if (simplex.group == 0) {
        continue;
      }
      BoundaryFace face;
      face.tag = tag_of(mesh.dimension - 1, simplex.group, mesh.boundary_tags);
      for (std::size_t i = 0; i < dimension; ++i) {
        face.vertices[i] = vertex(simplex.nodes[i]);
        if (face.vertices[i] < 0) {
          in_.fail(
              "dg.read_gmsh.unknown_node",
              fmt::format("the boundary face {} of the group '{}' has the node {}, which no "
                          "element has",
                          simplex.number, mesh.boundary_tags[static_cast<std::size_t>(face.tag)],
                          node_tags_[static_cast<std::size_t>(simplex.nodes[i])]));
        }
      }
      mesh.boundary_faces.push_back(face);
    }
  }

  void add_periodicity(Mesh& mesh) const {
    if (twins_.empty()) {
      return;
    }
    std::vector<int> parents(mesh.vertices.size());
    std::iota(parents.begin(), parents.end(), 0);
    const auto root = [&](int vertex) {
      while (parents[static_cast<std::size_t>(vertex)] != vertex) {
        vertex = parents[static_cast<std::size_t>(vertex)] =
            parents[static_cast<std::size_t>(parents[static_cast<std::size_t>(vertex)])];
      }
      return vertex;
    };
    for (const auto& [left, right] : twins_) {
      if (vertex_numbers_[left] >= 0 && vertex_numbers_[right] >= 0) {
        parents[static_cast<std::size_t>(root(vertex_numbers_[left]))] =
            root(vertex_numbers_[right]);
      }
    }
    for (std::size_t i = 0; i < parents.size(); ++i) {
      mesh.twins.push_back(root(static_cast<int>(i)));
    }
  }

  GmshStream in_;
  std::string name_;
  GmshOptions options_;
  bool is_old_ = false;
  std::map<std::pair<std::int64_t, std::int64_t>, std::string> names_;     // of groups
  std::map<std::pair<std::int64_t, std::int64_t>, Groups> entity_groups_;  // by entity
  std::unordered_map<std::int64_t, std::size_t> node_numbers_;             // by tag
  std::vector<Point> nodes_;
  std::vector<std::int64_t> node_tags_;
  std::vector<int> vertex_numbers_;  // of nodes; -1 where no element has them
  std::array<std::vector<Simplex>, 4> simplices_;
  std::vector<std::pair<std::size_t, std::size_t>> twins_;
};

}  // namespace

Mesh read_gmsh(const std::string& path, const GmshOptions& options) {
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  if (!stream || text.str().empty()) {
    throw InvalidInput("dg.read_gmsh.unreadable_file",
                       fmt::format("cannot read '{}': give a file that Gmsh has saved", path));
  }
  return parse_gmsh(text.str(), path, options);
}

Mesh parse_gmsh(std::string_view bytes, const std::string& name, const GmshOptions& options) {
  return GmshReader(bytes, name, options).read();
}

}  // namespace rtcg::dg
