#include "rtcg/dg/output/write_vtu.h"

#include <bit>
#include <cstdint>
#include <cstring>

#include <fmt/format.h>

#include "rtcg/cgen/support/base64.h"
#include "rtcg/cgen/support/error.h"
#include "rtcg/dg/mesh/geometric_factors.h"
#include "rtcg/dg/output/vtk_cells.h"
#include "rtcg/dg/output/write_file.h"

namespace rtcg::dg {
namespace {

constexpr std::array<std::uint8_t, 3> straight_types = {3, 5, 10};
constexpr std::array<std::uint8_t, 3> lagrange_types = {68, 69, 71};

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result.push_back(c);
    }
  }
  return result;
}

// The XML, and the numbers that follow it: the size in bytes of each array, then its numbers. They
// are in base64, so the file is XML that any parser reads.
class VtuText {
 public:
  void line(const std::string& text) { xml_ += text + "\n"; }

  template <class Number>
  void array(const std::string& type, const std::string& name, std::size_t components,
             const std::vector<Number>& numbers) {
    line(fmt::format(
        R"(<DataArray type="{}" Name="{}" NumberOfComponents="{}" format="appended" offset="{}"/>)",
        type, escaped(name), components, data_.size()));
    const std::uint64_t size_bytes = numbers.size() * sizeof(Number);
    std::string bytes(sizeof size_bytes + size_bytes, '\0');
    std::memcpy(bytes.data(), &size_bytes, sizeof size_bytes);
    if (size_bytes > 0) {
      std::memcpy(bytes.data() + sizeof size_bytes, numbers.data(), size_bytes);
    }
    data_ += to_base64(bytes);
  }

  void reals(const std::string& name, std::size_t components, const std::vector<double>& numbers,
             bool is_single) {
    if (is_single) {
      array("Float32", name, components, std::vector<float>(numbers.begin(), numbers.end()));
    } else {
      array("Float64", name, components, numbers);
    }
  }

  [[nodiscard]] std::string finished() && {
    line("<AppendedData encoding=\"base64\">");
    xml_.push_back('_');
    xml_ += data_;
    xml_ += "\n</AppendedData>\n</VTKFile>\n";
    return std::move(xml_);
  }

 private:
  std::string xml_;
  std::string data_;
};

std::vector<ReferencePoint> reference_points(int dimension, int order) {
  std::vector<ReferencePoint> points;
  for (const std::array<int, 3>& place : lagrange_points(dimension, order)) {
    ReferencePoint point{};
    for (std::size_t axis = 0; axis < static_cast<std::size_t>(dimension); ++axis) {
      point[axis] = -1 + 2.0 * place[axis] / order;
    }
    points.push_back(point);
  }
  return points;
}

// [(element * points + point) * columns + component], further columns being 0.
std::vector<double> values_at_points(const NodalField& field, const Matrix& to_points,
                                     std::size_t elements, std::size_t columns) {
  std::vector<double> result(elements * to_points.rows * columns);
  for (std::size_t component = 0; component < field.components; ++component) {
    for (std::size_t element = 0; element < elements; ++element) {
      const double* nodes =
          field.values.data() + (component * elements + element) * to_points.columns;
      for (std::size_t point = 0; point < to_points.rows; ++point) {
        double sum = 0;
        for (std::size_t node = 0; node < to_points.columns; ++node) {
          sum += to_points(point, node) * nodes[node];
        }
        result[(element * to_points.rows + point) * columns + component] = sum;
      }
    }
  }
  return result;
}

void check_shapes(const Mesh& mesh, const ReferenceElement& element,
                  const std::vector<NodalField>& fields,
                  const std::vector<ElementField>& element_fields) {
  if (mesh.dimension != element.dimension) {
    throw InvalidInput("dg.write_vtu.shape_mismatch",
                       fmt::format("the mesh has dimension {}, the reference element {}",
                                   mesh.dimension, element.dimension));
  }
  const auto check = [](const std::string& name, std::size_t found, std::size_t right) {
    if (found != right) {
      throw InvalidInput(
          "dg.write_vtu.shape_mismatch",
          fmt::format("the field '{}' has {} values instead of {}", name, found, right));
    }
  };
  for (const NodalField& field : fields) {
    check(field.name, field.values.size(),
          field.components * mesh.element_count() * element.node_count());
  }
  for (const ElementField& field : element_fields) {
    check(field.name, field.values.size(), mesh.element_count());
  }
}

struct Cells {
  std::vector<std::int64_t> corners{};
  std::vector<std::int64_t> ends{};
  std::vector<std::uint8_t> types{};
  std::size_t an_element = 1;
};

Cells make_cells(std::size_t elements, std::size_t points, int dimension, int order,
                 bool high_order) {
  Cells cells;
  const auto kind = static_cast<std::size_t>(dimension - 1);
  const auto parts =
      high_order ? std::vector<std::array<int, 4>>{} : lagrange_parts(dimension, order);
  cells.an_element = high_order ? 1 : parts.size();
  for (std::size_t element = 0; element < elements; ++element) {
    const auto first = static_cast<std::int64_t>(element * points);
    for (std::size_t point = 0; high_order && point < points; ++point) {
      cells.corners.push_back(first + static_cast<std::int64_t>(point));
    }
    for (const std::array<int, 4>& part : parts) {
      for (std::size_t corner = 0; corner <= static_cast<std::size_t>(dimension); ++corner) {
        cells.corners.push_back(first + part[corner]);
      }
    }
  }
  const std::size_t corners = cells.corners.size() / (elements * cells.an_element);
  for (std::size_t cell = 0; cell < elements * cells.an_element; ++cell) {
    cells.ends.push_back(static_cast<std::int64_t>((cell + 1) * corners));
    cells.types.push_back(high_order ? lagrange_types[kind] : straight_types[kind]);
  }
  return cells;
}

template <class Number>
std::vector<Number> repeated(const std::vector<Number>& values, std::size_t times) {
  std::vector<Number> result;
  result.reserve(values.size() * times);
  for (const Number& value : values) {
    result.insert(result.end(), times, value);
  }
  return result;
}

void add_cell_data(VtuText& text, const Mesh& mesh, std::size_t an_element,
                   const std::vector<ElementField>& fields, bool is_single) {
  std::vector<std::int32_t> regions(mesh.element_regions.begin(), mesh.element_regions.end());
  regions.resize(mesh.element_count());
  std::vector<std::int64_t> numbers;
  for (std::size_t element = 0; element < mesh.element_count(); ++element) {
    numbers.push_back(mesh.places_in_whole.empty() ? static_cast<std::int64_t>(element)
                                                   : mesh.places_in_whole[element]);
  }
  text.line("<CellData>");
  text.array("Int32", "region", 1, repeated(regions, an_element));
  text.array("Int64", "element", 1, repeated(numbers, an_element));
  for (const ElementField& field : fields) {
    text.reals(field.name, 1, repeated(field.values, an_element), is_single);
  }
  text.line("</CellData>");
}

}  // namespace

void write_vtu(const std::string& path, const Mesh& mesh, const ReferenceElement& element,
               const std::vector<NodalField>& fields,
               const std::vector<ElementField>& element_fields, const VtuOptions& options) {
  check_shapes(mesh, element, fields, element_fields);
  const std::size_t elements = mesh.element_count();
  const Matrix to_points =
      interpolation_matrix(element, reference_points(element.dimension, element.order));
  const Cells cells = make_cells(elements, to_points.rows, element.dimension, element.order,
                                 options.high_order && element.order > 1);
  VtuText text;
  text.line("<?xml version=\"1.0\"?>");
  text.line(fmt::format(
      R"(<VTKFile type="UnstructuredGrid" version="1.0" byte_order="{}" header_type="UInt64">)",
      std::endian::native == std::endian::little ? "LittleEndian" : "BigEndian"));
  text.line("<UnstructuredGrid>");
  text.line(fmt::format(R"(<Piece NumberOfPoints="{}" NumberOfCells="{}">)",
                        elements * to_points.rows, elements * cells.an_element));
  text.line("<PointData>");
  for (const NodalField& field : fields) {
    const std::size_t columns = field.components == 2 ? 3 : field.components;
    text.reals(field.name, columns, values_at_points(field, to_points, elements, columns),
               options.single_precision);
  }
  text.line("</PointData>");
  add_cell_data(text, mesh, cells.an_element, element_fields, options.single_precision);
  text.line("<Points>");
  const NodalField coordinates = {"Points", static_cast<std::size_t>(mesh.dimension),
                                  node_coordinates(mesh, element)};
  text.reals("Points", 3, values_at_points(coordinates, to_points, elements, 3),
             options.single_precision);
  text.line("</Points>\n<Cells>");
  text.array("Int64", "connectivity", 1, cells.corners);
  text.array("Int64", "offsets", 1, cells.ends);
  text.array("UInt8", "types", 1, cells.types);
  text.line("</Cells>\n</Piece>\n</UnstructuredGrid>");
  write_file(path, std::move(text).finished());
}

void write_pvtu(const std::string& path, const std::vector<std::string>& pieces,
                const std::vector<NodalField>& fields,
                const std::vector<ElementField>& element_fields, const VtuOptions& options) {
  const char* real = options.single_precision ? "Float32" : "Float64";
  const auto array = [](const char* type, const std::string& name, std::size_t components) {
    return fmt::format("<PDataArray type=\"{}\" Name=\"{}\" NumberOfComponents=\"{}\"/>\n", type,
                       escaped(name), components);
  };
  std::string text = fmt::format(
      "<?xml version=\"1.0\"?>\n<VTKFile type=\"PUnstructuredGrid\" version=\"1.0\" "
      "byte_order=\"{}\" header_type=\"UInt64\">\n<PUnstructuredGrid "
      "GhostLevel=\"0\">\n<PPointData>\n",
      std::endian::native == std::endian::little ? "LittleEndian" : "BigEndian");
  for (const NodalField& field : fields) {
    text += array(real, field.name, field.components == 2 ? 3 : field.components);
  }
  text +=
      "</PPointData>\n<PCellData>\n" + array("Int32", "region", 1) + array("Int64", "element", 1);
  for (const ElementField& field : element_fields) {
    text += array(real, field.name, 1);
  }
  text += "</PCellData>\n<PPoints>\n" + array(real, "Points", 3) + "</PPoints>\n";
  for (const std::string& piece : pieces) {
    text += fmt::format("<Piece Source=\"{}\"/>\n", escaped(piece));
  }
  write_file(path, text + "</PUnstructuredGrid>\n</VTKFile>\n");
}

void write_pvd(const std::string& path, const std::vector<PvdStep>& steps) {
  std::string text =
      "<?xml version=\"1.0\"?>\n<VTKFile type=\"Collection\" version=\"1.0\">\n"
      "<Collection>\n";
  for (const PvdStep& step : steps) {
    text += fmt::format("<DataSet timestep=\"{}\" part=\"0\" file=\"{}\"/>\n", step.time,
                        escaped(step.file));
  }
  write_file(path, text + "</Collection>\n</VTKFile>\n");
}

}  // namespace rtcg::dg
