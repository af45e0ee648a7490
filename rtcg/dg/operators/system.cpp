#include "rtcg/dg/operators/system.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/dg/operators/system_evaluators.h"

namespace rtcg::dg {

namespace detail {

namespace {

void check_count(const System& system, const FluxVector& vector, const std::string& what) {
  if (vector.count() != system.fields.size()) {
    throw InvalidInput(
        "dg.check_system.field_count",
        fmt::format("{} of '{}' has {} components, but there are {} fields: {}", what, system.name,
                    vector.count(), system.fields.size(), fmt::join(system.fields, ", ")));
  }
}

void check_shape(const System& system, const Mesh& mesh) {
  if (system.dimension != mesh.dimension ||
      system.flux.size() != static_cast<std::size_t>(mesh.dimension)) {
    throw InvalidInput(
        "dg.check_system.dimension",
        fmt::format("'{}' has dimension {} and a flux along {} axes, the mesh has dimension {}",
                    system.name, system.dimension, system.flux.size(), mesh.dimension));
  }
  for (const FluxVector& flux : system.flux) {
    check_count(system, flux, "the flux along an axis");
  }
  check_count(system, system.surface, "the surface flux");
  for (const auto& [tag, state] : system.boundaries) {
    check_count(system, state, "the exterior state on '" + tag + "'");
  }
  const auto check_if_there = [&](const FluxVector& vector, const std::string& what) {
    if (vector.count() > 0) {
      check_count(system, vector, what);
    }
  };
  check_if_there(system.scale, "the scale");
  check_if_there(system.source, "the source");
  check_if_there(system.energy_weights, "the weights of the energy");
}

FluxVector without_axes(const FluxVector& vector) {
  return concatenate({vector});
}

// Kernels would read beside their memory.
void check_index(const System& system, const FluxRead& read) {
  const bool is_field = read.kind == FluxKind::field;
  const bool is_axis = read.kind == FluxKind::normal || read.kind == FluxKind::coordinate;
  const auto count = is_field ? static_cast<int>(system.fields.size()) : system.dimension;
  if ((is_field || is_axis) && (read.index < 0 || read.index >= count)) {
    throw InvalidInput(
        "dg.check_system.index",
        is_field
            ? fmt::format("'{}' reads '{}', which is field {} of the state counted from 0, "
                          "but there are {}: {}",
                          system.name, read.name, read.index, count, fmt::join(system.fields, ", "))
            : fmt::format("'{}' reads '{}' in {} dimension{}", system.name, read.name, count,
                          count == 1 ? "" : "s"));
  }
}

void check_reads(const System& system, const Discretization& on, const SystemData& data,
                 const Evaluators& evaluators) {
  for (const FluxRead& read : reads(evaluators)) {
    check_index(system, read);
    if (read.kind == FluxKind::parameter && read.name != "time" &&
        !data.parameters.contains(read.name) && !data.signals.contains(read.name)) {
      throw InvalidInput(
          "dg.check_system.missing_data",
          fmt::format("'{}' reads the parameter '{}', which has no value", system.name, read.name));
    }
    if (read.kind == FluxKind::material) {
      const auto values = data.materials.find(read.name);
      if (values == data.materials.end() || values->second.size() != on.element_count()) {
        throw InvalidInput(
            "dg.check_system.missing_data",
            fmt::format("'{}' reads the material '{}', which needs a number for each of the {} "
                        "elements",
                        system.name, read.name, on.element_count()));
      }
    }
    if (read.kind == FluxKind::boundary_value && !data.boundary_values.contains(read.name)) {
      throw InvalidInput("dg.check_system.missing_data",
                         fmt::format("'{}' reads the boundary values '{}', which nobody gives",
                                     system.name, read.name));
    }
  }
}

}  // namespace

Evaluators one_sided(const FluxVector& values) {
  return make_evaluators(interior(without_axes(values)));
}

std::string metric_parameter(std::size_t axis) {
  return fmt::format("rtcg_metric_{}", axis);
}

SystemEvaluators evaluators_of(const System& system, const Mesh& mesh) {
  check_shape(system, mesh);
  SystemEvaluators result;
  result.flux = one_sided(concatenate(system.flux));
  FluxVector through(std::vector<FluxExpr>(system.fields.size(), FluxExpr(0)), "");
  for (std::size_t axis = 0; axis < system.flux.size(); ++axis) {
    through =
        through + parameter(metric_parameter(axis)) * without_axes(system.flux[axis]).on_axes("");
  }
  result.contravariant_flux = one_sided(through);
  if (system.scale.count() > 0) {
    result.scale = one_sided(system.scale);
  }
  if (system.source.count() > 0) {
    result.source = one_sided(system.source);
  }
  result.inside = make_evaluators(without_axes(system.surface));
  std::map<std::string, int> numbers;
  for (const auto& [tag, state] : system.boundaries) {
    EvaluatorOptions options;
    options.boundary_state = without_axes(state);
    Evaluators condition = make_evaluators(without_axes(system.surface), options);
    const auto same = std::find(result.boundaries.begin(), result.boundaries.end(), condition);
    numbers[tag] = static_cast<int>(same - result.boundaries.begin());
    if (same == result.boundaries.end()) {
      result.boundaries.push_back(std::move(condition));
    }
  }
  for (const std::string& tag : mesh.boundary_tags) {
    const auto number = numbers.find(tag);
    result.boundary_of_tag.push_back(number == numbers.end() ? -1 : number->second);
  }
  return result;
}

FluxInputs inputs_of_element(const System& system, const Discretization& on, const SystemData& data,
                             std::size_t element, double time) {
  FluxInputs inputs;
  inputs.parameters = parameters_at(data, time);
  for (const auto& [name, values] : data.materials) {
    inputs.materials[name] = {values[element], values[element]};
  }
  inputs.order = on.element.order;
  inputs.element_jacobian = {on.factors.jacobian[element], on.factors.jacobian[element]};
  inputs.functions = system.functions;
  return inputs;
}

}  // namespace detail

std::map<std::string, double, std::less<>> parameters_at(const SystemData& data, double time) {
  auto result = data.parameters;
  for (const auto& [name, signal] : data.signals) {
    result[name] = signal(time);
  }
  result["time"] = time;
  return result;
}

void check_system(const System& system, const Discretization& on, const SystemData& data) {
  const detail::SystemEvaluators evaluators = detail::evaluators_of(system, on.mesh);
  if (is_zero(evaluators.inside) && !is_zero(evaluators.flux)) {
    throw InvalidInput(
        "dg.check_system.zero_surface",
        fmt::format("the surface flux {} of '{}' is zero whatever the fields {} are, so that no "
                    "element hears of its neighbours",
                    to_string(system.surface), system.name, fmt::join(system.fields, ", ")));
  }
  std::set<std::string> tags;
  for (const auto& [tag, state] : system.boundaries) {
    tags.insert(tag);
  }
  check_boundary_coverage(on.mesh, on.connectivity, tags);
  std::vector<Evaluators> all = evaluators.boundaries;
  all.push_back(evaluators.flux);
  all.push_back(evaluators.inside);
  all.push_back(detail::one_sided({system.speed}));
  for (const FluxVector* vector : {&system.scale, &system.source, &system.energy_weights}) {
    all.push_back(detail::one_sided(*vector));
  }
  for (const Evaluators& each : all) {
    detail::check_reads(system, on, data, each);
  }
}

double energy(const System& system, const Discretization& on, const SystemData& data,
              const State& state) {
  const Evaluators weights = detail::one_sided(system.energy_weights);
  double sum = 0;
  FluxValues weight;
  for (std::size_t element = 0; element < on.element_count(); ++element) {
    if (system.energy_weights.count() > 0) {
      weight = interpret_flux(weights, detail::inputs_of_element(system, on, data, element, 0));
    }
    for (std::size_t field = 0; field < state.fields; ++field) {
      const double* values = &state.values[(field * state.elements + element) * state.nodes];
      sum += (weight.interior.empty() ? 1 : weight.interior[field]) * on.factors.jacobian[element] *
             detail::element_product(on, values, values);
    }
  }
  return sum / 2;
}

double largest_speed(const System& system, const Discretization& on, const SystemData& data,
                     const State& state) {
  const Evaluators speed = detail::one_sided({system.speed});
  const std::vector<FluxRead> all = reads(speed);
  const auto reads_of = [&](FluxKind kind) {
    return std::any_of(all.begin(), all.end(),
                       [&](const FluxRead& read) { return read.kind == kind; });
  };
  const bool depends_on_nodes = reads_of(FluxKind::field) || reads_of(FluxKind::coordinate);
  const bool depends_on_elements =
      depends_on_nodes || reads_of(FluxKind::material) || reads_of(FluxKind::element_jacobian);
  const std::vector<double> x =
      depends_on_nodes ? node_coordinates(on.mesh, on.element) : std::vector<double>();
  const std::size_t points = state.elements * state.nodes;
  double result = 0;
  for (std::size_t element = 0; element < (depends_on_elements ? state.elements : 1); ++element) {
    FluxInputs inputs = detail::inputs_of_element(system, on, data, element, 0);
    for (std::size_t node = 0; node < (depends_on_nodes ? state.nodes : 1); ++node) {
      if (depends_on_nodes) {
        inputs.interior.clear();
        for (std::size_t field = 0; field < state.fields; ++field) {
          inputs.interior.push_back(state.at(field, element, node));
        }
        inputs.coordinates.clear();
        for (std::size_t axis = 0; axis < on.factors.dimension; ++axis) {
          inputs.coordinates.push_back(x[axis * points + element * state.nodes + node]);
        }
      }
      result = std::max(result, interpret_flux(speed, inputs).interior[0]);
    }
  }
  return result;
}

}  // namespace rtcg::dg
