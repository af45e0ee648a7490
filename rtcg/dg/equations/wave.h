#pragma once

#include <string>
#include <vector>

#include "rtcg/dg/operators/system.h"

namespace rtcg::dg {

struct WaveOptions {
  int dimension = 2;
  FluxExpr speed = 1;                    ///< constant over the domain; may be a parameter
  FluxExpr alpha = 1;                    ///< 1: upwind, 0: central
  std::vector<std::string> dirichlet{};  ///< tags where u is 0
  std::vector<std::string> neumann{};    ///< tags where the normal component of v is 0
  std::vector<std::string> absorbers{};  ///< tags where waves leave
};

/// The wave equation as a system of first order: du/dt = speed div v, dv/dt = speed grad u.
///
/// The state is u, then v.
[[nodiscard]] System wave(const WaveOptions& options);

}  // namespace rtcg::dg
