#include "rtcg/loopy/execute/integer_formula.h"

#include <algorithm>
#include <array>

#include "rtcg/loopy/analyze/checked_integers.h"
#include "rtcg/loopy/analyze/evaluate_integer.h"

namespace rtcg::loopy {

IntegerFormula::IntegerFormula(const Expr& expr, const std::vector<std::string>& names) {
  if (!add(expr, names, 0)) {
    steps_.clear();
    rare_ = expr;
    names_ = names;
  }
}

bool IntegerFormula::add(const Expr& expr, const std::vector<std::string>& names,
                         std::size_t depth) {
  if (depth == most_depth) {
    return false;
  }
  const auto both = [&](Op op, const Expr& left, const Expr& right) {
    return add_all({left, right}, op, names, depth);
  };
  return match(
      expr,
      [&](const Integer& e) {
        steps_.push_back({Op::constant, e.value});
        return true;
      },
      [&](const Name& e) {
        const auto found = std::find(names.begin(), names.end(), e.name);
        steps_.push_back({Op::value, found - names.begin()});
        return found != names.end();
      },
      [&](const Sum& e) { return add_all(e.terms, Op::add, names, depth); },
      [&](const Product& e) { return add_all(e.factors, Op::multiply, names, depth); },
      [&](const FloorDiv& e) { return both(Op::floor_divide, e.numerator, e.denominator); },
      [&](const Modulo& e) { return both(Op::modulo, e.numerator, e.denominator); },
      [&](const Call& e) {
        const bool is_min = e.function == "min";
        return (is_min || e.function == "max") && e.arguments.size() == 2 &&
               add_all(e.arguments, is_min ? Op::min : Op::max, names, depth);
      },
      [](const auto&) { return false; });
}

bool IntegerFormula::add_all(const std::vector<Expr>& operands, Op op,
                             const std::vector<std::string>& names, std::size_t depth) {
  bool result = add(operands.front(), names, depth);
  for (std::size_t i = 1; i < operands.size() && result; ++i) {
    result = add(operands[i], names, depth + 1);
    steps_.push_back({op});
  }
  return result;
}

std::optional<std::int64_t> IntegerFormula::evaluate(const IntegerList& values) const {
  if (rare_) {
    IntegerValues named;
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (values[i]) {
        named.emplace(names_[i], *values[i]);
      }
    }
    return evaluate_integer(*rare_, named);
  }
  if (steps_.size() == 1) {  // most lengths and strides
    const Step& step = steps_.front();
    return step.op == Op::constant ? step.operand : values[static_cast<std::size_t>(step.operand)];
  }
  std::array<std::int64_t, most_depth> stack{};
  std::size_t depth = 0;
  for (const Step& step : steps_) {
    std::optional<std::int64_t> result = step.operand;
    if (step.op == Op::value) {
      result = values[static_cast<std::size_t>(step.operand)];
    } else if (step.op != Op::constant) {
      const std::int64_t right = stack[--depth];
      const std::int64_t left = stack[--depth];
      switch (step.op) {
        case Op::add:
          result = checked_sum(left, right);
          break;
        case Op::multiply:
          result = checked_product(left, right);
          break;
        case Op::floor_divide:
          result = checked_floor_quotient(left, right);
          break;
        case Op::modulo:
          result = checked_remainder(left, right);
          break;
        case Op::min:
          result = std::min(left, right);
          break;
        default:
          result = std::max(left, right);
          break;
      }
    }
    if (!result) {
      return std::nullopt;
    }
    stack[depth++] = *result;
  }
  return stack[0];
}

}  // namespace rtcg::loopy
