#pragma once

#include "rtcg/dg/equations/system.h"
#include "rtcg/dg/operators/discretization.h"

// Checks and reference computations of a system on a mesh, in plain C++.

namespace rtcg::dg {

/// Checks that a system fits together, and with a mesh and data.
///
/// @throws InvalidInput  dg.check_system.dimension, dg.check_system.field_count: a flux, scale,
///                       source, surface or boundary state without one component for each field;
///                       dg.check_system.index: a field, an axis of normal or point, or a component
///                       of boundary values that does not exist;
///                       dg.check_system.missing_data: a parameter or material without value;
///                       dg.check_system.misplaced_read: a value that the place does not have, such
///                       as boundary values between elements or a normal in a source;
///                       dg.check_system.bad_name: not an identifier;
///                       dg.check_system.reserved_name: a name of generated code, or `time`;
///                       dg.check_system.duplicate_name: two fields, or a parameter and a signal;
///                       dg.check_system.no_exterior: a surface flux that reads this side only;
///                       dg.check_system.not_conservative: see System::must_conserve;
///                       dg.check_system.zero_surface: a surface flux that is zero in all
///                       components for all fields, although the flux is not;
///                       dg.check_boundary_coverage.uncovered,
///                       dg.check_boundary_coverage.unknown_tag
void check_system(const System& system, const Discretization& on, const SystemData& data);

/// The right-hand side of the equations, computed in plain C++ by interpreting the flux. Slow: the
/// reference of the generated kernels.
///
/// @throws Unsupported  dg.reference_right_hand_side.part: of a rank's part of a mesh
[[nodiscard]] State reference_right_hand_side(const System& system, const Discretization& on,
                                              const SystemData& data, const State& state,
                                              double time = 0);

/// Half the sum over all fields of the integrals of weight * field^2; of all ranks.
///
/// @throws InvalidInput  dg.check_state.shape
[[nodiscard]] double energy(const System& system, const Discretization& on, const SystemData& data,
                            const State& state, double time = 0);

/// The largest speed over all elements and nodes, in plain C++ by interpreting its expression.
/// Solvers generate a kernel if it depends on the state or the point.
///
/// @throws InvalidInput  dg.solver.bad_speed: a speed is negative, infinite or not a number
[[nodiscard]] double largest_speed(const System& system, const Discretization& on,
                                   const SystemData& data, const State& state, double time = 0);

}  // namespace rtcg::dg
