#pragma once
// Internal header: it is not installed.

#include <optional>
#include <vector>

#include "rtcg/arrays/lazy/lower_steps.h"

// Operations on real numbers, integers and booleans that C and statements of loop kernels compute
// in the same way.

namespace rtcg::arrays::detail {

/// `Language` has a type `Expr` with operators + - * / and unary -, and as static functions what
/// the two languages write differently.
template <class Language>
class PlainOperations {
 public:
  using Expr = typename Language::Expr;
  using Operands = std::vector<Expr>;

  /// @param dtype     of the result
  /// @param operands  comparisons have two of one type
  /// @returns nothing for operations that are not among these
  static std::optional<Expr> find(Op op, DType dtype, const Operands& operands) {
    if (const auto intrinsic = intrinsic_of(op)) {
      return Language::call(*intrinsic, operands);
    }
    const Expr& a = operands[0];
    const Expr& b = operands[operands.size() > 1 ? 1 : 0];
    switch (op) {
      case Op::add:
      case Op::subtract:
      case Op::multiply:
        return arithmetic(op, dtype, a, b);
      case Op::divide:
        return a / b;
      case Op::negate:
        return is_integer(dtype) ? negative(dtype, a) : -a;
      case Op::absolute:
        return is_integer(dtype) ? Language::select(Language::less(a, Language::integer(0)),
                                                    negative(dtype, a), a)
                                 : Language::call(cgen::Intrinsic::abs, {a});
      case Op::sign:
        return sign(dtype, a);
      case Op::bit_and:
      case Op::bit_or:
      case Op::bit_xor:
        return bits(op, dtype, a, b);
      case Op::bit_not:
        return Language::inverted(dtype, a);
      case Op::equal:
        return Language::equal(a, b);
      case Op::not_equal:
        return Language::differ(a, b);
      case Op::less:
        return Language::less(a, b);
      case Op::less_equal:
        return Language::less_equal(a, b);
      case Op::logical_and:
        return Language::both(a, b);
      case Op::logical_or:
        return Language::either(a, b);
      case Op::logical_not:
        return Language::negation(a);
      case Op::where:
        return Language::select(a, b, operands[2]);
      case Op::maximum:
      case Op::minimum:
      case Op::fmax:
      case Op::fmin:
        return extremum(op, dtype, a, b);
      default:
        return std::nullopt;
    }
  }

 private:
  static Expr negative(DType dtype, const Expr& a) {
    return Language::wrapping(Op::subtract, Language::constant(0, dtype), a, dtype);
  }

  static Expr arithmetic(Op op, DType dtype, const Expr& a, const Expr& b) {
    if (dtype == DType::boolean) {
      return op == Op::add ? Language::either(a, b) : Language::both(a, b);
    }
    return is_integer(dtype)    ? Language::wrapping(op, a, b, dtype)
           : op == Op::add      ? a + b
           : op == Op::subtract ? a - b
                                : a * b;
  }

  static Expr bits(Op op, DType dtype, const Expr& a, const Expr& b) {
    if (dtype == DType::boolean) {
      return op == Op::bit_and  ? Language::both(a, b)
             : op == Op::bit_or ? Language::either(a, b)
                                : Language::one_of(a, b);
    }
    return Language::bits(op, a, b, dtype);
  }

  static Expr sign(DType dtype, const Expr& a) {
    const Expr zero = Language::constant(0, dtype);
    // a itself where it is neither: 0, or a NaN
    const Expr rest =
        is_unsigned_integer(dtype)
            ? zero
            : Language::select(Language::less(a, zero), Language::constant(-1, dtype), a);
    return Language::select(Language::greater(a, zero), Language::constant(1, dtype), rest);
  }

  static Expr extremum(Op op, DType dtype, const Expr& a, const Expr& b) {
    const bool is_greatest = op == Op::maximum || op == Op::fmax;
    const Expr wins = is_greatest ? Language::greater(a, b) : Language::less(a, b);
    if (!is_floating(dtype)) {
      return Language::select(wins, a, b);
    }
    const Expr& judged =
        op == Op::maximum || op == Op::minimum ? a : b;  // a NaN differs from itself
    return Language::select(Language::either(wins, Language::differ(judged, judged)), a, b);
  }
};

}  // namespace rtcg::arrays::detail
