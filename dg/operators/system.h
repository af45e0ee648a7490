#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "rtcg/dg/flux/flux_vector.h"
#include "rtcg/dg/flux/interpret_flux.h"
#include "rtcg/dg/operators/discretization.h"

namespace rtcg::dg {

enum class SystemForm {
  /// scale * (-div F(w) + lift(surface)), where surface is n.(F(w_interior) - F*)
  strong,
  /// scale * (weak divergence of F(w) - lift(surface)), where surface is n.F*. The default for
  /// nonlinear systems, since it conserves.
  weak,
};

/// Equations dw/dt = scale * (-div F(w)) + source, and their numerical flux, as written.
///
/// Expressions of `flux`, `scale`, `source` and `speed` belong to one side and are written without
/// one: `field`, `material`, `parameter`, `coordinate`. The parameter `time` is the time.
struct System {
  std::string name = "system";
  int dimension = 3;
  std::vector<std::string> fields{};  ///< names, one a component of the state
  SystemForm form = SystemForm::strong;
  /// Of the weak form: a surface flux that does not give opposite numbers to both sides of a face
  /// is refused. The strong form's is no flux but a difference, of which nothing is asked.
  bool must_conserve = true;
  std::vector<FluxVector> flux{};  ///< F along each axis, one component a field
  FluxVector surface{};            ///< as `form` says, one component a field
  /// What multiplies the right-hand side of each field; none: 1. May read materials, parameters,
  /// coordinates.
  FluxVector scale{};
  FluxVector source{};  ///< added to the right-hand side of each field; none: 0
  /// The exterior state on the boundary, by tag, one component a field: `interior(...)`, normals,
  /// parameters, coordinates and boundary values.
  std::map<std::string, FluxVector> boundaries{};
  FluxExpr speed = 1;  ///< of the fastest wave, for the time step
  /// Energy is half the sum of the integrals of weight * field^2; none: 1 each. May read materials.
  FluxVector energy_weights{};
  /// Text that defines the user functions in the language of the target, and the same in C++.
  std::string definitions{};
  std::map<std::string, std::function<double(const std::vector<double>&)>, std::less<>> functions{};
};

/// The numbers that a system reads beside its state.
struct SystemData {
  std::map<std::string, double, std::less<>> parameters{};
  /// Parameters that depend on the time; asked at the time of each stage.
  std::map<std::string, std::function<double(double time)>, std::less<>> signals{};
  std::map<std::string, std::vector<double>, std::less<>> materials{};  ///< [element]
  /// Components of boundary values, computed once at each face node of the boundary.
  std::map<std::string, std::function<std::vector<double>(const Point&)>, std::less<>>
      boundary_values{};
};

/// Checks that a system fits together, and with a mesh and data.
///
/// @throws InvalidInput  dg.check_system.dimension, dg.check_system.field_count: a flux, scale,
///                       source, surface or boundary state without one component a field;
///                       dg.check_system.index: a field, an axis of normal or point, or a
///                       component of boundary values that there is not;
///                       dg.check_system.missing_data: a parameter or material without value;
///                       dg.check_system.misplaced_read: something that there is not in that place,
///                       such as boundary values between elements or a normal in a source;
///                       dg.check_system.bad_name: no identifier;
///                       dg.check_system.reserved_name: a name of generated code, or `time`;
///                       dg.check_system.duplicate_name: two fields, or a parameter and a signal;
///                       dg.check_system.no_exterior: a surface flux that reads this side only;
///                       dg.check_system.not_conservative: see System::must_conserve;
///                       dg.check_system.zero_surface: a surface flux that is zero in all
///                       components whatever the fields are, beside a flux that is not;
///                       dg.check_boundary_coverage.uncovered,
///                       dg.check_boundary_coverage.unknown_tag
void check_system(const System& system, const Discretization& on, const SystemData& data);

/// All numbers of a system at one time: `time`, parameters and signals.
[[nodiscard]] std::map<std::string, double, std::less<>> parameters_at(const SystemData& data,
                                                                       double time);

/// The right-hand side of the equations, computed in plain C++ by interpreting the flux. Slow: what
/// generated kernels are compared with.
[[nodiscard]] State reference_right_hand_side(const System& system, const Discretization& on,
                                              const SystemData& data, const State& state,
                                              double time = 0);

/// Half the sum over all fields of the integrals of weight * field^2.
///
/// @throws InvalidInput  dg.check_state.shape
[[nodiscard]] double energy(const System& system, const Discretization& on, const SystemData& data,
                            const State& state, double time = 0);

/// The largest speed over all elements and nodes, in plain C++ by interpreting its expression.
/// Solvers generate a kernel where it depends on the state or the point.
///
/// @throws InvalidInput  dg.solver.bad_speed: a speed is negative, infinite or not a number
[[nodiscard]] double largest_speed(const System& system, const Discretization& on,
                                   const SystemData& data, const State& state, double time = 0);

}  // namespace rtcg::dg
