#include "rtcg/loopy/analyze/evaluate_integer.h"

#include <algorithm>

#include "rtcg/loopy/analyze/checked_integers.h"
#include "rtcg/loopy/analyze/compare_values.h"

namespace rtcg::loopy {
namespace {

using Value = std::optional<std::int64_t>;

class Evaluator {
 public:
  explicit Evaluator(const IntegerValues& values) : values_(values) {}

  Value evaluate(const Expr& expr) const {
    return match(
        expr, [](const Integer& e) -> Value { return e.value; },
        [&](const Name& e) -> Value {
          const auto found = values_.find(e.name);
          return found == values_.end() ? Value{} : Value{found->second};
        },
        [&](const Sum& e) { return fold(e.terms, checked_sum); },
        [&](const Product& e) { return fold(e.factors, checked_product); },
        [&](const FloorDiv& e) { return both(e.numerator, e.denominator, checked_floor_quotient); },
        [&](const Modulo& e) { return both(e.numerator, e.denominator, checked_remainder); },
        [&](const Comparison& e) {
          return both(e.left, e.right, [&](std::int64_t left, std::int64_t right) -> Value {
            return compare_values(e.op, left, right) ? 1 : 0;
          });
        },
        [&](const Logical& e) { return evaluate_logical(e); },
        [&](const Not& e) {
          const Value operand = evaluate(e.operand);
          return operand ? Value{*operand == 0 ? 1 : 0} : Value{};
        },
        [&](const Conditional& e) {
          const Value condition = evaluate(e.condition);
          return condition ? evaluate(*condition != 0 ? e.then_value : e.else_value) : Value{};
        },
        [&](const Call& e) { return evaluate_call(e); }, [](const auto&) -> Value { return {}; });
  }

 private:
  template <class Combine>
  Value both(const Expr& left_expr, const Expr& right_expr, const Combine& combine) const {
    const Value left = evaluate(left_expr);
    const Value right = evaluate(right_expr);
    return left && right ? combine(*left, *right) : Value{};
  }
  template <class Combine>
  Value fold(const std::vector<Expr>& parts, const Combine& combine) const {
    Value result = evaluate(parts.front());
    for (std::size_t i = 1; i < parts.size() && result; ++i) {
      const Value next = evaluate(parts[i]);
      result = next ? combine(*result, *next) : Value{};
    }
    return result;
  }
  Value evaluate_logical(const Logical& logical) const {
    const bool ends = logical.op == LogicalOp::or_;
    for (const Expr& operand : logical.operands) {
      const Value value = evaluate(operand);
      if (!value || (*value != 0) == ends) {
        return value ? Value{ends ? 1 : 0} : Value{};
      }
    }
    return ends ? 0 : 1;
  }
  Value evaluate_call(const Call& call) const {
    if (call.function == "abs" && call.arguments.size() == 1) {
      const Value value = evaluate(call.arguments[0]);
      return value && *value < 0 ? checked_product(*value, -1) : value;
    }
    const bool is_min = call.function == "min";
    if ((is_min || call.function == "max") && call.arguments.size() == 2) {
      return both(call.arguments[0], call.arguments[1],
                  [&](std::int64_t left, std::int64_t right) -> Value {
                    return is_min ? std::min(left, right) : std::max(left, right);
                  });
    }
    return {};
  }

  const IntegerValues& values_;
};

}  // namespace

std::optional<std::int64_t> evaluate_integer(const Expr& expr, const IntegerValues& values) {
  return Evaluator(values).evaluate(expr);
}

std::optional<std::int64_t> evaluate_integer(const Affine& affine, const IntegerValues& values) {
  Affine result = affine.constant();
  for (const Affine::Term& term : affine.terms()) {
    const auto found = values.find(term.name);
    if (found == values.end()) {
      return std::nullopt;
    }
    result = result + Affine(found->second) * term.coefficient;
  }
  return result.constant();
}

bool contains(const ConstraintSet& set, const IntegerValues& values) {
  const bool constraints_hold = std::all_of(
      set.constraints().begin(), set.constraints().end(), [&](const Constraint& constraint) {
        const auto value = evaluate_integer(constraint.expr, values);
        return value && (constraint.is_equality ? *value == 0 : *value >= 0);
      });
  return constraints_hold && std::all_of(set.congruences().begin(), set.congruences().end(),
                                         [&](const Congruence& congruence) {
                                           const auto value =
                                               evaluate_integer(congruence.expr, values);
                                           return value && *value % congruence.modulus == 0;
                                         });
}

}  // namespace rtcg::loopy
