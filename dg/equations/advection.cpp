#include "rtcg/dg/equations/advection.h"

namespace rtcg::dg {

System advection(const AdvectionOptions& options) {
  const auto dimension = static_cast<int>(options.velocity.count());
  const FluxExpr u = field(0, "u");
  const FluxExpr speed = norm(options.velocity);
  const FluxExpr through = dot(normal(dimension), options.velocity);

  System system;
  system.name = "advection";
  system.dimension = dimension;
  system.fields = {"u"};
  system.form = options.form;
  system.speed = speed;
  for (int axis = 0; axis < dimension; ++axis) {
    system.flux.push_back({options.velocity[axis] * u});
  }
  FluxExpr flux = through * average(u);
  if (options.flux == AdvectionFlux::upwind) {
    flux = if_positive(through, through * interior(u), through * exterior(u));
  } else if (options.flux == AdvectionFlux::lax_friedrichs) {
    flux = through * average(u) + 0.5 * speed * jump(u);
  }
  if (options.form == SystemForm::weak) {
    system.surface = {flux};
  } else if (options.flux == AdvectionFlux::upwind) {
    system.surface = {if_positive(through, 0, through * jump(u))};
  } else {
    system.surface = {through * interior(u) - flux};
  }
  for (const auto& [tag, outside] : options.boundaries) {
    system.boundaries[tag] = {outside};
  }
  return system;
}

}  // namespace rtcg::dg
