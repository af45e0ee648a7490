#pragma once

#include <set>
#include <string>
#include <vector>

#include "rtcg/cgen/ast/module.h"
#include "rtcg/dg/flux/evaluators.h"

namespace rtcg::dg {

/// A parameter of a generated flux function.
struct FluxArgument {
  std::string name;
  FluxRead read;  ///< its value; of an array, the kind, side and name of its elements
  int count = 0;  ///< elements of an array; 0: a number
};

struct EmitOptions {
  cgen::Type real = cgen::f64;
  std::string name = "flux";
  /// Text that defines the user functions that the flux calls, in the language of the target;
  /// copied in front. Each takes and gives numbers of type `real`.
  std::string definitions{};
};

struct EmittedFlux {
  cgen::Module module;
  /// In the order of the parameters; the outputs `result` and, with a neighbour,
  /// `neighbour_result` follow, arrays of one number a component.
  std::vector<FluxArgument> arguments;
  /// The user functions that it calls.
  std::set<std::string> functions{};
};

/// A device function that computes all components at one point of one face:
///
///   void flux(const double *interior, const double *exterior, const double *n, double alpha,
///             double *result)
///
/// The same module prints for every dialect. Only values that the evaluators read are parameters.
[[nodiscard]] EmittedFlux emit_flux(const Evaluators& evaluators, const EmitOptions& options = {});

/// That function and a kernel, `name`_at_points, that calls it for `count` points, one for each
/// thread.
///
/// Parameters: `long count`, then the arguments, then the outputs. Arrays hold component c of point
/// p at c * count + p. Parameters and the order are numbers; everything else is an array of one
/// number for each point.
[[nodiscard]] EmittedFlux emit_flux_kernel(const Evaluators& evaluators,
                                           const EmitOptions& options = {});

}  // namespace rtcg::dg
