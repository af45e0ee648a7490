#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>

#include "rtcg/cgen/support/source_origin.h"

// The three handles of syntax trees. The nodes that they hold are in type.h, expr.h and
// statement.h: include those.

namespace rtcg::cgen {

struct TypeNode;
struct ExprNode;
struct StatementNode;

template <class Kind>
inline constexpr bool is_type_kind = false;
template <class Kind>
inline constexpr bool is_expr_kind = false;
template <class Kind>
inline constexpr bool is_statement_kind = false;

// The kinds that handles may be made from, as listed in type.h, expr.h and statement.h.
template <class Kind>
concept TypeKind = is_type_kind<Kind>;
template <class Kind>
concept ExprKind = is_expr_kind<Kind>;
template <class Kind>
concept StatementKind = is_statement_kind<Kind>;

/// A type of the generated language.
///
/// An immutable value: copying copies a pointer, and threads may share it. Made from one of the
/// kinds of type.h; `match` dispatches on them. `==` compares structure. A default-constructed Type
/// is `Unknown`: nothing that has it is checked.
class Type {
 public:
  Type();
  template <TypeKind Kind>
  Type(Kind kind);

  [[nodiscard]] const TypeNode& node() const noexcept { return *node_; }
  /// Equal for equal types, the same on every machine.
  [[nodiscard]] std::uint64_t hash() const noexcept;

 private:
  friend struct NodeAccess;
  std::shared_ptr<const TypeNode> node_;
};

/// Types that convert to an expression: numbers. Not bool: the structural `a == b` would silently
/// become a condition; write `literal(true)`.
template <class Number>
concept NumberLiteral = std::floating_point<Number> ||
    (std::integral<Number> && !std::same_as<Number, bool> && !std::same_as<Number, char>);

class Operand;

/// An expression of the generated language, with its type and the C++ line that built it.
///
/// An immutable value: copying copies a pointer, and threads may share it. Made from one of the
/// kinds of expr.h or from a C++ number. Building never throws: an ill-typed expression has the
/// type `Invalid`, and check_types says why. `==` compares structure and gives a bool; the C
/// comparison is `equal(a, b)`.
class Expr {
 public:
  template <ExprKind Kind>
  Expr(Kind kind, SourceOrigin where = SourceOrigin::current());
  /// The literal of the C++ type of `number`.
  template <NumberLiteral Number>
  Expr(Number number, SourceOrigin where = SourceOrigin::current());

  [[nodiscard]] const ExprNode& node() const noexcept { return *node_; }
  [[nodiscard]] std::uint64_t hash() const noexcept;
  /// The C type, qualifiers and references included.
  [[nodiscard]] const Type& type() const noexcept;
  [[nodiscard]] SourceOrigin where() const noexcept;

  /// `(*this)[index]`.
  Expr operator[](Operand index) const;
  /// `this->name` if this is a pointer, otherwise `this.name`.
  [[nodiscard]] Expr member(std::string name, SourceOrigin where = SourceOrigin::current()) const;

 private:
  friend struct NodeAccess;
  std::shared_ptr<const ExprNode> node_;
};

class Declared;

/// A statement, declaration, definition, preprocessor line or comment, with the C++ line that built
/// it. One type for the file and for function bodies; check_types checks where each kind is
/// allowed.
///
/// An immutable value like Expr. Made from one of the kinds of statement.h, from an expression (an
/// expression statement) or from a result of `declare`.
class Statement {
 public:
  template <StatementKind Kind>
  Statement(Kind kind, SourceOrigin where = SourceOrigin::current());
  template <ExprKind Kind>
  Statement(Kind kind, SourceOrigin where = SourceOrigin::current());
  Statement(const Expr& expression);
  Statement(const Declared& declared);

  [[nodiscard]] const StatementNode& node() const noexcept { return *node_; }
  [[nodiscard]] std::uint64_t hash() const noexcept;
  [[nodiscard]] SourceOrigin where() const noexcept;

 private:
  friend struct NodeAccess;
  std::shared_ptr<const StatementNode> node_;
};

/// An expression that names something, together with the statement that declares it: usable as
/// either.
class Declared : public Expr {
 public:
  Declared(Expr name, Statement declaration)
      : Expr(std::move(name)), declaration_(std::move(declaration)) {}

  [[nodiscard]] const Statement& declaration() const noexcept { return declaration_; }

 private:
  Statement declaration_;
};

/// An operand of an operator: an expression or a C++ number, and the line of the operator.
class Operand {
 public:
  template <std::convertible_to<Expr> Value>
  Operand(Value&& value, SourceOrigin where = SourceOrigin::current())
      : expr(make(std::forward<Value>(value), where)), where(where) {}

  Expr expr;
  SourceOrigin where;

 private:
  template <class Value>
  static Expr make(Value&& value, SourceOrigin where) {
    if constexpr (NumberLiteral<std::remove_cvref_t<Value>>) {
      return Expr(value, where);
    } else {
      return std::forward<Value>(value);
    }
  }
};

}  // namespace rtcg::cgen
