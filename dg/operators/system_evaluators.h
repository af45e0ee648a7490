#pragma once

#include <optional>
#include <vector>

#include "rtcg/dg/flux/evaluators.h"
#include "rtcg/dg/flux/interpret_flux.h"
#include "rtcg/dg/operators/system_on_mesh.h"

// A system as scalar evaluators, which the interpreter and the generated kernels share.

namespace rtcg::dg::detail {

struct SystemEvaluators {
  Evaluators flux;  ///< F of axis 0 for all fields, then of axis 1, ...
  /// The sum over all axes of metric_parameter(axis) times F along it: the flow through a surface
  /// of constant reference coordinate.
  Evaluators contravariant_flux;
  std::optional<Evaluators> scale{};  ///< where the system has one
  std::optional<Evaluators> source{};
  Evaluators inside;                   ///< the surface flux between two elements
  std::vector<Evaluators> boundaries;  ///< the surface flux of each boundary condition, once
  std::vector<int> boundary_of_tag;  ///< which of `boundaries` holds, by tag of the mesh; -1: none
};

/// The parameter for the derivative of a reference coordinate along an axis.
[[nodiscard]] std::string metric_parameter(std::size_t axis);

/// @throws InvalidInput  dg.check_system.dimension, dg.check_system.field_count, and what
///                       make_evaluators throws
[[nodiscard]] SystemEvaluators evaluators_of(const System& system, const Mesh& mesh);

/// Steps for expressions of one side; their reads are the interior's.
[[nodiscard]] Evaluators one_sided(const FluxVector& values);

/// An element and its neighbour, for the interpreter.
[[nodiscard]] FluxInputs inputs_of_element(const System& system, const Discretization& on,
                                           const SystemData& data, std::size_t element,
                                           double time);

/// @throws InvalidInput  dg.solver.bad_speed: negative, infinite or not a number
void check_speed(const System& system, const Mesh& mesh, std::size_t element, double speed,
                 double time);

/// The integral over the reference element of the product of nodal values of one element.
[[nodiscard]] double element_product(const Discretization& on, const double* left,
                                     const double* right);

}  // namespace rtcg::dg::detail
