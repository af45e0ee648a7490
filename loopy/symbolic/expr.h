#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rtcg/cgen/ast/kind_node.h"
#include "rtcg/cgen/ast/type.h"

// Expressions of kernels: mathematics over inames, parameters, array accesses, reductions and
// substitution rules. They know neither C types nor C operators: `a // b` and `a % b` round down,
// and what is computed in which type is settled when the kernel is generated.

namespace rtcg::loopy {

struct ExprNode;
template <class Kind>
inline constexpr bool is_loopy_expr_kind = false;
template <class Kind>
concept LoopyExprKind = is_loopy_expr_kind<Kind>;

/// An expression of a kernel.
///
/// An immutable value: copying copies a pointer, and threads may share it. Made from one of the
/// kinds below, from a C++ number or by the operators below. `==` compares structure.
class Expr {
 public:
  template <LoopyExprKind Kind>
  Expr(Kind kind);
  template <std::integral Number>
  requires(!std::same_as<Number, bool>) Expr(Number number);
  Expr(double number);

  [[nodiscard]] const ExprNode& node() const noexcept { return *node_; }
  /// Equal for equal expressions, the same on every machine.
  [[nodiscard]] std::uint64_t hash() const noexcept;

  friend bool operator==(const Expr& left, const Expr& right);

 private:
  std::shared_ptr<const ExprNode> node_;
};

struct Integer {
  std::int64_t value = 0;
};
/// A floating-point constant. Without a stated type it takes that of its surroundings.
struct Real {
  double value = 0;
  std::optional<cgen::ScalarKind> stated_kind{};
};
/// An iname, a parameter, a scalar argument or a scalar temporary.
struct Name {
  std::string name{};
};
/// At least two terms; summed from left to right.
struct Sum {
  std::vector<Expr> terms{};
};
/// At least two factors; multiplied from left to right.
struct Product {
  std::vector<Expr> factors{};
};
/// `numerator / denominator`; integers are divided as real numbers.
struct Quotient {
  Expr numerator;
  Expr denominator;
};
/// `numerator // denominator`, rounded down.
struct FloorDiv {
  Expr numerator;
  Expr denominator;
};
/// `numerator % denominator`, of the denominator's sign.
struct Modulo {
  Expr numerator;
  Expr denominator;
};
struct Power {
  Expr base;
  Expr exponent;
};
enum class ComparisonOp { less, less_equal, greater, greater_equal, equal, not_equal };
struct Comparison {
  ComparisonOp op;
  Expr left;
  Expr right;
};
enum class LogicalOp { and_, or_ };
/// At least two operands.
struct Logical {
  LogicalOp op;
  std::vector<Expr> operands{};
};
struct Not {
  Expr operand;
};
enum class BitOp { and_, or_, xor_, shift_left, shift_right };
struct Bitwise {
  BitOp op;
  Expr left;
  Expr right;
};
/// `then_value if condition else else_value`; only the value taken is computed.
struct Conditional {
  Expr condition;
  Expr then_value;
  Expr else_value;
};
/// `array[indices]`.
struct Access {
  std::string array{};
  std::vector<Expr> indices{};
};
/// `array[[index]]`: the element at a place in memory, for any shape of the array.
struct LinearAccess {
  std::string array{};
  Expr index;
};
/// A function of the target, or a substitution rule.
struct Call {
  std::string function{};
  std::vector<Expr> arguments{};
};
struct Cast {
  cgen::Type type;
  Expr operand;
};
/// `operation(inames, operands)`: over all values of the inames; several operands where the
/// operation works on tuples. `order` says which elements come first, see in_order.h.
struct Reduction {
  std::string operation{};
  std::vector<std::string> inames{};
  std::vector<Expr> operands{};
  std::vector<Expr> order{};
};

using ExprKinds =
    cgen::KindList<Integer, Real, Name, Sum, Product, Quotient, FloorDiv, Modulo, Power, Comparison,
                   Logical, Not, Bitwise, Conditional, Access, LinearAccess, Call, Cast, Reduction>;

template <class Kind>
requires(ExprKinds::contains<Kind>) inline constexpr bool is_loopy_expr_kind<Kind> = true;

struct ExprNode {
  using Kinds = ExprKinds;
  std::uint64_t hash;
  std::uint8_t index;  // of its kind in Kinds
};

template <std::integral Number>
requires(!std::same_as<Number, bool>) Expr::Expr(Number number)
    : Expr(Integer{static_cast<std::int64_t>(number)}) {}
inline Expr::Expr(double number) : Expr(Real{number}) {}

inline std::uint64_t Expr::hash() const noexcept {
  return node_->hash;
}
inline const ExprNode& kinds(const Expr& expr) {
  return expr.node();
}

/// `<`, `<=`, ... as kernels are written.
[[nodiscard]] std::string_view spelling(ComparisonOp op);
[[nodiscard]] std::string_view spelling(BitOp op);
/// The comparison that holds when `op` does not.
[[nodiscard]] ComparisonOp negated(ComparisonOp op);

/// The value of an integer constant.
[[nodiscard]] std::optional<std::int64_t> as_integer(const Expr& expr);
/// `x` of `-1*x`, `3*x` of `-3*x`, 2 of -2: what a sum with this term subtracts. Nothing if the
/// term is not negative.
[[nodiscard]] std::optional<Expr> subtracted_term(const Expr& term);

// Operators. They fold integer constants and drop neutral elements (`x + 0`, `1 * x`), and nothing
// that could change a floating-point result.
[[nodiscard]] Expr operator+(const Expr& left, const Expr& right);
[[nodiscard]] Expr operator-(const Expr& left, const Expr& right);
[[nodiscard]] Expr operator-(const Expr& operand);
[[nodiscard]] Expr operator*(const Expr& left, const Expr& right);
[[nodiscard]] Expr operator/(const Expr& left, const Expr& right);
/// @param denominator  not zero where it is a constant
[[nodiscard]] Expr floor_div(const Expr& numerator, const Expr& denominator);
[[nodiscard]] Expr modulo(const Expr& numerator, const Expr& denominator);
[[nodiscard]] Expr power(const Expr& base, const Expr& exponent);
[[nodiscard]] Expr compare(ComparisonOp op, const Expr& left, const Expr& right);
/// The only operand itself where there is but one; `1 == 1` is written as the integer 1.
[[nodiscard]] Expr logical_and(std::vector<Expr> operands);
[[nodiscard]] Expr logical_or(std::vector<Expr> operands);
[[nodiscard]] Expr logical_not(const Expr& operand);

[[nodiscard]] inline Expr name(std::string text) {
  return Name{std::move(text)};
}
[[nodiscard]] inline Expr access(std::string array, std::vector<Expr> indices) {
  return Access{std::move(array), std::move(indices)};
}
[[nodiscard]] inline Expr call(std::string function, std::vector<Expr> arguments) {
  return Call{std::move(function), std::move(arguments)};
}

}  // namespace rtcg::loopy
