#pragma once

#include <optional>
#include <string>
#include <vector>

#include "rtcg/dg/flux/flux_vector.h"

// From a flux, as written, to the steps that compute it: sides resolved, boundary states put in,
// constants folded, zeros gone, and every common subexpression computed once for all components
// and both sides of the face.

namespace rtcg::dg {

enum class FluxSide { none, interior, exterior };

/// A number that an evaluator takes from outside. `kind` is a leaf of the flux language, `side` of
/// a two-sided one says which.
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
  /// What stands for the exterior state, one expression a field, on a boundary. Written with
  /// `interior(...)`, normals, parameters and boundary values. All else that has two sides is the
  /// interior's on both.
  std::optional<FluxVector> boundary_state{};
  /// Also the flux as the neighbour sees it. Default: no.
  bool neighbour = false;
};

/// The steps that evaluate `flux`.
///
/// Jumps stay jumps: `jump` goes inward over sums and one-sided factors until it stands at fields,
/// and pairs of interior and exterior values scattered in a sum are brought together. Products
/// with zero, powers with small integers and operations on constants are folded; constant factors
/// move outward; division by a constant becomes a product with its reciprocal. `a - (a + b)` is
/// `-b`, `r * (m / r)` and `(r * m) / r` are `m`, and two or more quotients by one number are
/// products with its reciprocal. Sums merge with their terms, `2*a - (a + b)` to `a - b`, also
/// times a common factor, over a common divisor and term by term; products by a constant and its
/// opposite are one. What is folded so is rounded less, or by one more unit in the last place a
/// quotient; where r is zero, infinite or so small that its reciprocal is infinite, the results are
/// others.
///
/// With the neighbour, an expression is the sum of what stays when it is flipped and what changes
/// its sign; both sides are made of these two. Where it takes fewer operations to compute each side
/// as written, or to keep sums unmerged, that is done.
/// @throws InvalidInput  dg.make_evaluators.side_missing: a two-sided value stands outside of
///                       `interior`, `exterior`, `jump` and `average`;
///                       dg.make_evaluators.nested_sides: one of these stands inside another;
///                       dg.make_evaluators.division_by_zero;
///                       dg.make_evaluators.not_a_number: such as the root of -1;
///                       dg.make_evaluators.no_boundary_state: a field has no expression in
///                       `boundary_state`;
///                       dg.make_evaluators.exterior_of_boundary: a boundary state asks for the
///                       exterior, which is what it says;
///                       dg.make_evaluators.boundary_neighbour: a boundary has no neighbour
[[nodiscard]] Evaluators make_evaluators(const FluxVector& flux,
                                         const EvaluatorOptions& options = {});

/// Everything that the evaluators read, in the order of the steps, each once.
[[nodiscard]] std::vector<FluxRead> reads(const Evaluators& evaluators);
/// Additions, multiplications and all other operations count one each; changes of sign and calls
/// of user functions none.
[[nodiscard]] int count_flops(const Evaluators& evaluators);
/// Whether every component is zero whatever is read.
[[nodiscard]] bool is_zero(const Evaluators& evaluators);
/// How often each step is an operand or an output.
[[nodiscard]] std::vector<int> count_uses(const Evaluators& evaluators);
/// What a read is called in generated code: `e_1_interior`, `n_0`, `alpha`, `eps_exterior`.
[[nodiscard]] std::string variable_name(const FluxRead& read);

/// Whether the flux is linear in the state of both sides: no constant part, no product of states.
/// A field inside of `min`, `max`, `abs`, `sqrt`, a condition or a user function is not linear.
[[nodiscard]] bool is_linear(const FluxVector& flux);
/// Why interior and neighbour do not get opposite fluxes, as conservation needs of a flux of weak
/// form; nullopt if they do. Decided symbolically where both fold to the same steps.
[[nodiscard]] std::optional<std::string> why_not_conservative(const FluxVector& flux);

}  // namespace rtcg::dg
