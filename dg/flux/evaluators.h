#pragma once

#include <optional>
#include <string>
#include <vector>

#include "rtcg/dg/flux/flux_vector.h"

// From a flux, as written, to the steps that compute it: sides are resolved, boundary states
// inserted, constants folded, zeros removed, and every common subexpression is computed once for
// all components and both sides of the face.

namespace rtcg::dg {

enum class FluxSide { none, interior, exterior };

/// An input of an evaluator. `kind` is a leaf of the flux language, `side` the side of a two-sided
/// one.
struct FluxRead {
  FluxKind kind = FluxKind::field;
  FluxSide side = FluxSide::none;
  int index = 0;
  std::string name{};

  friend bool operator==(const FluxRead& left, const FluxRead& right) = default;
};

enum class StepKind {
  constant,
  read,
  negate,
  add,
  subtract,
  multiply,
  divide,
  minimum,
  maximum,
  absolute,
  square_root,
  power,
  if_positive,
  user_function,
};

/// One operation. `operands` are numbers of earlier steps.
struct Step {
  StepKind kind = StepKind::constant;
  double value = 0;  ///< of a constant
  FluxRead read{};   ///< of a read
  std::vector<int> operands{};
  std::string function{};  ///< of a user function

  friend bool operator==(const Step& left, const Step& right) = default;
};

/// Scalar evaluators of all components of a flux, as one straight-line program without dead steps.
struct Evaluators {
  std::vector<Step> steps;
  std::vector<int> outputs;            ///< the step that each component of the flux is
  std::vector<int> neighbour_outputs;  ///< the neighbour's, where EvaluatorOptions asked for them

  friend bool operator==(const Evaluators& left, const Evaluators& right) = default;
};

struct EvaluatorOptions {
  /// The exterior state on a boundary, one expression for each field. Written with `interior(...)`,
  /// normals, parameters and boundary values. All other two-sided values are the interior's on both
  /// sides.
  std::optional<FluxVector> boundary_state{};
  /// Also the flux as the neighbour sees it. Default: no.
  bool neighbour = false;
};

/// The steps that evaluate `flux`.
///
/// Jumps stay jumps: `jump` moves inward over sums and one-sided factors until it applies to
/// fields, and the interior and exterior values of a field in one sum are paired. Products with
/// zero, powers with small integers and operations on constants are folded; constant factors move
/// outward; division by a constant becomes a product with its reciprocal. `a - (a + b)` is `-b`, `r
/// * (m / r)` and `(r * m) / r` are `m`, and two or more quotients by one number are products with
/// its reciprocal. Sums merge with their terms, `2*a - (a + b)` to `a - b`, also times a common
/// factor, over a common divisor and term by term; products by a constant and its opposite are one.
/// Folding rounds less often, or adds one unit in the last place for each quotient; if r is zero,
/// infinite or so small that its reciprocal is infinite, the results differ.
///
/// With the neighbour, an expression is the sum of a part that is equal on both sides and one that
/// changes its sign; both sides are made of these two parts. If it takes fewer operations, each
/// side is computed as written, or sums stay unmerged.
/// @throws InvalidInput  dg.make_evaluators.side_missing: a two-sided value is outside of
///                       `interior`, `exterior`, `jump` and `average`;
///                       dg.make_evaluators.nested_sides: one of these is inside another;
///                       dg.make_evaluators.division_by_zero;
///                       dg.make_evaluators.not_a_number: such as the root of -1;
///                       dg.make_evaluators.no_boundary_state: a field has no expression in
///                       `boundary_state`;
///                       dg.make_evaluators.exterior_of_boundary: a boundary state reads the
///                       exterior, which it defines;
///                       dg.make_evaluators.boundary_neighbour: a boundary has no neighbour
[[nodiscard]] Evaluators make_evaluators(const FluxVector& flux,
                                         const EvaluatorOptions& options = {});

/// Everything that the evaluators read, in the order of the steps, each once.
[[nodiscard]] std::vector<FluxRead> reads(const Evaluators& evaluators);
/// Additions, multiplications and all other operations count one each; changes of sign and calls
/// of user functions none.
[[nodiscard]] int count_flops(const Evaluators& evaluators);
/// Whether every component is zero for all inputs.
[[nodiscard]] bool is_zero(const Evaluators& evaluators);
/// The number of uses of each step as an operand or output.
[[nodiscard]] std::vector<int> count_uses(const Evaluators& evaluators);
/// The name of a read in generated code: `e_1_interior`, `n_0`, `alpha`, `eps_exterior`.
[[nodiscard]] std::string variable_name(const FluxRead& read);

/// Whether the flux is linear in the state of both sides: no constant part, no product of states.
/// A field inside of `min`, `max`, `abs`, `sqrt`, a condition or a user function is not linear.
[[nodiscard]] bool is_linear(const FluxVector& flux);
/// Why interior and neighbour do not get opposite fluxes, as conservation needs of a flux of weak
/// form; nullopt if they do. Decided symbolically where both fold to the same steps.
[[nodiscard]] std::optional<std::string> why_not_conservative(const FluxVector& flux);

}  // namespace rtcg::dg
