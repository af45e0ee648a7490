#include "rtcg/loopy/codegen/lower_expr.h"

#include <algorithm>

#include <fmt/format.h>

#include "rtcg/cgen/check/check_types.h"
#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/analyze/functions.h"
#include "rtcg/loopy/analyze/type_of.h"
#include "rtcg/loopy/symbolic/print_expr.h"
#include "rtcg/loopy/symbolic/traverse.h"

namespace rtcg::loopy {
namespace {

using cgen::Type;

/// Whether values of the type consist of floating-point numbers.
bool is_floating_type(const Type& type) {
  const auto kind = cgen::scalar_kind(number_type(type));
  return kind && cgen::is_floating(*kind);
}

/// -1 * x, or -3 * x: what is subtracted rather than added.
std::optional<Expr> as_subtracted(const Expr& term) {
  if (const auto value = as_integer(term); value && *value < 0 && *value != INT64_MIN) {
    return Expr(-*value);
  }
  const Product* product = get_if<Product>(term);
  if (product == nullptr) {
    return std::nullopt;
  }
  const auto first = as_integer(product->factors.front());
  if (!first || *first >= 0 || *first == INT64_MIN) {
    return std::nullopt;
  }
  Expr positive = -*first;
  for (std::size_t i = 1; i < product->factors.size(); ++i) {
    positive = positive * product->factors[i];
  }
  return positive;
}

class Lowering {
 public:
  explicit Lowering(const ExprScope& scope) : scope_(scope) {}

  cgen::Expr lower(const Expr& expr, const Type& type) const {
    return match(
        expr, [&](const Integer& e) { return integer(e.value, type); },
        [&](const Real& e) {
          return cgen::literal(e.value, e.stated_kind ? Type(cgen::Scalar{*e.stated_kind})
                                        : is_floating_type(type) ? number_type(type)
                                                                 : cgen::f64);
        },
        [&](const Name& e) { return name_value(e, type); },
        [&](const Sum& e) { return sum(e, type); },
        [&](const Product& e) { return product(e, type); },
        [&](const Quotient& e) {
          return cast_unless_floating(lower(e.numerator, type), type) / lower(e.denominator, type);
        },
        [&](const FloorDiv& e) { return floor_division(e, type_of_division(expr, type)); },
        [&](const Modulo& e) { return remainder(e, type_of_division(expr, type)); },
        [&](const Power& e) { return power_of(e, type); },
        [&](const Comparison& e) { return comparison(e); },
        [&](const Logical& e) { return logical(e); },
        [&](const Not& e) { return !condition(e.operand); },
        [&](const Bitwise& e) { return bitwise(e, type); },
        [&](const Conditional& e) { return conditional(e, type); },
        [&](const Access& e) {
          std::vector<Expr> indices;
          for (const Expr& index : e.indices) {
            indices.push_back(with_values(scope_, index));
          }
          return scope_.element(e.array, indices);
        },
        [&](const LinearAccess& e) {
          return scope_.linear_element(e.array, with_values(scope_, e.index));
        },
        [&](const Call& e) { return function_call(e, expr, type); },
        [&](const Cast& e) { return cgen::cast(e.type, lower(e.operand, own_type(e.operand))); },
        [&](const Reduction&) -> cgen::Expr {
          throw InternalError("reductions realised before C is made", SourceOrigin::current());
        });
  }

  cgen::Expr condition(const Expr& expr) const { return lower(expr, cgen::boolean); }

 private:
  [[nodiscard]] Type own_type(const Expr& expr) const { return type_of(*scope_.kernel, expr); }

  /// Whether it is made of constants that take the type they meet.
  [[nodiscard]] bool is_loose(const Expr& expr) const {
    const auto lookup = [&](const std::string& name) {
      return declared_type(*scope_.kernel, name);
    };
    return loose_types_of_targets(*scope_.kernel, lookup, expr).front().firmness != Firmness::fixed;
  }

  [[nodiscard]] const ConstraintSet& facts() const {
    if (scope_.has_asked_facts != nullptr) {
      *scope_.has_asked_facts = true;
    }
    return *scope_.facts;
  }

  [[nodiscard]] static cgen::Expr integer(std::int64_t value, const Type& type) {
    if (is_floating_type(type)) {
      return cgen::literal(static_cast<double>(value), number_type(type));
    }
    if (value >= INT32_MIN && value <= INT32_MAX) {
      return static_cast<int>(value);
    }
    return value;
  }

  static cgen::Expr cast_unless_floating(const cgen::Expr& expr, const Type& type) {
    const bool is_integer = is_floating_type(type) && !is_floating_type(expr.type());
    return is_integer ? cgen::cast(number_type(type), expr) : expr;
  }

  cgen::Expr name_value(const Name& e, const Type& type) const {
    const auto found = scope_.values->find(e.name);
    if (found == scope_.values->end()) {
      return scope_.variable(e.name);
    }
    return found->second.is_constant() ? integer(found->second.constant(), type)
                                       : lower(to_expr(found->second), scope_.index_type);
  }

  cgen::Expr sum(const Sum& e, const Type& type) const {
    // a sum that begins with a subtracted term is turned round where one that is added follows
    std::vector<Expr> terms = e.terms;
    if (as_subtracted(terms[0]) && terms.size() == 2 && !as_subtracted(terms[1])) {
      std::swap(terms[0], terms[1]);
    }
    cgen::Expr result = lower(terms.front(), type);
    for (std::size_t i = 1; i < terms.size(); ++i) {
      const std::optional<Expr> subtracted = as_subtracted(terms[i]);
      result = subtracted ? result - lower(*subtracted, type) : result + lower(terms[i], type);
    }
    return result;
  }

  cgen::Expr product(const Product& e, const Type& type) const {
    std::size_t first = 0;
    const bool is_negated = as_integer(e.factors.front()) == -1;
    first = is_negated ? 1 : 0;
    cgen::Expr result = lower(e.factors[first], type);
    for (std::size_t i = first + 1; i < e.factors.size(); ++i) {
      result = result * lower(e.factors[i], type);
    }
    return is_negated ? -result : result;
  }

  /// Whether 0 <= expr, and expr < bound, are known.
  [[nodiscard]] bool is_known_nonnegative(const Expr& expr) const {
    const std::optional<Affine> affine = to_affine(with_values(scope_, expr));
    return affine && facts().implies_nonnegative(*affine);
  }
  [[nodiscard]] bool is_known_below(const Expr& expr, std::int64_t bound) const {
    const std::optional<Affine> affine = to_affine(with_values(scope_, expr));
    return affine && facts().implies_nonnegative(Affine(bound - 1) - *affine);
  }

  cgen::Expr helper(const char* name, const Expr& left, const Expr& right) const {
    const bool is_wide = scope_.index_type == cgen::i64;
    const std::string full = fmt::format("{}_{}", name, is_wide ? "i64" : "i32");
    scope_.helpers->insert(full);
    return cgen::call(full, {lower(left, scope_.index_type), lower(right, scope_.index_type)},
                      scope_.index_type);
  }

  /// Integers are divided as such where floating-point values are wanted around them, too.
  [[nodiscard]] Type type_of_division(const Expr& expr, const Type& wanted) const {
    const Type own = own_type(expr);
    return is_floating_type(wanted) && !is_floating_type(own) ? own : wanted;
  }

  cgen::Expr floor_division(const FloorDiv& e, const Type& type) const {
    if (is_floating_type(type)) {
      return cgen::call(cgen::Intrinsic::floor,
                        {lower(e.numerator, type) / lower(e.denominator, type)});
    }
    const auto denominator = as_integer(e.denominator);
    if (is_known_nonnegative(e.numerator) && denominator && *denominator > 0) {
      return is_known_below(e.numerator, *denominator)
                 ? cgen::Expr(0)
                 : lower(e.numerator, type) / integer(*denominator, type);
    }
    if (is_known_nonnegative(e.numerator) && is_known_nonnegative(e.denominator)) {
      return lower(e.numerator, type) / lower(e.denominator, type);
    }
    return helper("floor_div", e.numerator, e.denominator);
  }

  cgen::Expr remainder(const Modulo& e, const Type& type) const {
    if (is_floating_type(type)) {
      throw Unsupported("loopy.lower_expr.floating_modulo",
                        "`%` of floating-point values is not supported: use fmod");
    }
    const auto denominator = as_integer(e.denominator);
    if (is_known_nonnegative(e.numerator) && denominator && *denominator > 0) {
      return is_known_below(e.numerator, *denominator)
                 ? lower(e.numerator, type)
                 : lower(e.numerator, type) % integer(*denominator, type);
    }
    if (is_known_nonnegative(e.numerator) && is_known_nonnegative(e.denominator)) {
      return lower(e.numerator, type) % lower(e.denominator, type);
    }
    return helper("floor_mod", e.numerator, e.denominator);
  }

  cgen::Expr power_of(const Power& e, const Type& type) const {
    const auto exponent = as_integer(e.exponent);
    const bool is_inverse = exponent && *exponent < 0 && is_floating_type(type);
    if (exponent && *exponent >= (is_inverse ? -4 : 2) && *exponent <= 4) {
      const cgen::Expr own = lower(e.base, type);
      const cgen::Expr base = is_inverse ? cast_unless_floating(own, type) : own;
      cgen::Expr result = base;
      for (std::int64_t i = 1; i < std::abs(*exponent); ++i) {
        result = result * base;
      }
      return is_inverse ? lower(1, type) / result : result;
    }
    const Type real = is_floating_type(type) ? type : cgen::f64;
    return cgen::call(cgen::Intrinsic::pow, {cast_unless_floating(lower(e.base, real), real),
                                             cast_unless_floating(lower(e.exponent, real), real)});
  }

  cgen::Expr comparison(const Comparison& e) const {
    const Type type = common_type(own_type(e.left), own_type(e.right));
    const cgen::Expr left = lower(e.left, type);
    const cgen::Expr right = lower(e.right, type);
    switch (e.op) {
      case ComparisonOp::less:
        return left < right;
      case ComparisonOp::less_equal:
        return left <= right;
      case ComparisonOp::greater:
        return left > right;
      case ComparisonOp::greater_equal:
        return left >= right;
      case ComparisonOp::equal:
        return cgen::equal(left, right);
      case ComparisonOp::not_equal:
        return cgen::not_equal(left, right);
    }
    return left;
  }

  cgen::Expr logical(const Logical& e) const {
    cgen::Expr result = condition(e.operands.front());
    for (std::size_t i = 1; i < e.operands.size(); ++i) {
      const cgen::Expr operand = condition(e.operands[i]);
      result = e.op == LogicalOp::and_ ? result && operand : result || operand;
    }
    return result;
  }

  cgen::Expr bitwise(const Bitwise& e, const Type& type) const {
    const cgen::Expr left = lower(e.left, type);
    const cgen::Expr right = lower(e.right, type);
    switch (e.op) {
      case BitOp::and_:
        return left & right;
      case BitOp::or_:
        return left | right;
      case BitOp::xor_:
        return left ^ right;
      case BitOp::shift_left:
        return left << right;
      case BitOp::shift_right:
        return left >> right;
    }
    return left;
  }

  // parts of the condition that are known to hold are left out
  cgen::Expr conditional(const Conditional& e, const Type& type) const {
    const auto parts = comparisons_of(with_values(scope_, e.condition));
    if (!parts) {
      return choice(condition(e.condition), e, type);
    }
    std::optional<cgen::Expr> open;
    for (const ComparisonForm& part : *parts) {
      std::optional<ConstraintSet> wider;
      if (!part.quotients.is_unconstrained()) {
        wider = facts();
        wider->add(part.quotients);
      }
      const ConstraintSet& known = wider ? *wider : facts();
      if (known.implies(part.constraint)) {
        continue;
      }
      if (is_never(known, part.constraint)) {
        return lower(e.else_value, type);
      }
      const cgen::Expr test = lower_comparison(scope_, part);
      open = open ? *open && test : test;
    }
    return open ? choice(*open, e, type) : lower(e.then_value, type);
  }

  cgen::Expr choice(const cgen::Expr& condition, const Conditional& e, const Type& type) const {
    const cgen::Expr then_value = lower(e.then_value, type);
    const cgen::Expr else_value = lower(e.else_value, type);
    return cgen::select(condition, as_value_of(else_value.type(), then_value),
                        as_value_of(then_value.type(), else_value));
  }

  cgen::Expr function_call(const Call& e, const Expr& expr, const Type& wanted) const {
    const std::optional<cgen::Intrinsic> intrinsic = find_function(e.function);
    require_internal(intrinsic.has_value(), "only functions of the target are left to call");
    const cgen::IntrinsicInfo info = cgen::intrinsic_info(*intrinsic);
    const bool is_constant = info.family == cgen::IntrinsicFamily::complex_make && is_loose(expr);
    const Type own = is_constant && is_floating_type(wanted) ? cgen::complex_of(number_type(wanted))
                                                             : own_type(expr);
    if (info.family == cgen::IntrinsicFamily::shuffle_value) {
      return cgen::call(
          *intrinsic, {lower(e.arguments.at(0), own), lower(e.arguments.at(1), scope_.index_type)});
    }
    const bool tests = info.family == cgen::IntrinsicFamily::floating_test ||
                       info.family == cgen::IntrinsicFamily::integral;
    std::vector<cgen::Expr> arguments;
    for (const Expr& argument : e.arguments) {
      Type type = tests ? own_type(argument) : own;
      if (is_floating_type(type) && is_floating_type(wanted) && as_integer(argument)) {
        type = wanted;
      }
      cgen::Expr value = lower(argument, type);
      if (info.family == cgen::IntrinsicFamily::floating) {
        value = cast_unless_floating(value, type);
      }
      arguments.push_back(std::move(value));
    }
    return cgen::call(*intrinsic, std::move(arguments));
  }

  const ExprScope& scope_;
};

/// Kernels know less of the types of operands than C does: what C has not is found here.
[[noreturn]] void refuse_ill_typed(const Expr& expr, const cgen::Expr& code) {
  std::string reason;
  try {
    cgen::check_types(code);
  } catch (const Error& error) {
    reason = error.what();
  }
  throw Unsupported("loopy.lower_expr.ill_typed",
                    fmt::format("'{}' has no meaning in C: {}", to_string(expr), reason));
}

}  // namespace

bool is_never(const ConstraintSet& facts, const Constraint& constraint) {
  return facts.implies_nonnegative(-constraint.expr - 1) ||
         (constraint.is_equality && facts.implies_nonnegative(constraint.expr - 1));
}

Expr with_values(const ExprScope& scope, const Expr& expr) {
  if (scope.values->empty()) {
    return expr;
  }
  if (is<Integer>(expr)) {
    return expr;
  }
  if (const Name* name = get_if<Name>(expr)) {
    const auto found = scope.values->find(name->name);
    return found == scope.values->end() ? expr : to_expr(found->second);
  }
  return map_children(expr, [&](const Expr& child) { return with_values(scope, child); });
}

Affine with_values(const ExprScope& scope, const Affine& affine) {
  const bool is_open =
      std::all_of(affine.terms().begin(), affine.terms().end(), [&](const Affine::Term& term) {
        return scope.values->find(term.name) == scope.values->end();
      });
  if (is_open) {
    return affine;
  }
  std::vector<Affine::Term> open;
  open.reserve(affine.terms().size());
  Affine known;
  for (const Affine::Term& term : affine.terms()) {
    const auto found = scope.values->find(term.name);
    if (found == scope.values->end()) {
      open.push_back(term);
    } else {
      known = known + found->second * term.coefficient;
    }
  }
  const Affine rest(std::move(open), affine.constant());
  return rest + known;
}

cgen::Expr lower_expr(const ExprScope& scope, const Expr& expr, const cgen::Type& type) {
  cgen::Expr code =
      Lowering(scope).lower(expr, is_known(type) ? type : type_of(*scope.kernel, expr));
  if (is<cgen::Invalid>(code.type())) {
    refuse_ill_typed(expr, code);
  }
  return code;
}

cgen::Expr as_value_of(const cgen::Type& type, const cgen::Expr& value) {
  const Type whole = cgen::value_type(type);
  const Type number = number_type(whole);
  const Type given = cgen::value_type(value.type());
  if (number == whole || !cgen::scalar_kind(given)) {
    return value;
  }
  return cgen::cast(whole, given == number ? value : cgen::cast(number, value));
}

cgen::Expr lower_index(const ExprScope& scope, const Expr& expr) {
  return Lowering(scope).lower(simplify_index(with_values(scope, expr)), scope.index_type);
}

cgen::Expr lower_index(const ExprScope& scope, const Affine& affine) {
  return Lowering(scope).lower(to_expr(with_values(scope, affine)), scope.index_type);
}

cgen::Expr lower_floor_div(const ExprScope& scope, const Expr& numerator, const Expr& denominator) {
  return Lowering(scope).lower(floor_div(numerator, denominator), scope.index_type);
}

cgen::Expr lower_constraint(const ExprScope& scope, const Constraint& constraint) {
  Affine expr = with_values(scope, constraint.expr);
  if (const std::int64_t gcd = expr.coefficient_gcd(); gcd > 1 && !constraint.is_equality) {
    expr = expr.divided_rounding_down(gcd);  // 4*i >= 1 is i >= 1
  }
  std::vector<Affine::Term> added;
  std::vector<Affine::Term> subtracted;
  for (const Affine::Term& term : expr.terms()) {
    (term.coefficient > 0 ? added : subtracted).push_back({term.name, std::abs(term.coefficient)});
  }
  const std::int64_t constant = expr.constant();
  const auto lower = [&](std::vector<Affine::Term> terms, std::int64_t sum) {
    const Affine side(std::move(terms), sum);  // with the values in already
    return Lowering(scope).lower(to_expr(side), scope.index_type);
  };
  if (constraint.is_equality) {
    return cgen::equal(lower(std::move(added), std::max<std::int64_t>(constant, 0)),
                       lower(std::move(subtracted), std::max<std::int64_t>(-constant, 0)));
  }
  // added + constant >= subtracted
  if (subtracted.empty()) {
    return lower(std::move(added), 0) >= lower({}, -constant);
  }
  if (added.empty()) {
    return lower(std::move(subtracted), 0) < lower({}, constant + 1);
  }
  if (constant < 0) {
    return lower(std::move(subtracted), -constant - 1) < lower(std::move(added), 0);
  }
  return lower(std::move(subtracted), 0) <= lower(std::move(added), constant);
}

cgen::Expr lower_comparison(const ExprScope& scope, const ComparisonForm& form) {
  if (form.quotients.is_unconstrained()) {
    return lower_constraint(scope, form.constraint);
  }
  const Comparison& e = *get_if<Comparison>(form.comparison);
  return lower_expr(scope, compare(e.op, simplify_index(with_values(scope, e.left)),
                                   simplify_index(with_values(scope, e.right))));
}

}  // namespace rtcg::loopy
