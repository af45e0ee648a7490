#include "rtcg/dg/output/write_vtu.h"

#include <cmath>
#include <filesystem>

#include <gtest/gtest.h>

#include "rtcg/dg/mesh/geometric_factors.h"
#include "tests/dg/mesh/box_examples.h"
#include "tests/dg/output/read_vtu.h"
#include "tests/support/compile_text.h"
#include "tests/support/expect_error.h"

namespace rtcg::dg {
namespace {

using rtcg::testing::ScratchFolder;
using testing::box;
using testing::read_vtu;
using testing::VtuArray;
using testing::VtuFile;

double polynomial(double x, double y, double z, int order) {
  return std::pow(x + 0.5 * y - 0.3 * z, order);
}

// The coordinates as a field `x`, and a polynomial of the elements' order as a
// field `f`.
std::vector<NodalField> fields_on(const Mesh& mesh, const ReferenceElement& element) {
  const std::vector<double> x = node_coordinates(mesh, element);
  const auto dimension = static_cast<std::size_t>(mesh.dimension);
  const std::size_t nodes = x.size() / dimension;
  NodalField f = {"f", 1, {}};
  for (std::size_t i = 0; i < nodes; ++i) {
    f.values.push_back(polynomial(x[i], dimension > 1 ? x[nodes + i] : 0,
                                  dimension > 2 ? x[2 * nodes + i] : 0, element.order));
  }
  return {{"x", dimension, x}, f};
}

// What every file must hold: coordinates and polynomial at every point, and
// cells that fill the domain.
void expect_fields(const VtuFile& file, int dimension, int order, double tolerance) {
  const VtuArray& points = file.arrays.at("Points");
  const VtuArray& x = file.arrays.at("x");
  const VtuArray& f = file.arrays.at("f");
  ASSERT_EQ(points.values.size(), 3 * file.points);
  ASSERT_EQ(f.values.size(), file.points);
  EXPECT_EQ(x.components, dimension == 1 ? 1U : 3U);
  for (std::size_t i = 0; i < file.points; ++i) {
    for (std::size_t axis = 0; axis < x.components; ++axis) {
      EXPECT_NEAR(points.values[3 * i + axis], x.values[x.components * i + axis], 1e-14);
    }
    EXPECT_NEAR(
        f.values[i],
        polynomial(points.values[3 * i], points.values[3 * i + 1], points.values[3 * i + 2], order),
        tolerance);
  }
}

// The volume of a straight cell, times the factorial of the dimension.
double volume_of(const VtuFile& file, std::size_t cell, std::size_t dimension) {
  Mesh one;
  one.dimension = static_cast<int>(dimension);
  one.elements = {{0, 1, 2, 3}};
  for (std::size_t corner = 0; corner <= dimension; ++corner) {
    const auto point = static_cast<std::size_t>(
        file.arrays.at("connectivity").values[(dimension + 1) * cell + corner]);
    const std::vector<double>& at = file.arrays.at("Points").values;
    one.vertices.push_back({at[3 * point], at[3 * point + 1], at[3 * point + 2]});
  }
  return signed_volume(one, 0);
}

TEST(WriteVtu, LagrangeCellsHoldThePolynomialsAtTheirPoints) {
  const ScratchFolder folder;
  const std::string path = (folder.path() / "new" / "a.vtu").string();
  for (int dimension = 1; dimension <= 3; ++dimension) {
    for (int order = 2; order <= 5; ++order) {
      const Mesh mesh = make_box_mesh(box(dimension, 2, 0.2));
      const ReferenceElement element = make_reference_element(dimension, order);
      write_vtu(path, mesh, element, fields_on(mesh, element));
      const VtuFile file = read_vtu(path);
      EXPECT_EQ(file.cells, mesh.element_count());
      EXPECT_EQ(file.points, mesh.element_count() * element.node_count());
      expect_fields(file, dimension, order, 1e-13);
      const double type = dimension == 1 ? 68 : dimension == 2 ? 69 : 71;
      EXPECT_EQ(file.arrays.at("types").values, std::vector<double>(file.cells, type));
      const std::vector<double>& corners = file.arrays.at("connectivity").values;
      for (std::size_t i = 0; i < corners.size(); ++i) {
        ASSERT_EQ(corners[i], static_cast<double>(i));
      }
      EXPECT_EQ(file.arrays.at("offsets").values.back(), static_cast<double>(corners.size()));
    }
  }
}

TEST(WriteVtu, StraightCellsFillTheDomain) {
  const ScratchFolder folder;
  const std::string path = (folder.path() / "a.vtu").string();
  VtuOptions options;
  options.high_order = false;
  for (int dimension = 1; dimension <= 3; ++dimension) {
    for (int order = 1; order <= 6; ++order) {
      const Mesh mesh = make_box_mesh(box(dimension, 2, 0.2));
      const ReferenceElement element = make_reference_element(dimension, order);
      write_vtu(path, mesh, element, fields_on(mesh, element), {}, options);
      const VtuFile file = read_vtu(path);
      EXPECT_EQ(file.cells, mesh.element_count() * std::lround(std::pow(order, dimension)));
      expect_fields(file, dimension, order, 1e-12);
      const double type = dimension == 1 ? 3 : dimension == 2 ? 5 : 10;
      EXPECT_EQ(file.arrays.at("types").values, std::vector<double>(file.cells, type));
      double sum = 0;
      for (std::size_t cell = 0; cell < file.cells; ++cell) {
        const double volume = volume_of(file, cell, static_cast<std::size_t>(dimension));
        EXPECT_GT(volume, 0);
        sum += volume;
      }
      EXPECT_NEAR(sum, dimension == 3 ? 6 : dimension, 1e-11);
    }
  }
}

TEST(WriteVtu, CellsCarryRegionElementAndWhatElseIsGiven) {
  const ScratchFolder folder;
  const std::string path = (folder.path() / "a.vtu").string();
  Mesh mesh = make_box_mesh(box(2, 1));
  const ReferenceElement element = make_reference_element(2, 2);
  mesh.element_regions = {4, 7};
  for (const bool high_order : {true, false}) {
    VtuOptions options;
    options.high_order = high_order;
    options.single_precision = true;
    write_vtu(path, mesh, element, fields_on(mesh, element), {{"a<b & \"c\"", {0.5, -2}}}, options);
    const VtuFile file = read_vtu(path);
    const std::size_t each = high_order ? 1 : 4;
    const auto twice = [&](double first, double second) {
      std::vector<double> values(each, first);
      values.insert(values.end(), each, second);
      return values;
    };
    EXPECT_EQ(file.arrays.at("region").values, twice(4, 7));
    EXPECT_EQ(file.arrays.at("element").values, twice(0, 1));
    EXPECT_EQ(file.arrays.at("a&lt;b &amp; &quot;c&quot;").values, twice(0.5, -2));
    EXPECT_EQ(file.arrays.at("f").type, "Float32");
    // a float has 24 bits
    EXPECT_NEAR(file.arrays.at("f").values[1], std::pow(file.arrays.at("x").values[3], 2), 1e-6);
  }
}

TEST(WriteVtu, RefusesWhatDoesNotFit) {
  const ScratchFolder folder;
  const std::string path = (folder.path() / "a.vtu").string();
  const Mesh mesh = make_box_mesh(box(2, 1));
  const ReferenceElement element = make_reference_element(2, 2);
  const auto write = [&](const ReferenceElement& on, const std::vector<NodalField>& fields,
                         const std::vector<ElementField>& element_fields = {}) {
    write_vtu(path, mesh, on, fields, element_fields);
    return 0;
  };
  EXPECT_ERROR("dg.write_vtu.shape_mismatch", write(make_reference_element(3, 2), {}));
  EXPECT_ERROR("dg.write_vtu.shape_mismatch", write(element, {{"u", 1, {1, 2, 3}}}));
  EXPECT_ERROR("dg.write_vtu.shape_mismatch", write(element, {}, {{"q", {1}}}));
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(WritePvtu, MakesOneGridOfTheFilesOfRanks) {
  const ScratchFolder folder;
  const std::string path = (folder.path() / "a.pvtu").string();
  write_pvtu(path, {"a_rank0.vtu", "a_rank2.vtu"}, {{"e", 2, {}}, {"p", 1, {}}}, {{"q", {}}},
             {.single_precision = true});
  std::string text = testing::bytes_of(path);
  text = text.substr(text.find("<PUnstructuredGrid "));
  EXPECT_EQ(text, R"(<PUnstructuredGrid GhostLevel="0">
<PPointData>
<PDataArray type="Float32" Name="e" NumberOfComponents="3"/>
<PDataArray type="Float32" Name="p" NumberOfComponents="1"/>
</PPointData>
<PCellData>
<PDataArray type="Int32" Name="region" NumberOfComponents="1"/>
<PDataArray type="Int64" Name="element" NumberOfComponents="1"/>
<PDataArray type="Float32" Name="q" NumberOfComponents="1"/>
</PCellData>
<PPoints>
<PDataArray type="Float32" Name="Points" NumberOfComponents="3"/>
</PPoints>
<Piece Source="a_rank0.vtu"/>
<Piece Source="a_rank2.vtu"/>
</PUnstructuredGrid>
</VTKFile>
)");
}

// The arrays of a piece are those that the file of all names, with the numbers of the whole mesh.
TEST(WritePvtu, PiecesNumberElementsOfTheWholeMesh) {
  const ScratchFolder folder;
  const std::string path = (folder.path() / "a.vtu").string();
  Mesh mesh = make_box_mesh(box(2, 1));
  mesh.places_in_whole = {17, 4};
  write_vtu(path, mesh, make_reference_element(2, 1), {});
  const VtuFile file = read_vtu(path);
  EXPECT_EQ(file.arrays.at("element").values, (std::vector<double>{17, 4}));
}

TEST(WritePvd, ListsTheFilesWithTheirTimes) {
  const ScratchFolder folder;
  const std::string path = (folder.path() / "a.pvd").string();
  write_pvd(path, {{0, "u_0000.vtu"}, {0.125, "u & v.vtu"}});
  EXPECT_EQ(testing::bytes_of(path),
            R"(<?xml version="1.0"?>
<VTKFile type="Collection" version="1.0">
<Collection>
<DataSet timestep="0" part="0" file="u_0000.vtu"/>
<DataSet timestep="0.125" part="0" file="u &amp; v.vtu"/>
</Collection>
</VTKFile>
)");
}

}  // namespace
}  // namespace rtcg::dg
