// The text of constraints, as domains state them.
#include <fmt/format.h>

#include "rtcg/loopy/polyhedral/constraint_set.h"
#include "rtcg/loopy/symbolic/print_expr.h"

namespace rtcg::loopy {

std::string to_string(const Constraint& constraint) {
  Affine left;
  Affine right(constraint.expr.constant());
  for (const Affine::Term& term : constraint.expr.terms()) {
    if (term.coefficient < 0) {
      left = left + Affine(term.name, -term.coefficient);
    } else {
      right = right + Affine(term.name, term.coefficient);
    }
  }
  if (constraint.is_equality) {
    return fmt::format("{} == {}", to_string(left), to_string(right));
  }
  if (left.is_constant()) {
    return fmt::format("{} >= {}", to_string(right - constraint.expr.constant()),
                       -constraint.expr.constant());
  }
  return right.constant() < 0 ? fmt::format("{} < {}", to_string(left), to_string(right + 1))
                              : fmt::format("{} <= {}", to_string(left), to_string(right));
}

std::string to_string(const ConstraintSet& set) {
  std::string text;
  for (const Constraint& constraint : set.constraints()) {
    text += fmt::format("{}{}", text.empty() ? "" : " and ", to_string(constraint));
  }
  for (const Congruence& congruence : set.congruences()) {
    text += fmt::format("{}{} == 0", text.empty() ? "" : " and ",
                        to_string(Expr(Modulo{to_expr(congruence.expr), congruence.modulus})));
  }
  return text;
}

}  // namespace rtcg::loopy
