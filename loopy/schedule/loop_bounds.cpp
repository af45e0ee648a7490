#include "rtcg/loopy/schedule/loop_bounds.h"

#include <algorithm>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/polyhedral/range_of.h"

namespace rtcg::loopy {
namespace {

/// Bounds that another one makes superfluous are dropped: with several left, the first stays.
void drop_redundant(std::vector<Bound>& bounds, bool is_lower, const ConstraintSet& context) {
  for (std::size_t i = bounds.size(); i-- > 0 && bounds.size() > 1;) {
    const bool is_redundant = std::any_of(bounds.begin(), bounds.end(), [&](const Bound& other) {
      if (&other == &bounds[i]) {
        return false;
      }
      // numerator_i / divisor_i against other, both over the product of the divisors
      const Affine difference =
          bounds[i].numerator * other.divisor - other.numerator * bounds[i].divisor;
      return context.implies_nonnegative(is_lower ? -difference : difference);
    });
    if (is_redundant) {
      bounds.erase(bounds.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
}

/// `(63 - t) / 16` is 3 for all threads t from 0 to 15.
void settle(std::vector<Bound>& bounds, bool is_lower, const ConstraintSet& context) {
  const auto divide = is_lower ? divide_rounding_up : divide_rounding_down;
  for (Bound& bound : bounds) {
    if (bound.divisor == 1 || bound.numerator.is_constant()) {
      continue;
    }
    const auto [smallest, largest] = range_of(context, bound.numerator);
    if (smallest && largest &&
        divide(*smallest, bound.divisor) == divide(*largest, bound.divisor)) {
      bound = {Affine(divide(*smallest, bound.divisor)), 1};
    }
  }
}

Expr combined(const std::vector<Expr>& values, const char* function) {
  Expr result = values.front();
  for (std::size_t i = 1; i < values.size(); ++i) {
    result = call(function, {result, values[i]});
  }
  return result;
}

Expr upper_end(const Bound& bound) {
  // floor(a / d) + 1 = floor((a + d) / d)
  return floor_div(to_expr(bound.numerator + Affine(bound.divisor)), bound.divisor);
}

Expr lower_first(const Bound& bound) {
  return floor_div(to_expr(bound.numerator + Affine(bound.divisor - 1)), bound.divisor);
}

}  // namespace

LoopBounds loop_bounds(const ConstraintSet& constraints, const std::string& iname,
                       std::vector<std::string> unknown, const ConstraintSet& context) {
  unknown.erase(std::remove(unknown.begin(), unknown.end(), iname), unknown.end());
  const ConstraintSet known = constraints.project_out(unknown);
  LoopBounds bounds;
  for (const Constraint& constraint : known.constraints()) {
    const std::int64_t coefficient = constraint.expr.coefficient(iname);
    if (coefficient == 0) {
      continue;
    }
    const Affine rest = constraint.expr.substitute(iname, 0);
    if (coefficient > 0 || constraint.is_equality) {
      const std::int64_t sign = coefficient > 0 ? -1 : 1;
      bounds.lower.push_back({rest * sign, std::abs(coefficient)});
    }
    if (coefficient < 0 || constraint.is_equality) {
      const std::int64_t sign = coefficient < 0 ? 1 : -1;
      bounds.upper.push_back({rest * sign, std::abs(coefficient)});
    }
  }
  if (bounds.lower.empty() || bounds.upper.empty()) {
    throw InvalidInput(
        "loopy.generate.unbounded",
        fmt::format("iname '{}' has no {} bound in terms of what is known outside its loop: state "
                    "one in its domain",
                    iname, bounds.lower.empty() ? "lower" : "upper"));
  }
  settle(bounds.lower, true, context);
  settle(bounds.upper, false, context);
  drop_redundant(bounds.lower, true, context);
  drop_redundant(bounds.upper, false, context);
  for (const Bound& bound : bounds.lower) {
    bounds.implemented.add_nonnegative(Affine(iname, bound.divisor) - bound.numerator);
  }
  for (const Bound& bound : bounds.upper) {
    bounds.implemented.add_nonnegative(bound.numerator - Affine(iname, bound.divisor));
  }
  // a stride, where the first value is known
  const auto first = constant_lower(bounds);
  for (const Congruence& congruence : known.congruences()) {
    const std::int64_t coefficient = congruence.expr.coefficient(iname);
    const Affine rest = congruence.expr.substitute(iname, 0);
    if (std::abs(coefficient) == 1 && rest.is_constant() && first && bounds.step == 1) {
      const std::int64_t target = -rest.constant() * coefficient;
      bounds.step = congruence.modulus;
      bounds.remainder = ((target % bounds.step) + bounds.step) % bounds.step;
      const std::int64_t now = ((*first % bounds.step) + bounds.step) % bounds.step;
      const std::int64_t shift =
          ((bounds.remainder - now) % bounds.step + bounds.step) % bounds.step;
      bounds.lower = {{Affine(*first + shift), 1}};
      bounds.implemented.add(congruence);
    }
  }
  return bounds;
}

std::optional<std::int64_t> constant_lower(const LoopBounds& bounds) {
  std::optional<std::int64_t> result;
  for (const Bound& bound : bounds.lower) {
    if (!bound.numerator.is_constant()) {
      return std::nullopt;
    }
    const std::int64_t value = divide_rounding_up(bound.numerator.constant(), bound.divisor);
    result = std::max(result.value_or(value), value);
  }
  return result;
}

std::optional<std::int64_t> constant_upper(const LoopBounds& bounds) {
  std::optional<std::int64_t> result;
  for (const Bound& bound : bounds.upper) {
    if (!bound.numerator.is_constant()) {
      return std::nullopt;
    }
    const std::int64_t value = divide_rounding_down(bound.numerator.constant(), bound.divisor);
    result = std::min(result.value_or(value), value);
  }
  return result;
}

Expr first_value(const LoopBounds& bounds) {
  std::vector<Expr> values;
  for (const Bound& bound : bounds.lower) {
    values.push_back(lower_first(bound));
  }
  return combined(values, "max");
}

Expr end_value(const LoopBounds& bounds) {
  std::vector<Expr> values;
  for (const Bound& bound : bounds.upper) {
    values.push_back(upper_end(bound));
  }
  return combined(values, "min");
}

}  // namespace rtcg::loopy
