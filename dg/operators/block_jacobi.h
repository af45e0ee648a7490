#pragma once
// Internal header: it is not installed.

#include <functional>
#include <vector>

#include "rtcg/dg/mesh/connectivity.h"
#include "rtcg/dg/operators/discretization.h"

namespace rtcg::dg::detail {

/// A colour for each element, from 0 on, such that elements of one colour are more than `distance`
/// faces apart.
[[nodiscard]] std::vector<std::size_t> colors_of(const Connectivity& connectivity, int distance);

/// The inverses of an operator's diagonal blocks, one for each element: they solve the equation of
/// each element alone. They are self-adjoint and positive in the product of the mass matrix if the
/// operator is.
///
/// On a rank's part of a mesh all ranks make the same call.
///
/// @param apply  the operator, on one field: [element][node] of the rank's elements; on a part that
///               of all ranks, applied as often on each
/// @param reach  the number of faces across which an element affects the operator's result
/// @shape returns [elements, nodes, nodes]
/// @throws InvalidInput  dg.solve_poisson.not_definite: a block is not positive
/// @cost   as many applications as colours times nodes; an inverse for each element on the host
[[nodiscard]] std::vector<double> inverse_blocks(
    const Discretization& on, int reach,
    const std::function<std::vector<double>(const std::vector<double>&)>& apply);

}  // namespace rtcg::dg::detail
