#include "rtcg/dg/flux/interpret_flux.h"

#include <cmath>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"

namespace rtcg::dg {
namespace {

[[noreturn]] void refuse(const FluxRead& read) {
  throw InvalidInput(
      "dg.interpret_flux.missing",
      fmt::format("the flux reads '{}', which the inputs do not have", variable_name(read)));
}

double element(const std::vector<double>& values, const FluxRead& read) {
  const auto index = static_cast<std::size_t>(read.index);
  if (index >= values.size()) {
    refuse(read);
  }
  return values[index];
}

template <class Map>
const auto& named(const Map& map, const FluxRead& read) {
  const auto place = map.find(read.name);
  if (place == map.end()) {
    refuse(read);
  }
  return place->second;
}

double input(const FluxRead& read, const FluxInputs& inputs) {
  const std::size_t side = read.side == FluxSide::exterior ? 1 : 0;
  switch (read.kind) {
    case FluxKind::field:
      return element(side == 0 ? inputs.interior : inputs.exterior, read);
    case FluxKind::normal:
      return element(inputs.normal, read);
    case FluxKind::coordinate:
      return element(inputs.coordinates, read);
    case FluxKind::parameter:
      return named(inputs.parameters, read);
    case FluxKind::material:
      return named(inputs.materials, read)[side];
    case FluxKind::boundary_value:
      return element(named(inputs.boundary_values, read), read);
    case FluxKind::order:
      return inputs.order;
    case FluxKind::mesh_size:
      return inputs.mesh_size;
    case FluxKind::face_jacobian:
      return inputs.face_jacobian;
    default:
      require_internal(read.kind == FluxKind::element_jacobian, "a leaf of the flux language");
      return inputs.element_jacobian[side];
  }
}

template <class Real>
Real call(const Step& step, const std::vector<Real>& values, const FluxInputs& inputs) {
  const auto function = inputs.functions.find(step.function);
  if (function == inputs.functions.end()) {
    throw InvalidInput(
        "dg.interpret_flux.missing",
        fmt::format("the flux calls '{}', which the inputs do not define", step.function));
  }
  std::vector<double> arguments;
  for (const int operand : step.operands) {
    arguments.push_back(values[static_cast<std::size_t>(operand)]);
  }
  return static_cast<Real>(function->second(arguments));
}

template <class Real>
Real compute(const Step& step, const std::vector<Real>& values, const FluxInputs& inputs) {
  const auto at = [&](std::size_t i) { return values[static_cast<std::size_t>(step.operands[i])]; };
  switch (step.kind) {
    case StepKind::constant:
      return static_cast<Real>(step.value);
    case StepKind::read:
      return static_cast<Real>(input(step.read, inputs));
    case StepKind::negate:
      return -at(0);
    case StepKind::add:
      return at(0) + at(1);
    case StepKind::subtract:
      return at(0) - at(1);
    case StepKind::multiply:
      return at(0) * at(1);
    case StepKind::divide:
      return at(0) / at(1);
    case StepKind::minimum:
      return std::fmin(at(0), at(1));
    case StepKind::maximum:
      return std::fmax(at(0), at(1));
    case StepKind::absolute:
      return std::fabs(at(0));
    case StepKind::square_root:
      return std::sqrt(at(0));
    case StepKind::power:
      return std::pow(at(0), at(1));
    case StepKind::if_positive:
      return at(0) > 0 ? at(1) : at(2);
    case StepKind::user_function:
      return call(step, values, inputs);
  }
  throw InternalError("a kind of step", SourceOrigin::current());
}

}  // namespace

template <class Real>
FluxValues interpret_flux(const Evaluators& evaluators, const FluxInputs& inputs) {
  std::vector<Real> values;
  values.reserve(evaluators.steps.size());
  for (const Step& step : evaluators.steps) {
    values.push_back(compute(step, values, inputs));
  }
  const auto pick = [&](const std::vector<int>& outputs) {
    std::vector<double> picked;
    for (const int output : outputs) {
      picked.push_back(values[static_cast<std::size_t>(output)]);
    }
    return picked;
  };
  return {pick(evaluators.outputs), pick(evaluators.neighbour_outputs)};
}

template FluxValues interpret_flux<double>(const Evaluators&, const FluxInputs&);
template FluxValues interpret_flux<float>(const Evaluators&, const FluxInputs&);

}  // namespace rtcg::dg
