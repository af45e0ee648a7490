#include "rtcg/dg/operators/discretization.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/dg/operators/rank_exchange.h"

namespace rtcg::dg {

void check_not_empty(const Mesh& mesh) {
  if (mesh.elements.empty()) {
    throw InvalidInput("dg.discretize.empty_mesh",
                       fmt::format("the mesh has {} vertices and no elements: give one that has "
                                   "some",
                                   mesh.vertices.size()));
  }
}

Discretization discretize(Mesh mesh, int order) {
  check_not_empty(mesh);
  Discretization result;
  result.element = make_reference_element(mesh.dimension, order);
  result.connectivity = find_connectivity(mesh);
  result.factors = find_geometric_factors(mesh);
  result.mesh = std::move(mesh);
  return result;
}

void check_state(const Discretization& on, const State& state, std::size_t fields,
                 std::string_view what) {
  const std::size_t values = fields * on.element_count() * on.node_count();
  if (state.fields != fields || state.elements != on.element_count() ||
      state.nodes != on.node_count() || state.values.size() != values) {
    throw InvalidInput(
        "dg.check_state.shape",
        fmt::format("{} has {} fields on {} elements of {} nodes and {} values, not {} on {} of {} "
                    "and {}",
                    what, state.fields, state.elements, state.nodes, state.values.size(), fields,
                    on.element_count(), on.node_count(), values));
  }
}

namespace {

void check_field(const Discretization& on, const State& state, std::size_t field) {
  check_state(on, state, state.fields, "the state");
  if (field >= state.fields) {
    throw InvalidInput(
        "dg.check_state.shape",
        fmt::format("there is no field {}: there are {}, counted from 0", field, state.fields));
  }
}

}  // namespace

State interpolate(const Discretization& on, std::size_t fields,
                  const std::function<std::vector<double>(const Point&)>& function) {
  State state(fields, on);
  const std::vector<double> x = node_coordinates(on.mesh, on.element);
  const std::size_t points = on.element_count() * on.node_count();
  for (std::size_t point = 0; point < points; ++point) {
    Point at{};
    for (std::size_t axis = 0; axis < on.factors.dimension; ++axis) {
      at[axis] = x[axis * points + point];
    }
    const std::vector<double> values = function(at);
    if (values.size() != fields) {
      throw InvalidInput("dg.interpolate.field_count",
                         fmt::format("the function to interpolate gives {} numbers, not {}",
                                     values.size(), fields));
    }
    for (std::size_t field = 0; field < fields; ++field) {
      state.values[field * points + point] = values[field];
    }
  }
  return state;
}

double integral(const Discretization& on, const State& state, std::size_t field) {
  check_field(on, state, field);
  const std::size_t nodes = on.node_count();
  std::vector<double> weights(nodes);
  for (std::size_t i = 0; i < nodes; ++i) {
    for (std::size_t j = 0; j < nodes; ++j) {
      weights[j] += on.element.mass(i, j);
    }
  }
  std::vector<double> terms;
  for (std::size_t element = 0; element < on.element_count(); ++element) {
    double part = 0;
    for (std::size_t node = 0; node < nodes; ++node) {
      part += weights[node] * state.at(field, element, node);
    }
    terms.push_back(on.factors.jacobian[element] * part);
  }
  return detail::sum_over_elements(on, terms, 1);
}

namespace detail {

double element_product(const Discretization& on, const double* left, const double* right) {
  using Vector = Eigen::Map<const Eigen::VectorXd>;
  const auto nodes = static_cast<Eigen::Index>(on.node_count());
  // the mass matrix is symmetric, so that the order of its numbers does not matter
  const Eigen::Map<const Eigen::MatrixXd> mass(on.element.mass.values.data(), nodes, nodes);
  return Vector(left, nodes).dot(mass * Vector(right, nodes));
}

}  // namespace detail

double inner_product(const Discretization& on, const State& left, const State& right,
                     std::size_t field) {
  check_field(on, left, field);
  check_field(on, right, field);
  std::vector<double> terms;
  for (std::size_t element = 0; element < on.element_count(); ++element) {
    const std::size_t first = (field * left.elements + element) * left.nodes;
    terms.push_back(on.factors.jacobian[element] *
                    detail::element_product(on, &left.values[first], &right.values[first]));
  }
  return detail::sum_over_elements(on, terms, 1);
}

double l2_norm(const Discretization& on, const State& state) {
  double sum = 0;
  for (std::size_t field = 0; field < state.fields; ++field) {
    sum += inner_product(on, state, state, field);
  }
  return std::sqrt(std::max(sum, 0.0));
}

double l2_distance(const Discretization& on, const State& left, const State& right) {
  check_state(on, left, left.fields, "the first state");
  check_state(on, right, left.fields, "the second state");
  State difference = left;
  for (std::size_t i = 0; i < difference.values.size(); ++i) {
    difference.values[i] -= right.values[i];
  }
  return l2_norm(on, difference);
}

}  // namespace rtcg::dg
