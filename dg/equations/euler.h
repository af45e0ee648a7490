#pragma once

#include <map>
#include <string>

#include "rtcg/dg/equations/system.h"

namespace rtcg::dg {

struct EulerOptions {
  int dimension = 2;
  FluxExpr gamma = 1.4;                            ///< ratio of specific heats; may be a parameter
  std::map<std::string, FluxVector> boundaries{};  ///< the state outside, by tag
};

/// Euler's equations of gas dynamics with the local Lax-Friedrichs flux.
///
/// The state is density, energy, then momentum.
[[nodiscard]] System euler(const EulerOptions& options = {});

/// The exact solution at a point: an isentropic vortex of strength 5 that a flow of velocity
/// (1, 0) carries along, on a domain that repeats itself every 10 along x and y. It is smooth but
/// for about 1e-10 at distance 5 from its centre, (5, 0) at time 0; gamma is 1.4.
/// @source Hesthaven and Warburton 2008, ch. 6.6
[[nodiscard]] std::vector<double> isentropic_vortex(const Point& point, double time);

}  // namespace rtcg::dg
