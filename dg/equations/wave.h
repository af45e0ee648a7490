#pragma once

#include <string>
#include <vector>

#include "rtcg/dg/equations/system.h"

namespace rtcg::dg {

struct WaveOptions {
  int dimension = 2;
  FluxExpr speed = 1;  ///< constant over the domain; may be a parameter
  /// `bulk_modulus` and `density` are materials; the speed is the root of their quotient.
  bool has_materials = false;
  FluxExpr alpha = 1;                    ///< 1: upwind, 0: central
  std::vector<std::string> dirichlet{};  ///< tags where u is 0
  std::vector<std::string> neumann{};    ///< tags where the normal component of v is 0
  std::vector<std::string> absorbers{};  ///< tags where waves leave
};

/// The wave equation as a system of first order: du/dt = speed div v, dv/dt = speed grad u. With
/// materials du/dt = bulk_modulus div v, density dv/dt = grad u: waves are partly reflected where
/// they change between elements.
///
/// The state is u, then v.
[[nodiscard]] System wave(const WaveOptions& options);

}  // namespace rtcg::dg
