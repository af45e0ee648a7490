#include "rtcg/dg/equations/wave.h"

namespace rtcg::dg {

System wave(const WaveOptions& options) {
  const FluxExpr u = field(0, "u");
  const std::string axes =
      std::string("xyz").substr(0, static_cast<std::size_t>(options.dimension));
  const FluxVector v = fields(options.dimension, "v", 1).on_axes(axes);
  const FluxVector n = normal(options.dimension).on_axes(axes);
  const FluxExpr c = options.has_materials ? FluxExpr(1) : options.speed;

  System system;
  system.name = "wave";
  system.dimension = options.dimension;
  system.fields = {"u"};
  system.speed = abs(c);
  for (int axis = 0; axis < options.dimension; ++axis) {
    std::vector<FluxExpr> flux(static_cast<std::size_t>(options.dimension) + 1, FluxExpr(0));
    flux[0] = -c * v[axis];
    flux[static_cast<std::size_t>(axis) + 1] = -c * u;
    system.flux.emplace_back(flux, "");
    system.fields.push_back(std::string("v") + "xyz"[axis]);
  }
  const FluxExpr upwinding = options.alpha * abs(c);
  const FluxExpr jump_through = dot(n, jump(v));
  system.surface = concatenate({FluxVector({-0.5 * (c * jump_through + upwinding * jump(u))}),
                                -0.5 * (c * jump(u) + upwinding * jump_through) * n});

  const FluxExpr ui = interior(u);
  const FluxVector vi = interior(v);
  FluxExpr impedance = 1;
  if (options.has_materials) {
    const FluxExpr bulk = material("bulk_modulus");
    const FluxExpr density = material("density");
    const FluxExpr z = sqrt(bulk * density);
    const FluxExpr y = 1 / z;
    impedance = interior(z);
    system.speed = sqrt(bulk / density);
    system.surface = concatenate(
        {FluxVector({-(exterior(z) * jump_through + options.alpha * jump(u)) / (2 * average(z))}),
         -(exterior(y) * jump(u) + options.alpha * jump_through) / (2 * average(y)) * n});
    const std::vector<FluxExpr> inverse(v.count(), 1 / density);
    const std::vector<FluxExpr> weight(v.count(), density);
    system.scale = concatenate({FluxVector({bulk}), FluxVector(inverse, "")});
    system.energy_weights = concatenate({FluxVector({1 / bulk}), FluxVector(weight, "")});
  }
  for (const std::string& tag : options.dirichlet) {
    system.boundaries[tag] = concatenate({FluxVector({-ui}), vi});
  }
  for (const std::string& tag : options.neumann) {
    system.boundaries[tag] = concatenate({FluxVector({ui}), vi - 2 * dot(n, vi) * n});
  }
  // what goes out is u - n.v for positive speeds, u + n.v for negative ones
  const FluxExpr sign = if_positive(c, 1, -1);
  // no wave enters: for upwind fluxes a state of zeros has the fewest operations
  const bool is_upwind =
      options.alpha.kind() == FluxKind::constant && options.alpha.node().value == 1;
  for (const std::string& tag : options.absorbers) {
    if (is_upwind) {
      system.boundaries[tag] = FluxVector(std::vector<FluxExpr>(system.fields.size(), 0), "");
      continue;
    }
    const FluxExpr out = 0.5 * (ui - sign * impedance * dot(n, vi));
    system.boundaries[tag] = concatenate({FluxVector({out}), -sign * out / impedance * n});
  }
  return system;
}

}  // namespace rtcg::dg
