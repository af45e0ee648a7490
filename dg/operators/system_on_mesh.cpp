#include "rtcg/dg/operators/system_on_mesh.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <set>

#include <fmt/format.h>

#include "rtcg/cgen/dialect/dialect.h"
#include "rtcg/cgen/support/error.h"
#include "rtcg/cgen/support/name_generator.h"
#include "rtcg/dg/operators/rank_exchange.h"
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

// Otherwise kernels would read outside of their memory.
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
  if (read.kind == FluxKind::boundary_value && read.index < 0) {
    throw InvalidInput("dg.check_system.index",
                       fmt::format("'{}' reads component {} of the boundary values '{}': they are "
                                   "counted from 0",
                                   system.name, read.index, read.name));
  }
}

// The place of an expression in a system, which decides what it may read.
struct Part {
  std::string what;
  const Evaluators* evaluators;
  std::vector<FluxKind> absent;  ///< reads that this place does not have
};

std::string kind_text(FluxKind kind) {
  switch (kind) {
    case FluxKind::field:
      return "the field";
    case FluxKind::coordinate:
      return "the coordinate";
    case FluxKind::normal:
      return "the normal";
    case FluxKind::boundary_value:
      return "the boundary values";
    default:
      return "the number of a face";
  }
}

void check_place(const System& system, const Part& part, const FluxRead& read) {
  if (std::find(part.absent.begin(), part.absent.end(), read.kind) != part.absent.end()) {
    throw InvalidInput(
        "dg.check_system.misplaced_read",
        fmt::format("{} of '{}' reads {} '{}', which {}: use {}", part.what, system.name,
                    kind_text(read.kind), read.name,
                    read.kind == FluxKind::boundary_value ? "exists on boundaries only"
                    : (read.kind == FluxKind::field || read.kind == FluxKind::coordinate)
                        ? "is another at each node"
                        : "exists on faces only",
                    read.kind == FluxKind::boundary_value ? "a boundary state that reads it"
                    : (read.kind == FluxKind::field || read.kind == FluxKind::coordinate)
                        ? "a number or a material"
                        : "the surface flux or a boundary state"));
  }
}

// Generated kernels make names of these.
void check_name(const System& system, const std::string& name, const char* what) {
  if (name.starts_with("rtcg_")) {
    throw InvalidInput("dg.check_system.reserved_name",
                       fmt::format("'{}' has a {} '{}': names that begin with 'rtcg_' are those of "
                                   "generated code, take another",
                                   system.name, what, name));
  }
  if (!is_identifier(name)) {
    throw InvalidInput("dg.check_system.bad_name",
                       fmt::format("'{}' has a {} '{}': write letters, digits and underscores, no "
                                   "digit first",
                                   system.name, what, name));
  }
}

// A function of the user must not be one that kernels define.
void check_function(const System& system, const std::string& name) {
  static const std::set<std::string_view> taken = {"volume_flux",
                                                   "volume_weights",
                                                   "surface_flux",
                                                   "scale_at",
                                                   "source_at",
                                                   "stage",
                                                   "largest_speeds",
                                                   "update",
                                                   "rtcg_kernel",
                                                   "operators",
                                                   "volume_fluxes_at_nodes",
                                                   "surface_fluxes_at_nodes",
                                                   "update_state",
                                                   "main"};
  bool is_taken =
      taken.contains(name) || name.starts_with("boundary_flux_") || name.starts_with("rtcg_");
  for (const cgen::Dialect dialect :
       {cgen::Dialect::c, cgen::Dialect::cpp, cgen::Dialect::cuda, cgen::Dialect::opencl}) {
    is_taken = is_taken || cgen::is_reserved(dialect, name);
  }
  if (is_taken) {
    throw InvalidInput("dg.check_system.reserved_name",
                       fmt::format("'{}' calls a function '{}', which is a name of the language or "
                                   "of generated code: take another",
                                   system.name, name));
  }
}

[[noreturn]] void refuse_missing(const System& system, const std::string& problem) {
  throw InvalidInput("dg.check_system.missing_data",
                     fmt::format("'{}' reads {}", system.name, problem));
}

void check_data(const System& system, const Discretization& on, const SystemData& data,
                const FluxRead& read) {
  if (read.kind == FluxKind::parameter) {
    check_name(system, read.name, "parameter");
    const auto signal = data.signals.find(read.name);
    if (read.name != "time" && !data.parameters.contains(read.name) &&
        (signal == data.signals.end() || !signal->second)) {
      refuse_missing(system, fmt::format("the parameter '{}', which has no value", read.name));
    }
  }
  if (read.kind == FluxKind::material) {
    check_name(system, read.name, "material");
    const auto values = data.materials.find(read.name);
    if (values == data.materials.end() || values->second.size() != on.element_count()) {
      refuse_missing(system,
                     fmt::format("the material '{}', which needs a number for each of the {} "
                                 "elements",
                                 read.name, on.element_count()));
    }
  }
  if (read.kind == FluxKind::boundary_value) {
    check_name(system, read.name, "set of boundary values");
    const auto function = data.boundary_values.find(read.name);
    if (function == data.boundary_values.end() || !function->second) {
      refuse_missing(system, fmt::format("the boundary values '{}', which are not set", read.name));
    }
  }
}

void check_part(const System& system, const Discretization& on, const SystemData& data,
                const Part& part) {
  for (const FluxRead& read : reads(*part.evaluators)) {
    check_index(system, read);
    check_place(system, part, read);
    check_data(system, on, data, read);
  }
  for (const Step& step : part.evaluators->steps) {
    if (step.kind == StepKind::user_function) {
      check_function(system, step.function);
    }
  }
}

// Each name of the data means one thing.
void check_names_of_data(const System& system, const SystemData& data) {
  if (data.parameters.contains("time") || data.signals.contains("time")) {
    throw InvalidInput("dg.check_system.reserved_name",
                       fmt::format("the data of '{}' have a parameter 'time', which is the time of "
                                   "the run: take another name",
                                   system.name));
  }
  for (const auto& [name, signal] : data.signals) {
    if (data.parameters.contains(name)) {
      throw InvalidInput("dg.check_system.duplicate_name",
                         fmt::format("'{}' is a parameter and a signal of '{}': give one of them",
                                     name, system.name));
    }
  }
}

void check_fields(const System& system) {
  if (system.fields.empty()) {
    throw InvalidInput("dg.check_system.field_count",
                       fmt::format("'{}' has no fields: name one at least", system.name));
  }
  std::set<std::string> names;
  for (const std::string& name : system.fields) {
    const bool is_fine = !name.empty() && std::none_of(name.begin(), name.end(), [](char c) {
      return static_cast<unsigned char>(c) < ' ' || c == '\x7f';
    });
    if (!is_fine) {
      throw InvalidInput("dg.check_system.bad_name",
                         fmt::format("'{}' has a field '{}': write a name without control "
                                     "characters",
                                     system.name, to_identifier(name)));
    }
    if (!names.insert(name).second) {
      throw InvalidInput("dg.check_system.duplicate_name",
                         fmt::format("'{}' has two fields '{}': rename one", system.name, name));
    }
  }
}

// A sum over both sides of a face that is not zero proves that something is lost; what cannot be
// computed proves nothing.
void check_conservation(const System& system, const SystemData& data) {
  if (system.form != SystemForm::weak || !system.must_conserve ||
      !why_not_conservative(without_axes(system.surface))) {
    return;
  }
  EvaluatorOptions options;
  options.neighbour = true;
  const Evaluators both = make_evaluators(without_axes(system.surface), options);
  for (const Step& step : both.steps) {
    const auto function = system.functions.find(step.function);
    if (step.kind == StepKind::user_function &&
        (function == system.functions.end() || !function->second)) {
      return;
    }
  }
  std::mt19937 random(3);
  const auto number = [&](double low, double high) {
    return low + (high - low) * (static_cast<double>(random() % 10'007) / 10'007);
  };
  for (int trial = 0; trial < 8; ++trial) {
    FluxInputs inputs;
    inputs.functions = system.functions;
    inputs.parameters = parameters_at(data, 0);
    for (const auto& [name, values] : data.materials) {
      inputs.materials[name] = {number(0.5, 2), number(0.5, 2)};
    }
    for (std::vector<double>* state : {&inputs.interior, &inputs.exterior}) {
      for (std::size_t field = 0; field < system.fields.size(); ++field) {
        // such as densities and energies are, where a state must be one of a gas
        state->push_back(number(-1, 1) + (field == 0 ? 2 : field == 1 ? 8 : 0));
      }
    }
    double square = 0;
    for (int axis = 0; axis < system.dimension; ++axis) {
      inputs.normal.push_back(number(-1, 1) + 0.01);
      inputs.coordinates.push_back(number(0, 1));
      square += inputs.normal.back() * inputs.normal.back();
    }
    for (double& component : inputs.normal) {
      component /= std::sqrt(square);
    }
    inputs.order = 3;
    inputs.mesh_size = number(0.5, 2);
    inputs.face_jacobian = number(0.5, 2);
    inputs.element_jacobian = {number(0.5, 2), number(0.5, 2)};
    const FluxValues values = interpret_flux(both, inputs);
    for (std::size_t field = 0; field < system.fields.size(); ++field) {
      const double sum = values.interior[field] + values.neighbour[field];
      const double scale = std::abs(values.interior[field]) + std::abs(values.neighbour[field]) + 1;
      constexpr double rounding = 1e-9;  // of some hundred operations on numbers around 1 to 10
      if (std::isfinite(sum) && std::isfinite(scale) && std::abs(sum) > rounding * scale) {
        throw InvalidInput(
            "dg.check_system.not_conservative",
            fmt::format("the surface flux of '{}' for '{}' gives {:.6g} to one element and {:.6g} "
                        "to its neighbour, which is not conservative in the weak form: give "
                        "opposite numbers, or set must_conserve = false",
                        system.name, system.fields[field], values.interior[field],
                        values.neighbour[field]));
      }
    }
  }
}

// Whether the values differ from element to element of one state.
bool reads_elements(const Evaluators& values) {
  const std::vector<FluxRead> all = reads(values);
  return std::any_of(all.begin(), all.end(), [](const FluxRead& read) {
    return read.kind == FluxKind::material || read.kind == FluxKind::element_jacobian;
  });
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

void check_speed(const System& system, const Mesh& mesh, std::size_t element, double speed,
                 double time) {
  if (!std::isfinite(speed) || speed < 0) {
    throw InvalidInput(
        "dg.solver.bad_speed",
        fmt::format("the speed of waves is {} in {} at time {}: '{}' has none for the state there",
                    speed, element_name(mesh, element), time, system.name));
  }
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

void check_system(const System& system, const Discretization& on, const SystemData& data) {
  detail::check_fields(system);
  detail::check_names_of_data(system, data);
  const detail::SystemEvaluators evaluators = detail::evaluators_of(system, on.mesh);
  if (is_zero(evaluators.inside) && !is_zero(evaluators.flux)) {
    throw InvalidInput(
        "dg.check_system.zero_surface",
        fmt::format("the surface flux {} of '{}' is zero for all values of the fields {}, so "
                    "elements do not depend on their neighbours",
                    to_string(system.surface), system.name, fmt::join(system.fields, ", ")));
  }
  std::set<std::string> tags;
  for (const auto& [tag, state] : system.boundaries) {
    tags.insert(tag);
  }
  check_boundary_coverage(on.mesh, on.connectivity, tags);
  const std::vector<FluxKind> of_faces = {FluxKind::normal, FluxKind::boundary_value,
                                          FluxKind::mesh_size, FluxKind::face_jacobian};
  std::vector<FluxKind> of_nodes_and_faces = of_faces;
  of_nodes_and_faces.insert(of_nodes_and_faces.end(), {FluxKind::field, FluxKind::coordinate});
  const Evaluators speed = detail::one_sided({system.speed});
  const Evaluators scale = detail::one_sided(system.scale);
  const Evaluators source = detail::one_sided(system.source);
  const Evaluators weights = detail::one_sided(system.energy_weights);
  std::vector<detail::Part> parts = {
      {"the flux", &evaluators.flux, of_faces},
      {"the surface flux", &evaluators.inside, {FluxKind::boundary_value}},
      {"the speed", &speed, of_faces},
      {"the scale", &scale, of_faces},
      {"the source", &source, of_faces},
      {"a weight of the energy", &weights, of_nodes_and_faces}};
  for (const Evaluators& boundary : evaluators.boundaries) {
    parts.push_back({"a boundary state", &boundary, {}});
  }
  for (const detail::Part& part : parts) {
    detail::check_part(system, on, data, part);
  }
  const std::vector<FluxRead> across = reads(evaluators.inside);
  if (!is_zero(evaluators.flux) &&
      std::none_of(across.begin(), across.end(), [](const FluxRead& read) {
        return read.kind == FluxKind::field && read.side == FluxSide::exterior;
      })) {
    throw InvalidInput(
        "dg.check_system.no_exterior",
        fmt::format("the surface flux {} of '{}' reads no exterior value of {}, so elements do not "
                    "depend on their neighbours",
                    to_string(system.surface), system.name, fmt::join(system.fields, ", ")));
  }
  detail::check_conservation(system, data);
}

double energy(const System& system, const Discretization& on, const SystemData& data,
              const State& state, double time) {
  check_state(on, state, system.fields.size(), "the state");
  const Evaluators weights = detail::one_sided(system.energy_weights);
  const bool is_of_element = detail::reads_elements(weights);
  std::vector<double> terms;
  terms.reserve(state.elements * state.fields);
  FluxValues weight;
  for (std::size_t element = 0; element < on.element_count(); ++element) {
    if (system.energy_weights.count() > 0 && (is_of_element || element == 0)) {
      weight = interpret_flux(weights, detail::inputs_of_element(system, on, data, element, time));
    }
    for (std::size_t field = 0; field < state.fields; ++field) {
      const double* values = &state.values[(field * state.elements + element) * state.nodes];
      terms.push_back((weight.interior.empty() ? 1 : weight.interior[field]) *
                      on.factors.jacobian[element] * detail::element_product(on, values, values));
    }
  }
  return detail::sum_over_elements(on, terms, state.fields) / 2;
}

double largest_speed(const System& system, const Discretization& on, const SystemData& data,
                     const State& state, double time) {
  const Evaluators speed = detail::one_sided({system.speed});
  const std::vector<FluxRead> all = reads(speed);
  const auto reads_of = [&](FluxKind kind) {
    return std::any_of(all.begin(), all.end(),
                       [&](const FluxRead& read) { return read.kind == kind; });
  };
  const bool depends_on_nodes = reads_of(FluxKind::field) || reads_of(FluxKind::coordinate);
  const bool depends_on_elements = depends_on_nodes || detail::reads_elements(speed);
  const std::vector<double> x =
      depends_on_nodes ? node_coordinates(on.mesh, on.element) : std::vector<double>();
  if (depends_on_nodes) {
    check_state(on, state, system.fields.size(), "the state");
  }
  const std::size_t points = state.elements * state.nodes;
  double result = 0;
  const std::size_t elements = depends_on_elements ? on.element_count() : 1;
  for (std::size_t element = 0; element < elements; ++element) {
    FluxInputs inputs = detail::inputs_of_element(system, on, data, element, time);
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
      const double found = interpret_flux(speed, inputs).interior[0];
      detail::check_speed(system, on.mesh, element, found, time);
      result = std::max(result, found);
    }
  }
  return result;
}

}  // namespace rtcg::dg
