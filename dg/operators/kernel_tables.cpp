#include "rtcg/dg/operators/kernel_tables.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"

namespace rtcg::dg::detail {
namespace {

template <class Number>
std::vector<std::byte> bytes_of(const std::vector<Number>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(Number));
  if (!bytes.empty()) {
    std::memcpy(bytes.data(), values.data(), bytes.size());
  }
  return bytes;
}

// Large states: each number is read and written once.
template <class Number>
std::vector<std::byte> ordered_by_element(const State& state) {
  std::vector<std::byte> bytes(state.values.size() * sizeof(Number));
  std::byte* next = bytes.data();
  std::vector<Number> of_nodes(state.nodes);
  for (std::size_t element = 0; element < state.elements; ++element) {
    for (std::size_t field = 0; field < state.fields; ++field) {
      const double* first = &state.values[(field * state.elements + element) * state.nodes];
      std::transform(first, first + state.nodes, of_nodes.begin(),
                     [](double value) { return static_cast<Number>(value); });
      std::memcpy(next, of_nodes.data(), state.nodes * sizeof(Number));
      next += state.nodes * sizeof(Number);
    }
  }
  return bytes;
}

template <class Number>
State ordered_by_field(const std::vector<std::byte>& bytes, std::size_t fields,
                       const Discretization& on) {
  State state(fields, on);
  const std::byte* next = bytes.data();
  std::vector<Number> of_nodes(state.nodes);
  for (std::size_t element = 0; element < state.elements; ++element) {
    for (std::size_t field = 0; field < fields; ++field) {
      std::memcpy(of_nodes.data(), next, state.nodes * sizeof(Number));
      next += state.nodes * sizeof(Number);
      std::copy(of_nodes.begin(), of_nodes.end(),
                &state.values[(field * state.elements + element) * state.nodes]);
    }
  }
  return state;
}

template <class Number>
std::vector<double> numbers_of(const std::vector<std::byte>& bytes) {
  std::vector<Number> numbers(bytes.size() / sizeof(Number));
  if (!numbers.empty()) {
    std::memcpy(numbers.data(), bytes.data(), bytes.size());
  }
  return {numbers.begin(), numbers.end()};
}

class Tables {
 public:
  Tables(const KernelShape& shape, const SystemEvaluators& evaluators, const Discretization& on,
         const SystemData& data, const cgen::Type& real)
      : shape_(shape), evaluators_(evaluators), on_(on), data_(data), real_(real) {}

  // Nothing where no table has that name.
  [[nodiscard]] std::optional<std::vector<std::byte>> make(const std::string& name) const {
    const auto begins = [&](const char* prefix) { return name.rfind(prefix, 0) == 0; };
    if (name == "links") {
      return bytes_of(links());
    }
    if (name == "face_nodes") {
      return bytes_of(face_nodes());
    }
    if (name == "exterior_nodes") {
      return bytes_of(exterior_nodes());
    }
    if (name == "metric") {
      return reals(name, on_.factors.metric);
    }
    if (name == "jacobians") {
      return reals(name, on_.factors.jacobian);
    }
    if (name == "faces") {
      return reals(name, faces());
    }
    if (name == "coordinates") {
      return reals(name, coordinates());
    }
    if (begins("material_")) {
      return reals(name, data_.materials.find(name.substr(9))->second);
    }
    if (begins("boundary_")) {
      return reals(name, boundary_values(name.substr(9)));
    }
    return std::nullopt;
  }

 private:
  // In the precision of the kernels, which has to have room for them.
  [[nodiscard]] std::vector<std::byte> reals(const std::string& name,
                                             const std::vector<double>& values) const {
    if (real_ == cgen::f32) {
      for (const double value : values) {
        if (std::isfinite(value) && !std::isfinite(static_cast<float>(value))) {
          throw InvalidInput("dg.solver.single_range",
                             fmt::format("the table '{}' has the number {:.3g}, too large for "
                                         "single precision: solve in double precision, or in other "
                                         "units",
                                         name, value));
        }
      }
    }
    return as_reals(values, real_);
  }

  [[nodiscard]] std::vector<std::uint32_t> links() const {
    const std::size_t limit = (std::size_t{1} << 32) / link_codes;
    const std::size_t elements = on_.factors.jacobian.size();  // with ghosts
    if (elements > limit || evaluators_.boundaries.size() > link_codes - inside_codes) {
      throw Unsupported(
          "dg.solver.too_large",
          fmt::format("{} elements and {} boundary conditions: there may be {} and {}", elements,
                      evaluators_.boundaries.size(), limit, link_codes - inside_codes));
    }
    const auto permutations = static_cast<int>(face_permutations(shape_.dimension).size());
    std::vector<std::uint32_t> result;
    std::uint32_t boundary_faces = 0;
    for (const FaceLink& link : on_.connectivity.links) {
      const int code =
          link.is_boundary()
              ? inside_codes +
                    evaluators_.boundary_of_tag[static_cast<std::size_t>(link.boundary_tag)]
              : link.face * permutations + link.permutation;
      const std::uint32_t other =
          link.is_boundary() ? boundary_faces++ : static_cast<std::uint32_t>(link.element);
      result.push_back(other * link_codes + static_cast<std::uint32_t>(code));
    }
    return result;
  }

  [[nodiscard]] std::vector<std::uint8_t> face_nodes() const {
    std::vector<std::uint8_t> result;
    for (const std::vector<int>& nodes : on_.element.face_nodes) {
      for (const int node : nodes) {
        result.push_back(static_cast<std::uint8_t>(node));
      }
    }
    return result;
  }

  [[nodiscard]] std::vector<std::uint8_t> exterior_nodes() const {
    std::vector<std::uint8_t> result;
    for (const std::vector<int>& nodes : on_.element.face_nodes) {
      for (const std::vector<int>& places : face_node_permutations(on_.element)) {
        for (const int place : places) {
          result.push_back(static_cast<std::uint8_t>(nodes[static_cast<std::size_t>(place)]));
        }
      }
    }
    return result;
  }

  [[nodiscard]] std::vector<double> faces() const {
    const GeometricFactors& factors = on_.factors;
    std::vector<double> result;
    result.reserve(on_.connectivity.links.size() * static_cast<std::size_t>(shape_.record_words()));
    for (std::size_t element = 0; element < on_.element_count(); ++element) {
      for (std::size_t face = 0; face < factors.faces; ++face) {
        const std::size_t side = element * factors.faces + face;
        const double* normal = &factors.normals[side * factors.dimension];
        result.insert(result.end(), normal, normal + factors.dimension);
        result.push_back(factors.face_scale[side]);
        if (shape_.has_mesh_size) {
          const FaceLink& link = on_.connectivity.links[side];
          double scale = factors.face_scale[side];
          if (!link.is_boundary()) {
            scale = std::min(
                scale, factors.face_scale[static_cast<std::size_t>(link.element) * factors.faces +
                                          static_cast<std::size_t>(link.face)]);
          }
          result.push_back(1 / scale);
        }
        if (shape_.has_face_jacobian) {
          result.push_back(factors.face_jacobian(element, face));
        }
      }
    }
    return result;
  }

  // [element][axis][node]
  [[nodiscard]] std::vector<double> coordinates() const {
    const std::vector<double> x = node_coordinates(on_.mesh, on_.element);
    const std::size_t nodes = on_.node_count();
    std::vector<double> result;
    result.reserve(x.size());
    for (std::size_t element = 0; element < on_.element_count(); ++element) {
      for (std::size_t axis = 0; axis < on_.factors.dimension; ++axis) {
        const double* first = &x[(axis * on_.element_count() + element) * nodes];
        result.insert(result.end(), first, first + nodes);
      }
    }
    return result;
  }

  // Whether the condition on a boundary face reads these boundary values.
  [[nodiscard]] bool is_read_at(const FaceLink& link, const std::string& name) const {
    const int condition = evaluators_.boundary_of_tag[static_cast<std::size_t>(link.boundary_tag)];
    const std::vector<FluxRead> all =
        reads(evaluators_.boundaries[static_cast<std::size_t>(condition)]);
    return std::any_of(all.begin(), all.end(), [&](const FluxRead& read) {
      return read.kind == FluxKind::boundary_value && read.name == name;
    });
  }

  // [boundary face][component][node of the face]; zeros where no condition reads them
  [[nodiscard]] std::vector<double> boundary_values(const std::string& name) const {
    const auto& function = data_.boundary_values.find(name)->second;
    const std::vector<double> x = node_coordinates(on_.mesh, on_.element);
    const auto components = static_cast<std::size_t>(shape_.boundary_components.at(name));
    std::map<int, bool> is_read;  // by tag
    std::vector<double> result;
    for (std::size_t side = 0; side < on_.connectivity.links.size(); ++side) {
      const FaceLink& link = on_.connectivity.links[side];
      if (!link.is_boundary()) {
        continue;
      }
      const std::size_t element = side / on_.factors.faces;
      const std::vector<int>& nodes = on_.element.face_nodes[side % on_.factors.faces];
      const std::size_t first = result.size();
      result.resize(first + components * nodes.size());
      const auto [known, is_new] = is_read.try_emplace(link.boundary_tag, false);
      if (is_new) {
        known->second = is_read_at(link, name);
      }
      for (std::size_t p = 0; p < (known->second ? nodes.size() : 0); ++p) {
        Point at{};
        for (std::size_t axis = 0; axis < on_.factors.dimension; ++axis) {
          at[axis] = x[(axis * on_.element_count() + element) * on_.node_count() +
                       static_cast<std::size_t>(nodes[p])];
        }
        const std::vector<double> values = function(at);
        if (values.size() < components) {
          throw InvalidInput("dg.check_system.boundary_components",
                             fmt::format("the boundary values '{}' have {} components at ({}), but "
                                         "{} are read",
                                         name, values.size(), fmt::join(at, ", "), components));
        }
        for (std::size_t c = 0; c < components; ++c) {
          result[first + c * nodes.size() + p] = values[c];
        }
      }
    }
    return result;
  }

  const KernelShape& shape_;
  const SystemEvaluators& evaluators_;
  const Discretization& on_;
  const SystemData& data_;
  const cgen::Type& real_;
};

Matrix product(const Matrix& left, const Matrix& right) {
  Matrix result{left.rows, right.columns, std::vector<double>(left.rows * right.columns)};
  for (std::size_t i = 0; i < left.rows; ++i) {
    for (std::size_t k = 0; k < left.columns; ++k) {
      for (std::size_t j = 0; j < right.columns; ++j) {
        result(i, j) += left(i, k) * right(k, j);
      }
    }
  }
  return result;
}

Matrix transposed(const Matrix& matrix) {
  Matrix result{matrix.columns, matrix.rows, std::vector<double>(matrix.values.size())};
  for (std::size_t i = 0; i < matrix.rows; ++i) {
    for (std::size_t j = 0; j < matrix.columns; ++j) {
      result(j, i) = matrix(i, j);
    }
  }
  return result;
}

// Entries that are zero but for rounding become zero, so that kernels may leave them out.
Matrix cleaned(Matrix matrix, double factor) {
  double largest = 0;
  for (const double value : matrix.values) {
    largest = std::max(largest, std::abs(value));
  }
  for (double& value : matrix.values) {
    value = std::abs(value) < 1e-13 * largest ? 0 : factor * value;
  }
  return matrix;
}

}  // namespace

std::vector<std::byte> as_reals(const std::vector<double>& values, const cgen::Type& real) {
  if (real == cgen::f32) {
    return bytes_of(std::vector<float>(values.begin(), values.end()));
  }
  return bytes_of(values);
}

std::vector<double> from_reals(const std::vector<std::byte>& bytes, const cgen::Type& real) {
  return real == cgen::f32 ? numbers_of<float>(bytes) : numbers_of<double>(bytes);
}

std::map<std::string, std::vector<std::byte>> make_tables(const std::set<std::string>& wanted,
                                                          const KernelShape& shape,
                                                          const SystemEvaluators& evaluators,
                                                          const Discretization& on,
                                                          const SystemData& data,
                                                          const cgen::Type& real) {
  const Tables tables(shape, evaluators, on, data, real);
  std::map<std::string, std::vector<std::byte>> result;
  for (const std::string& name : wanted) {
    std::optional<std::vector<std::byte>> bytes = tables.make(name);
    if (bytes) {
      // such as of a mesh without boundary faces; memory has a byte at least
      bytes->resize(std::max(bytes->size(), sizeof(double)));
      result[name] = *std::move(bytes);
    }
  }
  return result;
}

std::vector<Matrix> volume_operators(const System& system, const ReferenceElement& element) {
  std::vector<Matrix> result;
  for (const Matrix& derivative : element.derivatives) {
    if (system.form == SystemForm::strong) {
      result.push_back(cleaned(derivative, -1));
    } else {
      result.push_back(
          cleaned(product(element.inverse_mass, product(transposed(derivative), element.mass)), 1));
    }
  }
  return result;
}

Matrix surface_operator(const System& system, const ReferenceElement& element) {
  return cleaned(element.lift, system.form == SystemForm::strong ? 1 : -1);
}

std::vector<std::byte> to_device_order(const State& state, const cgen::Type& real) {
  return real == cgen::f32 ? ordered_by_element<float>(state) : ordered_by_element<double>(state);
}

State from_device_order(const std::vector<std::byte>& bytes, const cgen::Type& real,
                        std::size_t fields, const Discretization& on) {
  return real == cgen::f32 ? ordered_by_field<float>(bytes, fields, on)
                           : ordered_by_field<double>(bytes, fields, on);
}

}  // namespace rtcg::dg::detail
