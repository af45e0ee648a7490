#pragma once

#include <functional>
#include <memory>

#include "rtcg/dg/equations/poisson.h"
#include "rtcg/dg/operators/solver.h"

namespace rtcg::dg {

/// The preconditioner, which is applied to the residual in each iteration.
enum class PoissonPreconditioner {
  none,
  /// The inverse of each element's diagonal block. Fewer iterations; each costs nodes^2 more
  /// products per element, and the inverses need memory for as many numbers.
  block_jacobi,
};

struct PoissonProgress {
  int iterations = 0;
  double residual = 0;  ///< as of PoissonSolution
};

struct PoissonSolverOptions {
  SolverOptions solver{};    ///< `courant` means nothing here
  double tolerance = 1e-10;  ///< of the residual's L2 norm, as a part of the right-hand side's
  int max_iterations = 10000;
  PoissonPreconditioner preconditioner = PoissonPreconditioner::none;
  /// Called for each iteration, when the host has read its residual.
  std::function<void(const PoissonProgress&)> report{};
};

struct PoissonSolution {
  State u{};  ///< one field
  int iterations = 0;
  double residual = 0;  ///< L2 norm over that of the right-hand side
};

/// Solves -laplace(u) = f by arrays::conjugate_gradients in the inner product of the mass matrix.
/// The Laplacian is generated from its fluxes; vectors and scalars stay on the device.
///
/// On a rank's part of a mesh (distribute.h) it solves with the other ranks, which make the same
/// call: f and u are those of the rank's elements. The iterations, and the bits of u, are those of
/// one rank on devices of one kind.
///
/// @param equation  its dimension is taken from the mesh
/// @param f  one field
/// @throws InvalidInput  dg.solve_poisson.no_dirichlet: u is known up to a constant only;
///                       dg.solve_poisson.not_converged; dg.solve_poisson.not_definite;
///                       dg.solve_poisson.not_finite: f, boundary values or the diffusion are not;
///                       dg.solve_poisson.bad_tolerance: not above 0; dg.check_state.shape;
///                       dg.solver.no_discretization; what check_system throws
/// @cost  two right-hand sides per iteration, and one wait in 20 iterations; block_jacobi at the
///        beginning four to six times as many right-hand sides as an element has nodes, for local
///        DG about twenty times as many
[[nodiscard]] PoissonSolution solve_poisson(PoissonOptions equation,
                                            std::shared_ptr<const Discretization> on,
                                            const SystemData& data, const State& f,
                                            const PoissonSolverOptions& options = {});

/// The discrete Laplacian of u, boundary values included, in plain C++ by interpreting the flux:
/// the reference of the generated kernels.
[[nodiscard]] State reference_laplacian(const System& poisson, const Discretization& on,
                                        const SystemData& data, const State& u);

}  // namespace rtcg::dg
