#include "rtcg/dg/equations/euler.h"

#include <cmath>
#include <numbers>

namespace rtcg::dg {

System euler(const EulerOptions& options) {
  const FluxExpr density = field(0, "density");
  const FluxExpr energy = field(1, "energy");
  const std::string axes =
      std::string("xyz").substr(0, static_cast<std::size_t>(options.dimension));
  const FluxVector momentum = fields(options.dimension, "momentum", 2).on_axes(axes);
  const FluxVector n = normal(options.dimension).on_axes(axes);
  const FluxExpr pressure =
      (options.gamma - 1) * (energy - 0.5 * dot(momentum, momentum) / density);
  const FluxVector velocity = momentum / density;
  const FluxExpr speed = norm(velocity) + sqrt(options.gamma * pressure / density);

  // what flows along a direction, of everything that the state counts
  const auto flux_along = [&](const FluxVector& direction) {
    const FluxExpr along = dot(direction, velocity);
    return concatenate({FluxVector({density * along}), FluxVector({(energy + pressure) * along}),
                        along * momentum + pressure * direction});
  };

  System system;
  system.name = "euler";
  system.dimension = options.dimension;
  system.fields = {"density", "energy"};
  system.form = SystemForm::weak;
  for (int axis = 0; axis < options.dimension; ++axis) {
    std::vector<FluxExpr> direction(static_cast<std::size_t>(options.dimension), FluxExpr(0));
    direction[static_cast<std::size_t>(axis)] = 1;
    system.flux.push_back(flux_along(FluxVector(direction, axes)));
    system.fields.push_back(std::string("momentum_") + "xyz"[axis]);
  }
  const FluxVector state = concatenate({FluxVector({density, energy}, ""), momentum});
  const FluxExpr fastest = max(interior(speed), exterior(speed));
  system.surface = average(flux_along(n)) + 0.5 * fastest * jump(state);
  system.speed = speed;
  system.boundaries = options.boundaries;
  return system;
}

std::vector<double> isentropic_vortex(const Point& point, double time) {
  constexpr double gamma = 1.4;
  constexpr double strength = 5;
  constexpr double period = 10;
  double x = point[0] - 5 - time;
  double y = point[1];
  x -= period * std::round(x / period);
  y -= period * std::round(y / period);
  const double swirl = strength * std::exp(1 - x * x - y * y) / (2 * std::numbers::pi);
  const double u = 1 - swirl * y;
  const double v = swirl * x;
  const double density = std::pow(1 - (gamma - 1) / (4 * gamma) * swirl * swirl, 1 / (gamma - 1));
  const double pressure = std::pow(density, gamma);
  return {density, pressure / (gamma - 1) + 0.5 * density * (u * u + v * v), density * u,
          density * v};
}

}  // namespace rtcg::dg
