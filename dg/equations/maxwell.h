#pragma once

#include <map>
#include <string>
#include <vector>

#include "rtcg/dg/equations/system.h"

namespace rtcg::dg {

/// Which components of the fields there are.
enum class MaxwellMode {
  full,                 ///< E and H along x, y, z, in three dimensions
  transverse_magnetic,  ///< E along z, H along x and y, in two
  transverse_electric,  ///< E along x and y, H along z, in two
};

struct MaxwellOptions {
  MaxwellMode mode = MaxwellMode::full;
  FluxExpr alpha = 1;  ///< 1: upwind, 0: central; may be a parameter
  /// Reads the materials `permittivity` and `permeability`, by element. Default: both are 1.
  bool has_materials = false;
  std::vector<std::string> conductors{};           ///< tags of perfect electric conductors
  std::vector<std::string> magnetic_conductors{};  ///< tags of perfect magnetic conductors
  std::vector<std::string> absorbers{};            ///< tags where waves leave (Silver-Mueller)
  /// Tags where a wave enters, and its E and H there: expressions of coordinates, parameters,
  /// boundary values. Outgoing waves are absorbed.
  std::map<std::string, FluxVector> incident{};
  FluxVector current{};  ///< density of a driving current, one component as E has; none: 0
};

/// Maxwell's equations: permittivity dE/dt = curl H - current, permeability dH/dt = -curl E.
///
/// The state is E, then H: three and three components, or those of the mode.
[[nodiscard]] System maxwell(const MaxwellOptions& options);

}  // namespace rtcg::dg
