#pragma once

#include "rtcg/dg/flux/flux_vector.h"
#include "rtcg/dg/flux/interpret_flux.h"

// Fluxes and numbers that several tests use.

namespace rtcg::dg::testing {

/// Upwind (alpha = 1) or central (alpha = 0) flux of Maxwell's equations, E before H, unit
/// material.
inline FluxVector maxwell_flux(const FluxExpr& alpha) {
  const FluxVector w = fields(6);
  const FluxVector e = w.slice(0, 3);
  const FluxVector h = w.slice(3, 3);
  const FluxVector n = normal(3);
  return concatenate({0.5 * cross(n, jump(h) - alpha * cross(n, jump(e))),
                      -0.5 * cross(n, jump(e) + alpha * cross(n, jump(h)))});
}

/// The exterior state of a perfect electric conductor.
inline FluxVector conductor_state() {
  const FluxVector w = fields(6);
  return concatenate({-interior(w.slice(0, 3)), interior(w.slice(3, 3))});
}

inline FluxVector absorbing_state() {
  const FluxVector w = fields(6);
  const FluxVector e = interior(w.slice(0, 3));
  const FluxVector h = interior(w.slice(3, 3));
  const FluxVector n = normal(3);
  return concatenate({e + 0.5 * (cross(n, cross(n, e)) - cross(n, h)),
                      h + 0.5 * (cross(n, cross(n, h)) + cross(n, e))});
}

/// n = (2, -1, 2) / 3 and a state on either side.
inline FluxInputs maxwell_inputs() {
  FluxInputs inputs;
  inputs.interior = {1, 2, 3, 4, 5, 6};
  inputs.exterior = {0.5, -1, 2, 3, 7, 1};
  inputs.normal = {2.0 / 3, -1.0 / 3, 2.0 / 3};
  return inputs;
}

/// Lax-Friedrichs flux of Euler's equations in two dimensions, in weak form; the state is density,
/// energy, momentum.
inline FluxVector euler_flux(const FluxExpr& gamma) {
  const FluxVector q = fields(4, "q");
  const FluxExpr density = q[0];
  const FluxExpr energy = q[1];
  const FluxVector momentum = q.slice(2, 2);
  const FluxVector n = normal(2);
  const FluxExpr pressure = (gamma - 1) * (energy - 0.5 * dot(momentum, momentum) / density);
  const FluxExpr normal_velocity = dot(n, momentum) / density;
  const FluxExpr speed = norm(momentum) / density + sqrt(gamma * pressure / density);
  const FluxExpr fastest = max(interior(speed), exterior(speed));
  const FluxVector through = concatenate({FluxVector({density * normal_velocity}),
                                          FluxVector({(energy + pressure) * normal_velocity}),
                                          normal_velocity * momentum + pressure * n});
  return average(through) + 0.5 * fastest * jump(q.on_axes(""));
}

}  // namespace rtcg::dg::testing
