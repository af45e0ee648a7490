#include "rtcg/dg/mesh/read_gmsh.h"

#include <algorithm>
#include <fstream>
#include <random>

#include <gtest/gtest.h>

#include "rtcg/dg/mesh/connectivity.h"
#include "rtcg/dg/mesh/geometric_factors.h"
#include "tests/dg/mesh/write_gmsh.h"
#include "tests/support/compile_text.h"
#include "tests/support/expect_error.h"

namespace rtcg::dg {
namespace {

using testing::GmshMode;
using testing::square_22;
using testing::square_41;

std::vector<std::string> squares() {
  std::vector<std::string> files;
  for (const GmshMode mode : {GmshMode::text, GmshMode::binary, GmshMode::swapped}) {
    files.push_back(square_41(mode));
    files.push_back(square_22(mode));
  }
  return files;
}

std::string with(std::string text, const std::string& from, const std::string& to) {
  const std::size_t place = text.find(from);
  EXPECT_NE(place, std::string::npos) << from;
  return place == std::string::npos ? text : text.replace(place, from.size(), to);
}

// The squares of version 2.2 have curved elements.
Mesh parse(const std::string& bytes) {
  return parse_gmsh(bytes, "square.msh", {.vertices_only = true});
}

TEST(ReadGmsh, ReadsBothVersionsAsTextAndBinary) {
  for (const std::string& file : squares()) {
    const Mesh mesh = parse(file);
    EXPECT_EQ(mesh.dimension, 2);
    EXPECT_EQ(mesh.vertices.size(), 4U);
    EXPECT_EQ(mesh.element_count(), 2U);
    EXPECT_EQ(mesh.boundary_faces.size(), 4U);
    EXPECT_EQ(mesh.boundary_tags, (std::vector<std::string>{"wall", "left"}));
    EXPECT_EQ(mesh.regions, std::vector<std::string>{"air"});
    EXPECT_EQ(mesh.element_regions, (std::vector<int>{0, 0}));
    const GeometricFactors factors = find_geometric_factors(mesh);
    EXPECT_NEAR(factors.jacobian[0] + factors.jacobian[1], 0.5, 1e-15);
    const Connectivity connectivity = find_connectivity(mesh);
    check_boundary_coverage(mesh, connectivity, {"wall", "left"});
    for (std::size_t i = 0; i < connectivity.links.size(); ++i) {
      if (connectivity.links[i].boundary_tag == 1) {
        EXPECT_NEAR(factors.normals[2 * i], -1, 1e-15);
      }
    }
  }
}

TEST(ReadGmsh, ReadsTetrahedraAndIntervals) {
  const Mesh tetrahedron = parse(
      "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n4\n1 0 0 0\n2 1 0 0\n3 0 1 0\n4 0 0 1\n"
      "$EndNodes\n$Elements\n3\n1 4 2 1 1 1 3 2 4\n2 2 2 6 1 1 2 3\n3 2 2 0 1 1 2 4\n"
      "$EndElements\n");
  EXPECT_EQ(tetrahedron.dimension, 3);
  EXPECT_NEAR(signed_volume(tetrahedron, 0), 1, 1e-15);
  EXPECT_EQ(tetrahedron.boundary_tags, std::vector<std::string>{"6"});
  EXPECT_EQ(tetrahedron.boundary_faces.size(), 1U);
  const Mesh interval = parse(
      "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n3\n1 0 0 0\n2 1 0 0\n3 3 0 0\n$EndNodes\n"
      "$Elements\n4\n1 1 2 1 1 1 2\n2 1 2 1 1 3 2\n3 15 2 4 1 1\n4 15 2 5 1 3\n$EndElements\n");
  EXPECT_EQ(interval.dimension, 1);
  EXPECT_EQ(interval.boundary_tags, (std::vector<std::string>{"4", "5"}));
  EXPECT_EQ(find_connectivity(interval).link(0, 1).element, 1);
}

TEST(ReadGmsh, PeriodicVerticesStandForEachOther) {
  const std::string pairs_41 =
      "$Periodic\n1\n1 2 4\n16 1 0 0 1 0 1 0 0 0 0 1 0 0 0 0 1\n2\n20 10\n30 50\n$EndPeriodic\n";
  const Mesh mesh = parse(square_41(GmshMode::text) + pairs_41);
  ASSERT_EQ(mesh.twins.size(), 4U);
  EXPECT_EQ(mesh.twin(0), mesh.twin(1));
  EXPECT_EQ(mesh.twin(2), mesh.twin(3));
  EXPECT_NE(mesh.twin(0), mesh.twin(2));
  const std::string pairs_22 =
      "$Periodic\n2\n1 2 4\nAffine 1 0 0 1 0 1 0 0 0 0 1 0 0 0 0 1\n1\n2 1\n1 2 4\n1\n3 4\n"
      "$EndPeriodic\n";
  EXPECT_EQ(parse(square_22(GmshMode::text) + pairs_22).twins, mesh.twins);
  EXPECT_EQ(parse(square_22(GmshMode::binary) + pairs_22).twins, mesh.twins);
  EXPECT_ERROR("dg.read_gmsh.syntax",
               parse(square_22(GmshMode::text) + with(pairs_22, "1\n2 1", "one\n2 1")));
}

TEST(ReadGmsh, SaysInWhichLineAFileIsWrong) {
  const std::string square = square_22(GmshMode::text);
  EXPECT_ERROR("dg.read_gmsh.syntax", parse(with(square, "0.500000", "nowhere")));
  EXPECT_ERROR("dg.read_gmsh.syntax", parse(with(square, "1.000000", "inf")));
  EXPECT_ERROR("dg.read_gmsh.syntax", parse(with(square, "$MeshFormat", "$Nodes")));
  EXPECT_ERROR("dg.read_gmsh.syntax", parse(with(square, "$EndNodes", "$EndKnots")));
  EXPECT_ERROR("dg.read_gmsh.syntax", parse(with(square, "\"wall\"", "wall")));
  EXPECT_ERROR("dg.read_gmsh.syntax", parse(with(square, "0 8", "0 4")));
  EXPECT_ERROR("dg.read_gmsh.syntax", parse(with(square, "$Nodes\n9", "$Nodes\n-9")));
  EXPECT_ERROR("dg.read_gmsh.syntax", parse(with(square, "$Elements", "Elements")));
  EXPECT_ERROR("dg.read_gmsh.syntax", parse(with(square, "\n2 1.0", "\n1 1.0")));
  EXPECT_ERROR("dg.read_gmsh.syntax",
               parse(with(square_22(GmshMode::binary), "2.2 1 8\n\1", "2.2 1 8\n\3")));
  EXPECT_ERROR("dg.read_gmsh.truncated", parse(square.substr(0, square.size() / 2)));
  EXPECT_ERROR("dg.read_gmsh.truncated", parse(with(square, "$Nodes\n9", "$Nodes\n999999999")));
  EXPECT_ERROR("dg.read_gmsh.truncated", parse(square + "$NodeData\n1\n"));
  EXPECT_ERROR("dg.read_gmsh.truncated", parse(""));
  EXPECT_ERROR("dg.read_gmsh.no_elements", parse("$MeshFormat\n4.1 0 8\n$EndMeshFormat\n"));
  EXPECT_ERROR("dg.read_gmsh.unknown_node", parse(with(square, "3 1 4 9", "3 1 44 9")));
  EXPECT_ERROR("dg.read_gmsh.unknown_node", parse(with(square, "8 2 8 1 1 2 5", "8 2 8 1 5 2 5")));
  EXPECT_ERROR("dg.read_gmsh.not_flat", parse(with(square, "2.000000", "2.500000")));
  EXPECT_ERROR("dg.read_gmsh.unknown_entity",
               parse(with(square_41(GmshMode::text), "\n1 4 1 1 ", "\n1 9 1 1 ")));
  EXPECT_ERROR("dg.read_gmsh.version", parse(with(square, "2.2", "3.0")));
  EXPECT_ERROR("dg.read_gmsh.element_type", parse(with(square, "6 9 2", "6 3 2")));
  try {
    static_cast<void>(parse(with(square, "3 1 4 9", "3 1 44 9")));
    FAIL();
  } catch (const InvalidInput& error) {
    EXPECT_EQ(error.message(),
              "node 44 is used, but not among the nodes before, in line 29 of 'square.msh'");
  }
}

TEST(ReadGmsh, ReadsFiles) {
  const rtcg::testing::ScratchFolder folder;
  const std::string path = (folder.path() / "square.msh").string();
  std::ofstream(path, std::ios::binary) << square_41(GmshMode::binary);
  EXPECT_EQ(read_gmsh(path).element_count(), 2U);
  EXPECT_ERROR("dg.read_gmsh.unreadable_file", read_gmsh(path + ".absent"));
}

TEST(Defect09, CurvedElementsAreNotStraightenedWithoutAWord) {
  for (const GmshMode mode : {GmshMode::text, GmshMode::binary}) {
    EXPECT_ERROR("dg.read_gmsh.curved", parse_gmsh(square_22(mode), "square.msh"));
    EXPECT_EQ(parse_gmsh(square_22(mode), "square.msh", {.vertices_only = true}).element_count(),
              2U);
  }
  const auto message_of = [](const std::string& file) -> std::string {
    try {
      static_cast<void>(parse_gmsh(file, "square.msh"));
    } catch (const Unsupported& error) {
      return error.message();
    }
    return "";
  };
  EXPECT_TRUE(message_of(square_22(GmshMode::text))
                  .starts_with("the file has lines of order 2, Gmsh's type 8, in line"));
  // triangles and tetrahedra of every order, of both versions
  for (const auto& [type, words] :
       std::vector<std::pair<std::string, std::string>>{{"9", "triangles of order 2"},
                                                        {"21", "triangles of order 3"},
                                                        {"23", "triangles of order 4"},
                                                        {"25", "triangles of order 5"},
                                                        {"11", "tetrahedra of order 2"},
                                                        {"29", "tetrahedra of order 3"},
                                                        {"30", "tetrahedra of order 4"},
                                                        {"31", "tetrahedra of order 5"}}) {
    EXPECT_TRUE(message_of(with(square_41(GmshMode::text), "\n2 1 2 2 ", "\n2 1 " + type + " 2 "))
                    .starts_with("the file has " + words))
        << type;
  }
}

TEST(Defect09, NothingIsOfTwoPhysicalGroups) {
  // 4.1: the third curve, and then the surface, are of groups 8 and 7
  const std::string square = square_41(GmshMode::text);
  const std::string curve = "1 8 2 1 -2 ";
  EXPECT_ERROR("dg.read_gmsh.two_groups", parse(with(square, curve, "2 8 7 2 1 -2 ")));
  EXPECT_ERROR("dg.read_gmsh.two_groups", parse(with(square, "1 5 0 ", "2 5 6 0 ")));
  EXPECT_NO_THROW(parse(with(square, curve, "2 8 -8 2 1 -2 "))) << "one group twice is one";
  // points are of no use in two dimensions
  EXPECT_NO_THROW(parse(
      with(square, "0.000000 0.000000 0.000000 0 \n", "0.000000 0.000000 0.000000 2 1 2 \n")));
  // 2.2: such elements are there twice
  const std::string old =
      "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n3\n1 0 0 0\n2 1 0 0\n3 0 1 "
      "0\n$EndNodes\n$Elements\n";
  const auto elements = [&](const std::string& text) { return old + text + "$EndElements\n"; };
  EXPECT_ERROR("dg.read_gmsh.two_groups", parse(elements("2\n1 2 2 5 1 1 2 3\n2 2 2 6 1 2 3 1\n")));
  EXPECT_ERROR("dg.read_gmsh.duplicate_element",
               parse(elements("2\n1 2 2 5 1 1 2 3\n2 2 2 5 1 2 3 1\n")));
  EXPECT_ERROR("dg.read_gmsh.two_groups",
               parse(elements("3\n1 1 2 7 1 1 2\n2 1 2 8 1 2 1\n3 2 2 5 1 1 2 3\n")));
  EXPECT_NO_THROW(parse(elements("3\n1 1 2 7 1 1 2\n2 1 2 7 1 2 1\n3 2 2 5 1 1 2 3\n")));
  try {
    static_cast<void>(parse(elements("3\n91 1 2 7 1 1 2\n92 1 2 8 1 2 1\n93 2 2 5 1 1 2 3\n")));
    FAIL();
  } catch (const InvalidInput& error) {
    EXPECT_TRUE(error.message().starts_with(
        "the boundary face 91 is of the physical groups '7' and '8': only one is allowed"))
        << error.message();
  }
}

// The format's own page has the order of these numbers.
TEST(Defect09, PartitionedMeshesKeepTheirGroups) {
  const std::string parts =
      "$PartitionedEntities\n2\n1\n77 2\n0 1 1 0\n"
      "9 1 1 1 1 0 0 0 1 0 0 1 7 2 1 -2\n"
      "9 2 1 2 1 2 0 0 0 1 1 0 1 6 0\n$EndPartitionedEntities\n";
  std::string file = with(square_41(GmshMode::text), "$Nodes\n", parts + "$Nodes\n");
  file = with(file, "\n1 1 1 1 ", "\n1 9 1 1 ");  // the first curve's elements are of the part
  file = with(file, "\n2 1 2 2 ", "\n2 9 2 2 ");
  const Mesh mesh = parse(file);
  EXPECT_EQ(mesh.boundary_tags, (std::vector<std::string>{"left", "wall"}));
  EXPECT_EQ(mesh.regions, std::vector<std::string>{"6"});
}

TEST(Defect23, MessagesNameTheNumbersOfTheFile) {
  const Mesh mesh = parse(square_41(GmshMode::text));
  EXPECT_EQ(mesh.vertex_numbers, (std::vector<std::int64_t>{10, 20, 30, 50}));
  EXPECT_EQ(element_name(mesh, 1), "element 7 of the file");
  EXPECT_EQ(element_name(with_element_order(mesh, {1, 0}), 1), "element 6 of the file");
  const auto message_of = [](auto&& action) -> std::string {
    try {
      action();
    } catch (const InvalidInput& error) {
      return error.message();
    }
    return "";
  };
  Mesh flat = mesh;
  flat.vertices[2] = flat.vertices[1];
  EXPECT_TRUE(message_of([&] { static_cast<void>(find_geometric_factors(flat)); })
                  .starts_with("element 6 of the file with nodes 10, 20, 30 of the file has the "
                               "volume 0"));
  Mesh bare = mesh;
  bare.boundary_faces.clear();
  EXPECT_EQ(message_of([&] { check_boundary_coverage(bare, find_connectivity(bare), {}); }),
            "some of the boundary has no condition: 4 faces without a tag, the first of element 6 "
            "of the file");
  Mesh stray = mesh;
  stray.boundary_faces[0].vertices = {1, 3, -1};
  EXPECT_EQ(message_of([&] { static_cast<void>(find_connectivity(stray)); }),
            "the boundary face on nodes 20, 50 of the file belongs to no element");
}

// One change of the kinds that damage or malice make.
std::string damaged(std::string file, std::mt19937& random) {
  const auto any = [&](std::size_t below) { return random() % std::max<std::size_t>(1, below); };
  const std::size_t place = any(file.size());
  switch (any(8)) {
    case 0:
      file[place] = static_cast<char>(random());
      break;
    case 1:
      file[place] = static_cast<char>(file[place] ^ 1 << any(8));
      break;
    case 2:
      file.erase(place, any(8));
      break;
    case 3:
      file.insert(place, file.substr(any(file.size()), any(12)));
      break;
    case 4:
      file.resize(place);
      break;
    case 5: {  // two sections change places
      const std::size_t first = file.find("\n$", place);
      const std::size_t second = first == std::string::npos ? first : file.find("\n$", first + 1);
      const std::size_t third = second == std::string::npos ? second : file.find("\n$", second + 1);
      if (third != std::string::npos) {
        file = file.substr(0, first) + file.substr(second, third - second) +
               file.substr(first, second - first) + file.substr(third);
      }
      break;
    }
    case 6: {  // a number becomes huge, negative or something else
      static const std::vector<std::string> numbers = {
          "999999999", "4294967297", "9223372036854775807", "-9223372036854775808", "-1", "0",
          "1e308",     "nan"};
      const std::size_t begin = file.find_first_of("0123456789", place);
      if (begin != std::string::npos) {
        const std::size_t end = file.find_first_not_of("0123456789", begin);
        file.replace(begin, std::min(end, file.size()) - begin, numbers[any(numbers.size())]);
      }
      break;
    }
    default:  // bytes of a number in memory become huge
      for (std::size_t i = place; i < std::min(file.size(), place + 4 * (1 + any(2))); ++i) {
        file[i] = static_cast<char>(any(2) == 0 ? 0xFF : 0x7F);
      }
  }
  return file;
}

TEST(ReadGmsh, DamagedFilesAreRefusedOrRead) {
  std::mt19937 random(17);
  int refused = 0;
  int read = 0;
  for (const std::string& file : squares()) {
    for (int i = 0; i < 3000; ++i) {
      std::string bytes = file;
      for (unsigned changes = random() % 3 + 1; changes > 0; --changes) {
        bytes = damaged(std::move(bytes), random);
      }
      Mesh mesh;
      try {
        mesh = parse(bytes);
      } catch (const Error& error) {
        ASSERT_TRUE(error.code().starts_with("dg.read_gmsh.")) << error.what();
        ASSERT_NE(error.message().find(", in line "), std::string::npos) << error.what();
        ++refused;
        continue;
      }
      ++read;
      try {
        static_cast<void>(find_connectivity(mesh));
        static_cast<void>(find_geometric_factors(mesh));
        static_cast<void>(ordered_along_curve(mesh));
      } catch (const Error& error) {
        ASSERT_TRUE(error.code().starts_with("dg.find_")) << error.what();
      }
    }
  }
  EXPECT_GT(refused, 5000);
  EXPECT_GT(read, 1000);
}

}  // namespace
}  // namespace rtcg::dg
