#include "rtcg/loopy/codegen/emit_context.h"

#include <algorithm>

#include "rtcg/loopy/analyze/evaluate_integer.h"
#include "rtcg/loopy/symbolic/traverse.h"

namespace rtcg::loopy {

namespace {

/// Whether it could be affine but for quotients and remainders.
bool is_arithmetic(const Expr& expr) {
  bool result = true;
  walk(expr, [&](const Expr& part) {
    result = result && (is<Integer>(part) || is<Name>(part) || is<Sum>(part) || is<Product>(part) ||
                        is<FloorDiv>(part) || is<Modulo>(part));
    return result;
  });
  return result;
}

/// Whether a divisor says that no integers fulfil it, as 8 does of `8*t + 1 == 2047`.
bool is_never_equal(const Kernel& kernel, const Comparison& comparison, const KnownValues& values) {
  const auto difference =
      to_affine(with_values(values, simplify_index(comparison.left - comparison.right)));
  const std::int64_t divisor = difference ? difference->coefficient_gcd() : 0;
  return divisor > 1 && difference->constant() % divisor != 0 &&
         std::all_of(difference->terms().begin(), difference->terms().end(),
                     [&](const Affine::Term& term) { return is_iname(kernel, term.name); });
}

}  // namespace

std::optional<bool> known_condition(const Kernel& kernel, const KnownValues& values,
                                    const Expr& condition) {
  if (const Logical* logical = get_if<Logical>(condition)) {
    // one operand may settle it, whatever the others are
    const bool neutral = logical->op == LogicalOp::and_;
    bool is_open = false;
    for (const Expr& each : logical->operands) {
      const auto known = known_condition(kernel, values, each);
      if (known == !neutral) {
        return !neutral;
      }
      is_open = is_open || !known;
    }
    return is_open ? std::nullopt : std::optional(neutral);
  }
  if (const Not* inverse = get_if<Not>(condition)) {
    const auto known = known_condition(kernel, values, inverse->operand);
    return known ? std::optional(!*known) : std::nullopt;
  }
  const Expr here = with_values(values, condition);
  if (const auto value = evaluate_integer(here, {})) {
    return *value != 0;
  }
  const Comparison* comparison = get_if<Comparison>(condition);
  const Comparison* compared = get_if<Comparison>(here);
  const bool is_test =
      comparison != nullptr && compared != nullptr &&
      (comparison->op == ComparisonOp::equal || comparison->op == ComparisonOp::not_equal) &&
      is_arithmetic(compared->left) && is_arithmetic(compared->right);
  return is_test && is_never_equal(kernel, *comparison, values)
             ? std::optional(comparison->op == ComparisonOp::not_equal)
             : std::nullopt;
}

bool is_never(const ConstraintSet& context, const Constraint& constraint) {
  return context.implies_nonnegative(-constraint.expr - 1) ||
         (constraint.is_equality && context.implies_nonnegative(constraint.expr - 1));
}

Expr with_values(const KnownValues& values, const Expr& expr) {
  if (values.empty()) {
    return expr;
  }
  if (is<Integer>(expr)) {
    return expr;
  }
  if (const Name* name = get_if<Name>(expr)) {
    const auto found = values.find(name->name);
    return found == values.end() ? expr : to_expr(found->second);
  }
  return map_children(expr, [&](const Expr& child) { return with_values(values, child); });
}

Affine with_values(const KnownValues& values, const Affine& affine) {
  const bool is_open =
      std::all_of(affine.terms().begin(), affine.terms().end(),
                  [&](const Affine::Term& term) { return values.find(term.name) == values.end(); });
  if (is_open) {
    return affine;
  }
  std::vector<Affine::Term> open;
  open.reserve(affine.terms().size());
  Affine known;
  for (const Affine::Term& term : affine.terms()) {
    const auto found = values.find(term.name);
    if (found == values.end()) {
      open.push_back(term);
    } else {
      known = known + found->second * term.coefficient;
    }
  }
  const Affine rest(std::move(open), affine.constant());
  return rest + known;
}

Constraint with_values(const KnownValues& values, const Constraint& constraint) {
  return {with_values(values, constraint.expr), constraint.is_equality};
}

EmitContext at_lane(EmitContext context, const std::string& lane, std::int64_t value) {
  context.known.insert(lane);
  context.values.insert_or_assign(lane, Affine(value));
  return context;
}

}  // namespace rtcg::loopy
