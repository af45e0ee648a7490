#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rtcg/cgen/ast/handles.h"
#include "rtcg/cgen/ast/intrinsic.h"
#include "rtcg/cgen/ast/type.h"
#include "rtcg/cgen/support/match.h"

namespace rtcg::cgen {

/// `-magnitude` when negative. The type is i32, u32, i64, u64, size or ptrdiff, or a smaller one,
/// which C can only write as a cast.
struct IntLiteral {
  std::uint64_t magnitude = 0;
  bool is_negative = false;
  Type type = i32;
};
/// A value that `type` (f16, bf16, f32, f64) holds exactly once rounded to it; may be inf or nan.
struct FloatLiteral {
  double value = 0;
  Type type = f64;
};
struct BoolLiteral {
  bool value = false;
};
struct CharLiteral {
  char value = 0;
};
/// The characters themselves: the printer escapes.
struct StringLiteral {
  std::string text{};
};
struct NullPointer {};

/// A variable, parameter, enumerator or function by name.
struct Variable {
  std::string name{};
  Type type;
};

enum class BuiltinKind { thread_idx, block_idx, block_dim, grid_dim };
/// A thread's place in the launch; of type u32. `axis`: 0 is x, 1 is y, 2 is z.
struct BuiltinIndex {
  BuiltinKind kind = BuiltinKind::thread_idx;
  int axis = 0;
};

struct IntrinsicCall {
  Intrinsic intrinsic = Intrinsic::sqrt;
  std::vector<Expr> arguments{};
  Type stated_type{};  ///< of make_vector and bit_cast; otherwise Unknown
};

enum class UnaryOp {
  plus,
  negate,
  bit_not,
  logical_not,
  dereference,
  address_of,
  pre_increment,
  pre_decrement,
  post_increment,
  post_decrement,
};
struct Unary {
  UnaryOp op;
  Expr operand;
};

enum class BinaryOp {
  add,
  subtract,
  multiply,
  divide,
  remainder,
  shift_left,
  shift_right,
  bit_and,
  bit_or,
  bit_xor,
  less,
  less_equal,
  greater,
  greater_equal,
  equal,
  not_equal,
  logical_and,
  logical_or,
  comma,
};
struct Binary {
  BinaryOp op;
  Expr left;
  Expr right;
};

/// `target = value`, or `target op= value` with op one of add ... bit_xor.
struct AssignExpr {
  std::optional<BinaryOp> op{};
  Expr target;
  Expr value;
};
struct Conditional {
  Expr condition;
  Expr then_value;
  Expr else_value;
};

enum class CastStyle {
  c_style,
  static_cast_,
  reinterpret_cast_,
  const_cast_,
  functional,  ///< `float(x)`
};
struct Cast {
  Type type;
  Expr operand;
  CastStyle style = CastStyle::c_style;
};
struct Call {
  Expr callee;
  std::vector<Expr> arguments{};
  std::vector<TemplateArgument> template_arguments{};
};
struct Subscript {
  Expr array;
  Expr index;
};
/// `object.name`, or `object->name` when `object` is a pointer.
struct Member {
  Expr object;
  std::string name{};
};

/// One element of an initialiser list; at most one designator: `.member =` or `[index] =`.
struct Initializer {
  template <std::convertible_to<Expr> Element>
  Initializer(Element&& element) : value(std::forward<Element>(element)) {}
  Initializer(std::string designated_member, Expr element)
      : member(std::move(designated_member)), value(std::move(element)) {}
  std::optional<std::string> member{};
  std::optional<Expr> index{};
  Expr value;
};
/// `{a, b}`: of Unknown type; it gets the type of the initialised object.
struct InitializerList {
  std::vector<Initializer> elements{};
};
/// `(T){a, b}` in C and OpenCL, `T{a, b}` in C++ and CUDA.
struct CompoundLiteral {
  Type type;
  InitializerList value{};
};
/// `sizeof(T)` or `sizeof e`; of type size.
struct SizeOf {
  TemplateArgument operand;
};
struct AlignOf {
  Type type;
};
/// `callee<template_arguments><<<grid, block, shared_bytes, stream>>>(arguments)`.
struct KernelLaunch {
  Expr callee;
  Expr grid;
  Expr block;
  std::vector<Expr> arguments{};
  std::optional<Expr> shared_bytes{};
  std::optional<Expr> stream{};
  std::vector<TemplateArgument> template_arguments{};
};

enum class AttributeStyle {
  gnu,       ///< `__attribute__((text))`
  standard,  ///< `[[text]]`
};
struct Attribute {
  std::string text{};
  AttributeStyle style = AttributeStyle::gnu;
};
/// A parameter of a function, lambda or exception handler; the name may be empty.
struct Parameter {
  Type type;
  std::string name{};
  std::optional<Expr> default_value{};
  std::vector<Attribute> attributes{};
  bool is_pack = false;  ///< `type... name`
};

enum class CaptureDefault { none, by_value, by_reference };
/// The name may be `this` or `*this` as well.
struct Capture {
  std::string name{};
  bool by_reference = false;
  std::optional<Expr> initializer{};
};
/// A C++ lambda, of Unknown type.
struct Lambda {
  std::vector<Parameter> parameters{};
  Statement body;
  CaptureDefault capture_default = CaptureDefault::none;
  std::vector<Capture> captures{};
  std::optional<Type> result{};
  bool is_mutable = false;
  bool is_device = false;  ///< CUDA's `__device__` lambda
};

/// `this`, in a member function. `type` is the pointer's; it may stay Unknown.
struct This {
  Type type{};
};
/// `new (placement) type(arguments)`: a pointer to `type`. Of an Array, `new element[extent]`, it
/// is one to the first element.
struct New {
  Type type;
  /// In parentheses, or in braces when `has_braces`. None leaves scalars uninitialised; an empty
  /// list makes them zero.
  std::optional<std::vector<Expr>> arguments{};
  std::vector<Expr> placement{};
  bool has_braces = false;
};
/// `delete pointer`, or `delete[] pointer`; of type void.
struct Delete {
  Expr pointer;
  bool is_array = false;
};
/// `throw value`, or `throw` alone, which throws the caught value again; of type void.
struct Throw {
  std::optional<Expr> value{};
};
/// A fold over a parameter pack: `(pack op ...)`, or `(... op pack)` when it folds from the left;
/// with an `initial` value `(pack op ... op initial)` or `(initial op ... op pack)`. Of Unknown
/// type.
struct Fold {
  BinaryOp op;
  Expr pack;  ///< an expression that names a pack
  std::optional<Expr> initial{};
  bool is_left = false;
};
/// `pattern...` as an argument of a call, of `new` or of an initialiser list: `pattern` once for
/// each element of the packs that it names. Of Unknown type.
struct PackExpansion {
  Expr pattern;
};

/// Text that no node covers. It prints in parentheses unless it is marked as primary (a name, a
/// call, a parenthesised text).
struct RawExpr {
  std::string text{};
  Type type;
  std::vector<std::string> names_used{};
  bool is_primary = false;
};

using ExprKinds =
    KindList<IntLiteral, FloatLiteral, BoolLiteral, CharLiteral, StringLiteral, NullPointer,
             Variable, BuiltinIndex, IntrinsicCall, Unary, Binary, AssignExpr, Conditional, Cast,
             Call, Subscript, Member, InitializerList, CompoundLiteral, SizeOf, AlignOf,
             KernelLaunch, Lambda, This, New, Delete, Throw, Fold, PackExpansion, RawExpr>;

template <class Kind>
requires(ExprKinds::contains<Kind>) inline constexpr bool is_expr_kind<Kind> = true;

struct ExprNode {
  using Kinds = ExprKinds;
  std::uint64_t hash;
  Type type;
  const char* file;  // with `line`: a SourceOrigin without its padding
  std::uint32_t line;
  std::uint8_t index;  // of its kind in Kinds; last, next to the kind
};

namespace detail {
template <class Number>
auto literal_kind(Number number) {
  if constexpr (std::floating_point<Number>) {
    return FloatLiteral{static_cast<double>(number), sizeof(Number) == 4 ? f32 : f64};
  } else {
    const bool is_negative = number < Number{};
    const auto bits = static_cast<std::uint64_t>(number);
    constexpr bool is_signed_number = std::is_signed_v<decltype(+number)>;
    return IntLiteral{
        is_negative ? 0 - bits : bits, is_negative,
        sizeof(number) > 4 ? (is_signed_number ? i64 : u64) : (is_signed_number ? i32 : u32)};
  }
}
}  // namespace detail

template <NumberLiteral Number>
Expr::Expr(Number number, SourceOrigin where) : Expr(detail::literal_kind(number), where) {}

template <ExprKind Kind>
Statement::Statement(Kind kind, SourceOrigin where) : Statement(Expr(std::move(kind), where)) {}

inline const ExprNode& kinds(const Expr& expr) {
  return expr.node();
}

inline std::uint64_t Expr::hash() const noexcept {
  return node_->hash;
}
inline const Type& Expr::type() const noexcept {
  return node_->type;
}
inline SourceOrigin Expr::where() const noexcept {
  return {node_->file, node_->line};
}

/// The C type of an expression, as `expr.type()`.
[[nodiscard]] inline const Type& type_of(const Expr& expr) {
  return expr.type();
}

/// Whether an expression denotes an object: it may be assigned to and have its address taken.
[[nodiscard]] bool is_lvalue(const Expr& expr);

/// `+`, `<<`, `&&`, `,` ... as C spells them; the same in every dialect.
[[nodiscard]] std::string_view spelling(BinaryOp op);
/// `-`, `*`, `++` ...; without its side.
[[nodiscard]] std::string_view spelling(UnaryOp op);

}  // namespace rtcg::cgen
