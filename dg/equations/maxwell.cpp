#include "rtcg/dg/equations/maxwell.h"

namespace rtcg::dg {
namespace {

struct Fields {
  FluxVector e;
  FluxVector h;
};

Fields fields_of(MaxwellMode mode) {
  if (mode == MaxwellMode::full) {
    return {fields(3, "e"), fields(3, "h", 3)};
  }
  if (mode == MaxwellMode::transverse_magnetic) {
    return {fields(1, "e").on_axes("z"), fields(2, "h", 1)};
  }
  return {fields(2, "e"), fields(1, "h", 2).on_axes("z")};
}

FluxVector unit_vector(int dimension, int axis) {
  std::vector<FluxExpr> components(static_cast<std::size_t>(dimension), FluxExpr(0));
  components[static_cast<std::size_t>(axis)] = 1;
  return FluxVector(std::move(components));
}

FluxVector repeated(const FluxExpr& value, std::size_t count) {
  return concatenate({FluxVector(std::vector<FluxExpr>(count, value), "")});
}

std::vector<std::string> names_of(const Fields& w) {
  std::vector<std::string> names;
  for (const auto& [letter, vector] : {std::pair{'e', &w.e}, std::pair{'h', &w.h}}) {
    for (const char axis : vector->axes()) {
      names.push_back(std::string(1, letter) + axis);
    }
  }
  return names;
}

}  // namespace

System maxwell(const MaxwellOptions& options) {
  const auto& [e, h] = fields_of(options.mode);
  const int dimension = options.mode == MaxwellMode::full ? 3 : 2;
  const FluxVector n = normal(dimension);
  const FluxExpr one = 1;
  const FluxExpr eps = options.has_materials ? material("permittivity") : one;
  const FluxExpr mu = options.has_materials ? material("permeability") : one;
  const FluxExpr z = options.has_materials ? sqrt(mu / eps) : one;
  const FluxExpr y = options.has_materials ? sqrt(eps / mu) : one;

  System system;
  system.name = "maxwell";
  system.dimension = dimension;
  system.fields = names_of({e, h});
  for (int axis = 0; axis < dimension; ++axis) {
    const FluxVector along = unit_vector(dimension, axis);
    system.flux.push_back(concatenate({-cross(along, h), cross(along, e)}));
  }
  system.surface = concatenate(
      {cross(n, options.alpha * cross(n, jump(e)) - exterior(z) * jump(h)) / (2 * average(z)),
       cross(n, options.alpha * cross(n, jump(h)) + exterior(y) * jump(e)) / (2 * average(y))});
  if (options.has_materials) {
    system.scale = concatenate({repeated(1 / eps, e.count()), repeated(1 / mu, h.count())});
    system.energy_weights = concatenate({repeated(eps, e.count()), repeated(mu, h.count())});
    system.speed = 1 / sqrt(eps * mu);
  }
  if (options.current.count() > 0) {
    system.source = concatenate({-options.current / eps, repeated(0, h.count())});
  }

  const FluxVector ei = interior(e);
  const FluxVector hi = interior(h);
  for (const std::string& tag : options.conductors) {
    system.boundaries[tag] = concatenate({-ei, hi});
  }
  for (const std::string& tag : options.magnetic_conductors) {
    system.boundaries[tag] = concatenate({ei, -hi});
  }
  // no wave enters. Upwind fluxes read only incoming waves from the exterior, so a state of zeros
  // is enough and takes fewer operations than a state without its incoming part
  const bool is_upwind =
      options.alpha.kind() == FluxKind::constant && options.alpha.node().value == 1;
  for (const std::string& tag : options.absorbers) {
    if (is_upwind) {
      system.boundaries[tag] = repeated(0, system.fields.size());
      continue;
    }
    system.boundaries[tag] =
        concatenate({ei + 0.5 * (cross(n, cross(n, ei)) - interior(z) * cross(n, hi)),
                     hi + 0.5 * (cross(n, cross(n, hi)) + interior(y) * cross(n, ei))});
  }
  for (const auto& [tag, wave] : options.incident) {
    system.boundaries[tag] = wave;
  }
  return system;
}

}  // namespace rtcg::dg
