#include "rtcg/loopy/codegen/lower_bounds.h"

namespace rtcg::loopy {
namespace {

/// C's division rounds towards zero: the same for what is not negative; where it is, an end comes
/// out as 0 or less, which ends a loop from 0 as well.
cgen::Expr lower_end(const ExprScope& scope, const Bound& bound, bool starts_at_zero) {
  const Affine numerator = with_values(*scope.values, bound.numerator) + Affine(bound.divisor);
  if (bound.divisor == 1 || (!starts_at_zero && !scope.context->implies_nonnegative(numerator))) {
    return lower_floor_div(scope, to_expr(numerator), bound.divisor);
  }
  return lower_index(scope, numerator) / static_cast<int>(bound.divisor);
}

cgen::Expr reduce(const std::vector<cgen::Expr>& values, cgen::Intrinsic function) {
  cgen::Expr result = values.front();
  for (std::size_t i = 1; i < values.size(); ++i) {
    result = cgen::call(function, {result, values[i]});
  }
  return result;
}

}  // namespace

cgen::Expr lower_first_value(const ExprScope& scope, const LoopBounds& bounds) {
  std::vector<cgen::Expr> values;
  for (const Bound& bound : bounds.lower) {
    values.push_back(lower_floor_div(
        scope, to_expr(with_values(*scope.values, bound.numerator) + Affine(bound.divisor - 1)),
        bound.divisor));
  }
  return reduce(values, cgen::Intrinsic::max);
}

cgen::Expr lower_end_value(const ExprScope& scope, const LoopBounds& bounds) {
  const auto first = constant_lower(bounds);
  std::vector<cgen::Expr> values;
  for (const Bound& bound : bounds.upper) {
    values.push_back(lower_end(scope, bound, first && *first >= 0));
  }
  return reduce(values, cgen::Intrinsic::min);
}

}  // namespace rtcg::loopy
