#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "rtcg/dg/equations/system.h"
#include "rtcg/dg/mesh/box_mesh.h"

namespace rtcg::dg {

/// A shipped equation with a domain, boundary conditions and a state to begin with.
struct Problem {
  System system{};
  SystemData data{};
  /// The state at a point and a time: the initial one at 0, the exact one later if `is_exact`.
  std::function<std::vector<double>(const Point& point, double time)> state{};
  bool is_exact = true;
};

enum class ProblemStart {
  exact,  ///< a solution known in closed form on the box of problem_box: a mode, a wave, a vortex
  pulse,  ///< a bump in the middle of the domain, for looking at
};

struct ProblemOptions {
  ProblemStart start = ProblemStart::exact;
  double alpha = 1;  ///< of the flux, if it has one: 1 upwind, 0 central
  /// Conditions by tag of the mesh; a tag without one has the first of problem_conditions.
  std::map<std::string, std::string> conditions{};
};

/// `advection`, `wave`, `maxwell`, `maxwell-tm`, `maxwell-te`, `burgers`, `euler`.
[[nodiscard]] const std::vector<std::string>& problem_names();

/// The boundary conditions that an equation knows, the usual one first.
///
/// @throws InvalidInput  dg.make_problem.unknown_name
[[nodiscard]] std::vector<std::string> problem_conditions(const std::string& name);

/// The box on which the exact solution of an equation holds.
///
/// @param cells  along each axis; 0 or less beyond the dimension. All 0: eight along each of the
///               axes that the equation has
/// @throws InvalidInput  dg.make_problem.unknown_name
[[nodiscard]] BoxOptions problem_box(const std::string& name, std::array<int, 3> cells = {});

/// @throws InvalidInput  dg.make_problem.unknown_name, dg.make_problem.unknown_condition: a
///                       condition that the equation does not have, or for a tag that the mesh has
///                       not; dg.make_problem.bad_dimension
[[nodiscard]] Problem make_problem(const std::string& name, const Mesh& mesh,
                                   const ProblemOptions& options = {});

}  // namespace rtcg::dg
