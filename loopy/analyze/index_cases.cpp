#include "rtcg/loopy/analyze/index_cases.h"

#include <algorithm>
#include <functional>
#include <iterator>

#include <fmt/format.h>

namespace rtcg::loopy {
namespace {

using Cases = std::vector<IndexCase>;
constexpr std::size_t most_cases = 16;

Cases cases_of(const Expr& index);

template <class Combine>
Cases combined(const Cases& left, const Cases& right, const Combine& combine) {
  Cases all;
  if (left.size() * right.size() > most_cases) {
    return all;
  }
  for (const IndexCase& l : left) {
    for (const IndexCase& r : right) {
      ConstraintSet context = l.context;
      context.add(r.context);
      combine(all, l.value, r.value, std::move(context));
    }
  }
  return all;
}

Cases sum_of(const std::vector<Expr>& terms) {
  Cases sum = cases_of(terms.front());
  for (std::size_t i = 1; i < terms.size(); ++i) {
    sum = combined(sum, cases_of(terms[i]),
                   [](Cases& all, const Affine& l, const Affine& r, ConstraintSet context) {
                     all.push_back({l + r, std::move(context)});
                   });
  }
  return sum;
}

Cases product_of(const std::vector<Expr>& factors) {
  Cases product = cases_of(factors.front());
  for (std::size_t i = 1; i < factors.size(); ++i) {
    bool is_affine = true;
    product = combined(product, cases_of(factors[i]),
                       [&](Cases& all, const Affine& l, const Affine& r, ConstraintSet context) {
                         is_affine = is_affine && (l.is_constant() || r.is_constant());
                         all.push_back({l.is_constant() ? r * l.constant() : l * r.constant(),
                                        std::move(context)});
                       });
    if (!is_affine) {
      return {};
    }
  }
  return product;
}

/// `numerator // divisor`, or the remainder; the quotient gets the name of its expression.
Cases quotient_of(const Expr& numerator, std::int64_t divisor, bool is_remainder) {
  if (divisor <= 0) {
    return {};
  }
  const Affine quotient(fmt::format("//{:016x}", Expr(FloorDiv{numerator, divisor}).hash()));
  Cases cases = cases_of(numerator);
  for (IndexCase& each : cases) {
    const Affine remainder = each.value - quotient * divisor;
    each.context.add_nonnegative(remainder);
    each.context.add_nonnegative(Affine(divisor - 1) - remainder);
    each.value = is_remainder ? remainder : quotient;
  }
  return cases;
}

Cases modulo_of(const Modulo& modulo) {
  if (const auto divisor = as_integer(modulo.denominator)) {
    return quotient_of(modulo.numerator, *divisor, true);
  }
  Cases cases = cases_of(modulo.denominator);
  const Affine remainder(fmt::format("%{:016x}", Expr(modulo).hash()));
  for (IndexCase& each : cases) {
    // the sign is the divisor's; a divisor below 1 gets no bounds
    each.context.add_nonnegative(remainder);
    each.context.add_nonnegative(each.value - remainder - 1);
    each.value = remainder;
  }
  return cases;
}

Cases larger_of(const Cases& left, const Cases& right) {
  return 2 * left.size() * right.size() > most_cases
             ? Cases{}
             : combined(left, right,
                        [](Cases& all, const Affine& l, const Affine& r, ConstraintSet context) {
                          all.push_back({l, context});
                          all.back().context.add_nonnegative(l - r);
                          all.push_back({r, std::move(context)});
                          all.back().context.add_nonnegative(r - l - 1);
                        });
}

Cases negated_cases(Cases cases) {
  for (IndexCase& each : cases) {
    each.value = -each.value;
  }
  return cases;
}

Cases cases_of_call(const Call& call) {
  if (call.function == "abs" && call.arguments.size() == 1) {
    // not larger_of(x, -x): its cases would pair each case of x with all others
    Cases all;
    for (const IndexCase& each : cases_of(call.arguments[0])) {
      for (const Affine& value : {each.value, -each.value}) {
        all.push_back({value, each.context});
        all.back().context.add_nonnegative(value);
      }
    }
    return all.size() > most_cases ? Cases{} : all;
  }
  if (call.arguments.size() == 2 && (call.function == "max" || call.function == "min")) {
    const Cases left = cases_of(call.arguments[0]);
    const Cases right = cases_of(call.arguments[1]);
    return call.function == "max"
               ? larger_of(left, right)
               : negated_cases(larger_of(negated_cases(left), negated_cases(right)));
  }
  return {};
}

Cases cases_of_conditional(const Conditional& conditional) {
  Cases all = cases_of(conditional.then_value);
  Cases others = cases_of(conditional.else_value);
  if (all.empty() || others.empty() || all.size() + others.size() > most_cases) {
    return {};
  }
  const ConstraintSet held = context_of(conditional.condition);
  const ConstraintSet failed = context_of(logical_not(conditional.condition));
  for (IndexCase& each : all) {
    each.context.add(held);
  }
  for (IndexCase& each : others) {
    each.context.add(failed);
    all.push_back(std::move(each));
  }
  return all;
}

std::optional<ComparisonForm> form_of(const Comparison& comparison, const Expr& expr) {
  const Cases difference = index_cases(comparison.left - comparison.right);
  // a disjunction of cases is not a set of constraints
  if (difference.size() != 1) {
    return std::nullopt;
  }
  const Affine& value = difference.front().value;
  ComparisonForm form{expr};
  form.quotients = difference.front().context;
  switch (comparison.op) {
    case ComparisonOp::less:
      form.constraint.expr = -value - 1;
      return form;
    case ComparisonOp::less_equal:
      form.constraint.expr = -value;
      return form;
    case ComparisonOp::greater:
      form.constraint.expr = value - 1;
      return form;
    case ComparisonOp::equal:
      form.constraint.is_equality = true;
      [[fallthrough]];
    case ComparisonOp::greater_equal:
      form.constraint.expr = value;
      return form;
    case ComparisonOp::not_equal:
      break;
  }
  return std::nullopt;
}

void add_context(const Expr& condition, ConstraintSet& context) {
  if (const Comparison* comparison = get_if<Comparison>(condition)) {
    if (const auto form = form_of(*comparison, condition)) {
      context.add(form->constraint);
      context.add(form->quotients);
    }
  }
  if (const Logical* logical = get_if<Logical>(condition);
      logical != nullptr && logical->op == LogicalOp::and_) {
    for (const Expr& operand : logical->operands) {
      add_context(operand, context);
    }
  }
  if (const Not* negation = get_if<Not>(condition)) {
    const Logical* either = get_if<Logical>(negation->operand);
    if (either != nullptr && either->op == LogicalOp::or_) {
      for (const Expr& operand : either->operands) {
        add_context(logical_not(operand), context);
      }
    }
  }
}

Cases cases_of(const Expr& index) {
  return match(
      index,
      [](const Integer& e) -> Cases {
        return {{Affine(e.value), {}}};
      },
      [](const Name& e) -> Cases {
        return {{Affine(e.name), {}}};
      },
      [](const Sum& e) { return sum_of(e.terms); },
      [](const Product& e) { return product_of(e.factors); },
      [](const FloorDiv& e) {
        return quotient_of(e.numerator, as_integer(e.denominator).value_or(0), false);
      },
      [](const Modulo& e) { return modulo_of(e); },
      [](const Conditional& e) { return cases_of_conditional(e); },
      [](const Call& e) { return cases_of_call(e); }, [](const auto&) -> Cases { return {}; });
}

}  // namespace

std::vector<IndexCase> index_cases(const Expr& index) {
  if (std::optional<Affine> affine = to_affine(index)) {
    Cases cases(1);
    cases.front().value = *std::move(affine);
    return cases;
  }
  return cases_of(index);
}

std::optional<std::vector<ComparisonForm>> comparisons_of(const Expr& condition) {
  if (as_integer(condition) == 1) {
    return std::vector<ComparisonForm>{};
  }
  std::vector<ComparisonForm> all;
  if (const Logical* logical = get_if<Logical>(condition)) {
    for (const Expr& operand : logical->operands) {
      auto parts = logical->op == LogicalOp::and_ ? comparisons_of(operand) : std::nullopt;
      if (!parts) {
        return std::nullopt;
      }
      std::move(parts->begin(), parts->end(), std::back_inserter(all));
    }
    return all;
  }
  const Comparison* comparison = get_if<Comparison>(condition);
  auto form = comparison != nullptr ? form_of(*comparison, condition) : std::nullopt;
  if (!form) {
    return std::nullopt;
  }
  all.push_back(*std::move(form));
  return all;
}

ConstraintSet context_of(const Expr& condition) {
  ConstraintSet context;
  add_context(condition, context);
  return context;
}

}  // namespace rtcg::loopy
