#pragma once

#include <map>
#include <string>

#include "rtcg/dg/equations/system.h"

namespace rtcg::dg {

enum class PoissonMethod {
  interior_penalty,  ///< symmetric
  local_dg,          ///< local discontinuous Galerkin: q and u from opposite sides of a face
};

struct PoissonOptions {
  int dimension = 2;
  PoissonMethod method = PoissonMethod::interior_penalty;
  FluxExpr penalty = 1;  ///< factor of (order + 1)^2 / mesh_size; 1 is enough on simplices
  /// K of -div(K grad u): none: 1; one component: a number; one an axis: along each; dimension^2: a
  /// symmetric tensor by rows. Positive. May read materials, and so be another in each element.
  FluxVector diffusion{};
  std::map<std::string, FluxExpr> dirichlet{};  ///< tags and the values of u there
  std::map<std::string, FluxExpr> neumann{};    ///< tags and the inflow there: n.K grad u
};

/// div(K grad u) as a system of first order whose right-hand side is taken twice.
///
/// The state is u, a field that is 1, the gradient q of u, and for interior penalty the gradients g
/// within the elements. With (u, 1, any, any) the right-hand sides of q and g are the gradients;
/// with (u, 1, q, g) that of u is div(K grad u). The field that is 1 is -1 outside of the boundary,
/// so its average is 0 on boundary faces only. The derivatives given on Neumann boundaries are
/// those along K n, the flow through the boundary.
/// @throws InvalidInput  dg.poisson.diffusion_count
/// @source Hesthaven and Warburton 2008, ch. 7.2; Cockburn and Shu 1998
[[nodiscard]] System poisson(const PoissonOptions& options);

}  // namespace rtcg::dg
