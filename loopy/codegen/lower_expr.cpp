#include "rtcg/loopy/codegen/lower_expr.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

#include "rtcg/cgen/ast/infer_type.h"
#include "rtcg/cgen/check/check_types.h"
#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/analyze/compare_values.h"
#include "rtcg/loopy/analyze/evaluate_integer.h"
#include "rtcg/loopy/analyze/fold_quotients.h"
#include "rtcg/loopy/analyze/functions.h"
#include "rtcg/loopy/analyze/image.h"
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
        [&](const Sum& e) {
          const auto simple = with_known_values(expr);
          return simple ? lower(*simple, type) : sum(e, type);
        },
        [&](const Product& e) {
          const auto simple = with_known_values(expr);
          return simple ? lower(*simple, type) : product(e, type);
        },
        [&](const Quotient& e) {
          const auto [numerator, denominator] =
              met(cast_unless_floating(lower(e.numerator, type), type), lower(e.denominator, type));
          return numerator / denominator;
        },
        [&](const FloorDiv& e) { return floor_division(e, expr, type_of_division(expr, type)); },
        [&](const Modulo& e) { return remainder(e, expr, type_of_division(expr, type)); },
        [&](const Power& e) { return power_of(e, type); },
        [&](const Comparison& e) { return comparison(e); },
        [&](const Logical& e) { return logical(e); },
        [&](const Not& e) { return !condition(e.operand); },
        [&](const Bitwise& e) { return bitwise(e, type); },
        [&](const Conditional& e) { return conditional(e, type); },
        [&](const Access& e) {
          std::vector<Expr> indices;
          for (const Expr& index : e.indices) {
            indices.push_back(with_values(*scope_.values, index));
          }
          return scope_.element(e.array, indices);
        },
        [&](const LinearAccess& e) {
          return scope_.linear_element(e.array, with_values(*scope_.values, e.index));
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

  /// Whether it consists of constants, which take the type of the other operand.
  [[nodiscard]] bool is_loose(const Expr& expr) const {
    return loose_type(expr).firmness != Firmness::fixed;
  }
  [[nodiscard]] LooseType loose_type(const Expr& expr) const {
    const auto lookup = [&](const std::string& name) {
      return declared_type(*scope_.kernel, name);
    };
    return loose_types_of_targets(*scope_.kernel, lookup, expr).front();
  }

  [[nodiscard]] const ConstraintSet& context() const {
    if (scope_.has_asked_context != nullptr) {
      *scope_.has_asked_context = true;
    }
    return *scope_.context;
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

  /// Two operands of one operation: f16 and bf16 meet in f32, since neither holds the other's
  /// values.
  [[nodiscard]] static std::pair<cgen::Expr, cgen::Expr> met(const cgen::Expr& left,
                                                             const cgen::Expr& right) {
    const auto left_kind = cgen::scalar_kind(cgen::value_type(left.type()));
    const auto right_kind = cgen::scalar_kind(cgen::value_type(right.type()));
    const auto is_short = [](const auto& kind) {
      return kind == cgen::ScalarKind::f16 || kind == cgen::ScalarKind::bf16;
    };
    const bool differ = is_short(left_kind) && is_short(right_kind) && left_kind != right_kind;
    return differ ? std::pair(cgen::cast(cgen::f32, left), cgen::cast(cgen::f32, right))
                  : std::pair(left, right);
  }

  cgen::Expr name_value(const Name& e, const Type& type) const {
    const auto found = scope_.values->find(e.name);
    if (found == scope_.values->end()) {
      const cgen::Expr variable = scope_.variable(e.name);
      // a product of two would be computed in 32 bits
      const bool is_narrow = type == cgen::i64 && scope_.index_type == cgen::i64 &&
                             find_argument(*scope_.kernel, e.name) != nullptr &&
                             variable.type() == cgen::Type(cgen::i32);
      return is_narrow ? cgen::cast(cgen::i64, variable) : variable;
    }
    return found->second.is_constant() ? integer(found->second.constant(), type)
                                       : lower(to_expr(found->second), scope_.index_type);
  }

  /// An affine form of integers with the values of unrolled inames put in; nothing if it mentions
  /// no such iname.
  [[nodiscard]] std::optional<Expr> with_known_values(const Expr& expr) const {
    if (scope_.values->empty()) {
      return std::nullopt;
    }
    bool has_value = false;
    bool is_plain = true;
    walk(expr, [&](const Expr& part) {
      const Name* name = get_if<Name>(part);
      has_value = has_value || (name != nullptr && scope_.values->count(name->name) != 0);
      is_plain =
          is_plain && (name != nullptr || is<Integer>(part) || is<Sum>(part) || is<Product>(part));
      return is_plain;
    });
    const auto kind = has_value && is_plain ? cgen::scalar_kind(own_type(expr)) : std::nullopt;
    if (!kind || !cgen::is_integral(*kind) || !cgen::is_signed(*kind)) {
      return std::nullopt;
    }
    const auto affine = to_affine(with_values(*scope_.values, expr));
    return affine ? std::optional(to_expr(*affine)) : std::nullopt;
  }

  cgen::Expr sum(const Sum& e, const Type& type) const {
    // a sum that begins with a subtracted term is turned round where one that is added follows
    std::vector<Expr> terms = e.terms;
    if (subtracted_term(terms[0]) && terms.size() == 2 && !subtracted_term(terms[1])) {
      std::swap(terms[0], terms[1]);
    }
    cgen::Expr result = lower(terms.front(), type);
    for (std::size_t i = 1; i < terms.size(); ++i) {
      const std::optional<Expr> subtracted = subtracted_term(terms[i]);
      const auto [left, right] = met(result, lower(subtracted.value_or(terms[i]), type));
      result = subtracted ? left - right : left + right;
    }
    return result;
  }

  cgen::Expr product(const Product& e, const Type& type) const {
    std::size_t first = 0;
    const bool is_negated = as_integer(e.factors.front()) == -1;
    first = is_negated ? 1 : 0;
    cgen::Expr result = lower(e.factors[first], type);
    for (std::size_t i = first + 1; i < e.factors.size(); ++i) {
      const auto [left, right] = met(result, lower(e.factors[i], type));
      result = left * right;
    }
    return is_negated ? -result : result;
  }

  /// Whether it is known that sign * expr + offset is not negative.
  [[nodiscard]] bool is_known_nonnegative(const Expr& expr, std::int64_t sign,
                                          std::int64_t offset) const {
    const std::optional<Affine> affine = to_affine(with_values(*scope_.values, expr));
    return affine && context().implies_nonnegative(*affine * sign + offset);
  }
  [[nodiscard]] bool is_known_nonnegative(const Expr& expr) const {
    const auto is_known_positive = [&](const Expr& each) {
      const auto value = as_integer(each);
      return value ? *value > 0 : is_known_nonnegative(each, 1, -1);
    };
    const FloorDiv* quotient = get_if<FloorDiv>(expr);
    if (quotient != nullptr && is_known_positive(quotient->denominator)) {
      return is_known_nonnegative(quotient->numerator);
    }
    if (is_known_nonnegative(expr, 1, 0)) {
      return true;
    }
    const auto is_known = [&](const Expr& each) { return is_known_nonnegative(each); };
    if (const Sum* sum = get_if<Sum>(expr)) {
      return std::all_of(sum->terms.begin(), sum->terms.end(), is_known);
    }
    if (const Product* product = get_if<Product>(expr)) {
      return std::all_of(product->factors.begin(), product->factors.end(), is_known);
    }
    const Modulo* rest = get_if<Modulo>(expr);
    return rest != nullptr && is_known_positive(rest->denominator);
  }

  /// Rounds down for all signs, in the type that C gives the operands. That both are not negative
  /// and what is divided by is not zero makes C's own operator the same.
  cgen::Expr divided(Helper kind, const Expr& expr, const Expr& left_expr, const Expr& right_expr,
                     const Type& own) const {
    const cgen::Expr left = lower(left_expr, own);
    const cgen::Expr right = lower(right_expr, own);
    const auto left_kind = integer_kind(left);
    const auto right_kind = integer_kind(right);
    if (!left_kind || !right_kind) {
      throw Unsupported(
          "loopy.lower_expr.ill_typed",
          fmt::format("'{}' has no meaning in C: only integers are divided so", to_string(expr)));
    }
    const auto left_value = as_integer(left_expr);
    const auto right_value = as_integer(right_expr);
    const bool left_is_nonnegative = left_value ? *left_value >= 0 : !cgen::is_signed(*left_kind);
    const bool right_is_positive = right_value && *right_value > 0;
    if (left_is_nonnegative && right_is_positive) {
      return kind == Helper::floor_mod ? left % right : left / right;
    }
    const Type type =
        cgen::Scalar{division_kind(*left_kind, *right_kind, left_value >= 0, right_value >= 0)};
    if (right_is_positive && std::has_single_bit(static_cast<std::uint64_t>(*right_value)) &&
        cgen::is_signed(*left_kind) && left.type() == type) {
      // two's complement, and shifts that keep the sign, as all compilers have them
      return kind == Helper::floor_mod
                 ? left & lower(Expr(*right_value - 1), own)
                 : left >> cgen::Expr(std::countr_zero(static_cast<std::uint64_t>(*right_value)));
    }
    const HelperFunction function(kind, type);
    scope_.helpers->insert(function);
    const cgen::Expr result = cgen::call(function.name(), {left, right}, type);
    const auto own_kind = cgen::scalar_kind(own);
    // i32 with u32 is computed in i64, and the result is unsigned
    return own_kind && !cgen::is_signed(*own_kind) && !(type == own) ? cgen::cast(own, result)
                                                                     : result;
  }

  [[nodiscard]] static std::optional<cgen::ScalarKind> integer_kind(const cgen::Expr& expr) {
    const auto kind = cgen::scalar_kind(cgen::value_type(expr.type()));
    return kind && cgen::is_integral(*kind) ? kind : std::nullopt;
  }

  /// A type that holds the values of both: i64 for i32 and u32. A u64 stays one, as in C.
  [[nodiscard]] static cgen::ScalarKind division_kind(cgen::ScalarKind left, cgen::ScalarKind right,
                                                      bool left_is_count, bool right_is_count) {
    using Kind = cgen::ScalarKind;
    left = cgen::promoted(left);
    right = cgen::promoted(right);
    const bool is_wide = cgen::size_bytes(left) == 8 || cgen::size_bytes(right) == 8;
    if (cgen::is_signed(left) && cgen::is_signed(right)) {
      return is_wide ? Kind::i64 : Kind::i32;
    }
    if (left == Kind::u64 || right == Kind::u64) {
      return Kind::u64;
    }
    const bool left_fits = !cgen::is_signed(left) || left_is_count;
    const bool right_fits = !cgen::is_signed(right) || right_is_count;
    return left_fits && right_fits && !is_wide ? Kind::u32 : Kind::i64;
  }

  /// Integers are divided as integers, also where another type is wanted.
  [[nodiscard]] Type type_of_division(const Expr& expr, const Type& wanted) const {
    const Type own = own_type(expr);
    return is_floating_type(wanted) && is_floating_type(own) ? wanted : own;
  }

  cgen::Expr floor_division(const FloorDiv& e, const Expr& expr, const Type& type) const {
    return is_floating_type(type)
               ? cgen::call(cgen::Intrinsic::floor,
                            {lower(e.numerator, type) / lower(e.denominator, type)})
               : integer_division(Helper::floor_div, expr, e.numerator, e.denominator, type);
  }

  cgen::Expr remainder(const Modulo& e, const Expr& expr, const Type& type) const {
    if (is_floating_type(type)) {
      throw Unsupported("loopy.lower_expr.floating_modulo",
                        "`%` of floating-point values is not supported: use fmod");
    }
    return integer_division(Helper::floor_mod, expr, e.numerator, e.denominator, type);
  }

  /// C's own operator where both operands are known to allow it, and none where the quotient is
  /// known to be 0.
  cgen::Expr integer_division(Helper kind, const Expr& expr, const Expr& left, const Expr& right,
                              const Type& type) const {
    const auto divisor = as_integer(right);
    if (!is_known_nonnegative(left) ||
        !(divisor ? *divisor > 0 : is_known_nonnegative(right, 1, -1))) {
      return divided(kind, expr, left, right, type);
    }
    if (divisor && is_known_nonnegative(left, -1, *divisor - 1)) {
      return kind == Helper::floor_div ? cgen::Expr(0) : lower(left, type);
    }
    return kind == Helper::floor_div ? lower(left, type) / lower(right, type)
                                     : lower(left, type) % lower(right, type);
  }

  /// Multiplied out where the exponent is a small constant, the values of unrolled loops put in.
  cgen::Expr power_of(const Power& e, const Type& type) const {
    const Expr exponent_expr = simplify_index(with_values(*scope_.values, e.exponent));
    const auto exponent = as_integer(exponent_expr);
    const bool is_real = is_floating_type(type) || is_floating_type(own_type(e.base)) ||
                         is_floating_type(own_type(e.exponent));
    const bool is_inverse = exponent && *exponent < 0 && is_real;
    // a base that is long is not written more than four times
    const bool is_short = is<Name>(e.base) || is<Access>(e.base);
    const std::int64_t most = is_inverse || !is_short ? 4 : 8;
    if (exponent == 0) {
      return lower(1, type);
    }
    if (exponent && *exponent >= (is_inverse ? -most : 1) && *exponent <= most) {
      const cgen::Expr own = lower(e.base, type);
      const cgen::Expr base = is_inverse ? cast_unless_floating(own, type) : own;
      cgen::Expr result = base;
      for (std::int64_t i = 1; i < std::abs(*exponent); ++i) {
        result = result * base;
      }
      return is_inverse ? lower(1, type) / result : result;
    }
    if (!is_real) {
      return integer_power(e);
    }
    const Type real = is_floating_type(type) ? type : cgen::f64;
    return cgen::call(cgen::Intrinsic::pow, {cast_unless_floating(lower(e.base, real), real),
                                             cast_unless_floating(lower(e.exponent, real), real)});
  }

  /// In 64 bits, and in all of them: a double holds 53.
  cgen::Expr integer_power(const Power& e) const {
    const cgen::Expr base = lower(e.base, own_type(e.base));
    const auto kind = integer_kind(base);
    const Type type = kind && !cgen::is_signed(*kind) ? cgen::u64 : cgen::i64;
    const HelperFunction function(Helper::integer_power, type);
    scope_.helpers->insert(function);
    return cgen::call(function.name(), {base, lower(e.exponent, own_type(e.exponent))}, type);
  }

  /// Constants take the type of what they are compared with.
  [[nodiscard]] Type compared_type(const Comparison& e) const {
    return common_type(loose_type(e.left), loose_type(e.right)).type;
  }

  /// Whether C adds numbers of the one, which is signed, in the unsigned type of the other.
  [[nodiscard]] static bool is_mixed(cgen::ScalarKind left, cgen::ScalarKind right) {
    left = cgen::promoted(left);
    right = cgen::promoted(right);
    const auto is_beside = [](cgen::ScalarKind one, cgen::ScalarKind other) {
      return cgen::is_signed(one) && !cgen::is_signed(other) &&
             cgen::size_bytes(one) <= cgen::size_bytes(other);
    };
    return is_beside(left, right) || is_beside(right, left);
  }

  /// What a comparison of integers compares, with quotients in a shorter form.
  [[nodiscard]] cgen::Expr compared(const Expr& expr, const Type& type) const {
    const auto kind = cgen::scalar_kind(type);
    const bool is_folded =
        kind && cgen::is_integral(*kind) && cgen::is_signed(*kind) && has_quotients(expr);
    return lower(is_folded ? fold_quotients(simplify_index(with_values(*scope_.values, expr)),
                                            [&](const Affine& value) {
                                              return context().implies_nonnegative(value);
                                            })
                           : expr,
                 type);
  }

  cgen::Expr comparison(const Comparison& e) const {
    const Type type = compared_type(e);
    auto [left, right] = met(compared(e.left, type), compared(e.right, type));
    if (are_mixed(left, right)) {
      const bool left_is_signed = cgen::is_signed(*integer_kind(left));
      const bool may_be_negative = !is_known_nonnegative(left_is_signed ? e.left : e.right);
      if (may_be_negative && cgen::size_bytes(*integer_kind(left_is_signed ? right : left)) == 8) {
        return comparison_with_u64(e.op, left, right, left_is_signed);
      }
      if (may_be_negative) {
        widen_unsigned(left, right);
      }
    }
    return compared_by(e.op, left, right);
  }

  /// No type of C holds the values of both.
  static cgen::Expr comparison_with_u64(ComparisonOp op, const cgen::Expr& left,
                                        const cgen::Expr& right, bool left_is_signed) {
    const cgen::Expr& number = left_is_signed ? left : right;
    const cgen::Expr as_u64 = cgen::cast(cgen::u64, number);
    const cgen::Expr compared =
        left_is_signed ? compared_by(op, as_u64, right) : compared_by(op, left, as_u64);
    return compare_values(op, left_is_signed ? -1 : 1, left_is_signed ? 1 : -1)
               ? number < 0 || compared
               : number >= 0 && compared;
  }

  static cgen::Expr compared_by(ComparisonOp op, const cgen::Expr& left, const cgen::Expr& right) {
    switch (op) {
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
    const bool is_and = e.op == LogicalOp::and_;
    std::optional<cgen::Expr> result;
    for (const Expr& each : e.operands) {
      auto value = known_condition(*scope_.kernel, *scope_.values, each);
      if (!value && is_never_equal_here(each)) {
        value = false;
      }
      if (value == is_and) {
        continue;
      }
      if (value) {
        return cgen::Expr(is_and ? 0 : 1);
      }
      const cgen::Expr operand = condition(each);
      result = !result ? operand : is_and ? *result && operand : *result || operand;
    }
    return result.value_or(cgen::Expr(is_and ? 1 : 0));
  }

  /// Whether it is a test of equality that fails for all that is known here.
  [[nodiscard]] bool is_never_equal_here(const Expr& expr) const {
    const Comparison* comparison = get_if<Comparison>(expr);
    const auto parts = comparison != nullptr && comparison->op == ComparisonOp::equal
                           ? comparisons_of(with_values(*scope_.values, expr))
                           : std::nullopt;
    return parts && parts->size() == 1 && parts->front().quotients.is_unconstrained() &&
           is_never(context(), parts->front().constraint);
  }

  cgen::Expr bitwise(const Bitwise& e, const Type& type) const {
    cgen::Expr left = lower(e.left, type);
    const cgen::Expr right = lower(e.right, type);
    const auto right_kind = integer_kind(right);
    const bool is_shift = e.op == BitOp::shift_left || e.op == BitOp::shift_right;
    if (is_shift && evaluate_integer(with_values(*scope_.values, e.right), {}) == 0) {
      return left;
    }
    if (is_shift && is_loose(e.left) && right_kind && cgen::size_bytes(*right_kind) == 8) {
      left = cgen::cast(cgen::Scalar{*right_kind}, left);  // 1 << k has the bits that k counts
    }
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
    if (const auto value = known_condition(*scope_.kernel, *scope_.values, e.condition)) {
      return lower(*value ? e.then_value : e.else_value, type);
    }
    const auto parts = comparisons_of(with_values(*scope_.values, e.condition));
    if (!parts) {
      return choice(condition(e.condition), e, type);
    }
    std::optional<cgen::Expr> open;
    for (const ComparisonForm& part : *parts) {
      std::optional<ConstraintSet> wider;
      if (!part.quotients.is_unconstrained()) {
        wider = context();
        wider->add(part.quotients);
      }
      const ConstraintSet& known = wider ? *wider : context();
      if (known.implies(part.constraint)) {
        continue;
      }
      if (is_never(known, part.constraint)) {
        return lower(e.else_value, type);
      }
      add_test(open, lower_comparison(scope_, part));
    }
    return open ? choice(*open, e, type) : lower(e.then_value, type);
  }

  /// Whether C would make a negative number of one a large one of the other.
  [[nodiscard]] static bool are_mixed(const cgen::Expr& left, const cgen::Expr& right) {
    const auto left_kind = integer_kind(left);
    const auto right_kind = integer_kind(right);
    return left_kind && right_kind && is_mixed(*left_kind, *right_kind);
  }
  /// As C adds both in i64.
  static void widen_unsigned(cgen::Expr& left, cgen::Expr& right) {
    cgen::Expr& count = cgen::is_signed(*integer_kind(left)) ? right : left;
    count = cgen::cast(cgen::i64, count);
  }

  cgen::Expr choice(const cgen::Expr& condition, const Conditional& e, const Type& type) const {
    auto [then_value, else_value] = met(lower(e.then_value, type), lower(e.else_value, type));
    if (are_mixed(then_value, else_value) && own_type(e) == cgen::i64) {
      widen_unsigned(then_value, else_value);
    }
    return cgen::select(condition, as_value_of(else_value.type(), then_value),
                        as_value_of(then_value.type(), else_value));
  }

  cgen::Expr call_of(const TypedFunction& function, const Call& e) const {
    std::vector<cgen::Expr> arguments;
    for (std::size_t i = 0; i < e.arguments.size(); ++i) {
      const Type& type = function.parameters[i].type;
      const cgen::Expr given = as_value_of(type, lower(e.arguments[i], type));
      const bool is_same = cgen::value_type(given.type()) == type;
      arguments.push_back(is_same ? given : cgen::cast(type, given));
    }
    return cgen::call(function.name, std::move(arguments), function.result);
  }

  cgen::Expr exchanged(const Call& e, const Type& own) const {
    const std::int64_t lanes = as_integer(e.arguments.at(2)).value();
    const HelperFunction function(Helper::exchange, own, static_cast<int>(lanes));
    scope_.helpers->insert(function);
    return cgen::call(function.name(),
                      {lower(e.arguments.at(0), own), lower(e.arguments.at(1), cgen::i32)}, own);
  }

  cgen::Expr function_call(const Call& e, const Expr& expr, const Type& wanted) const {
    if (const TypedFunction* typed = find_typed_function(*scope_.kernel, e.function)) {
      return call_of(*typed, e);
    }
    if (const Argument* image = sampled_image(*scope_.kernel, e)) {
      std::vector<cgen::Expr> coordinates;
      for (std::size_t i = 1; i < e.arguments.size(); ++i) {
        const Type wanted_type = i == 1 && image->image_reads.has_layers ? cgen::i32 : cgen::f32;
        const Type own = is_loose(e.arguments[i]) ? wanted_type : own_type(e.arguments[i]);
        const cgen::Expr value = lower(e.arguments[i], own);
        coordinates.push_back(own == wanted_type ? value : cgen::cast(wanted_type, value));
      }
      return scope_.texel(image->name, std::move(coordinates));
    }
    const std::optional<cgen::Intrinsic> intrinsic = find_function(e.function);
    require_internal(intrinsic.has_value(), "only functions of the target are left to call");
    const cgen::IntrinsicInfo info = cgen::intrinsic_info(*intrinsic);
    const bool is_constant = info.family == cgen::IntrinsicFamily::complex_make && is_loose(expr);
    const Type own = is_constant && is_floating_type(wanted) ? cgen::complex_of(number_type(wanted))
                                                             : own_type(expr);
    if (e.function == shuffle_xor_function && e.arguments.size() == 3) {
      return exchanged(e, own);
    }
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
    if (own == cgen::i64 && arguments.size() == 2 && are_mixed(arguments[0], arguments[1])) {
      widen_unsigned(arguments[0], arguments[1]);
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
  return Lowering(scope).lower(simplify_index(with_values(*scope.values, expr)), scope.index_type);
}

cgen::Expr lower_index(const ExprScope& scope, const Affine& affine) {
  return Lowering(scope).lower(to_expr(with_values(*scope.values, affine)), scope.index_type);
}

cgen::Expr lower_floor_div(const ExprScope& scope, const Expr& numerator, const Expr& denominator) {
  return Lowering(scope).lower(floor_div(numerator, denominator), scope.index_type);
}

cgen::Expr lower_constraint(const ExprScope& scope, const Constraint& constraint) {
  Affine expr = with_values(*scope.values, constraint.expr);
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

void add_test(std::optional<cgen::Expr>& condition, const cgen::Expr& test) {
  condition = condition ? *condition && test : test;
}

cgen::Expr lower_comparison(const ExprScope& scope, const ComparisonForm& form) {
  if (form.quotients.is_unconstrained()) {
    return lower_constraint(scope, form.constraint);
  }
  const Comparison& e = *get_if<Comparison>(form.comparison);
  return lower_expr(scope, compare(e.op, simplify_index(with_values(*scope.values, e.left)),
                                   simplify_index(with_values(*scope.values, e.right))));
}

}  // namespace rtcg::loopy
