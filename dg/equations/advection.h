#pragma once

#include <map>
#include <string>

#include "rtcg/dg/equations/system.h"

namespace rtcg::dg {

enum class AdvectionFlux { upwind, central, lax_friedrichs };

struct AdvectionOptions {
  FluxVector velocity{1, 0};  ///< one component an axis; may be parameters
  AdvectionFlux flux = AdvectionFlux::upwind;
  SystemForm form = SystemForm::strong;
  /// The exterior value by tag of inflow boundaries: expressions of coordinates, parameters and
  /// boundary values; `interior(field(0, "u"))` on outflow boundaries.
  std::map<std::string, FluxExpr> boundaries{};
};

/// du/dt + div(velocity u) = 0.
[[nodiscard]] System advection(const AdvectionOptions& options);

}  // namespace rtcg::dg
