#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rtcg/cgen/ast/type.h"
#include "rtcg/cgen/support/source_origin.h"
#include "rtcg/loopy/kernel/kernel.h"

// Kernels described in C++, with the names, operators and statements of kernel text; all names are
// those of rtcg::loopy::describe:
//
//     const auto [i, j, k] = inames("i", "j", "k");
//     const Param n("n");
//     const Array a("a"), b("b"), c("c");
//     const Kernel product = kernel("matmul")
//                                .domain(0 <= i && i < n && 0 <= j && j < n && 0 <= k && k < n)
//                                .type(f32)
//                                .add(c(i, j) = sum(k, a(i, k) * b(k, j)));
//
// The kernel is the one that make_kernel makes of the same text, with the same inference of missing
// parts. Errors name the C++ line. docs/kernel_files.md describes statements and options.

namespace rtcg::cgen {
struct LaidOutStruct;
}

namespace rtcg::loopy::describe {

using cgen::bf16;
using cgen::boolean;
using cgen::f16;
using cgen::f32;
using cgen::f64;
using cgen::i16;
using cgen::i32;
using cgen::i64;
using cgen::i8;
using cgen::Type;
using cgen::u16;
using cgen::u32;
using cgen::u64;
using cgen::u8;

/// The meaning of a name: an iname, a parameter, an array, a temporary or a rule.
struct Declaration;
using DeclarationPointer = std::shared_ptr<const Declaration>;
/// The names that an expression uses; null for no name.
using Mentions = std::shared_ptr<const std::vector<DeclarationPointer>>;

/// An expression of a kernel, with the meanings of its names.
///
/// An immutable value. Made from a C++ number, from a handle below, and by operators: `/` divides
/// real numbers, `%` and floor_div round down, `==` compares values in the kernel.
class Value {
 public:
  /// @throws InvalidInput  loopy.describe.literal, above 2^63 - 1
  template <std::integral Number>
  requires(!std::same_as<Number, bool>) Value(Number number)
      : Value(std::in_range<std::int64_t>(number) ? Expr(static_cast<std::int64_t>(number))
                                                  : too_large()) {}
  /// Takes the type of its surroundings.
  Value(double number) : Value(Expr(number)) {}
  /// An f32.
  Value(float number) : Value(Expr(Real{static_cast<double>(number), cgen::ScalarKind::f32})) {}
  template <std::same_as<bool> Bool>
  Value(Bool) = delete;
  Value(Expr expr, Mentions mentions = nullptr)
      : expr_(std::move(expr)), mentions_(std::move(mentions)) {}

  [[nodiscard]] const Expr& expr() const noexcept { return expr_; }
  [[nodiscard]] const Mentions& mentions() const noexcept { return mentions_; }

 private:
  [[noreturn]] static Expr too_large();
  Expr expr_;
  Mentions mentions_;
};

/// A comparison, or several joined by `&&` and `||`. It has no C++ truth value, and a chain such as
/// `0 <= i < n` does not compile: write `0 <= i && i < n`.
class Condition : public Value {
 public:
  Condition(Expr expr, Mentions mentions) : Value(std::move(expr), std::move(mentions)) {}
};

[[nodiscard]] Value operator+(const Value& left, const Value& right);
[[nodiscard]] Value operator-(const Value& left, const Value& right);
[[nodiscard]] Value operator-(const Value& operand);
[[nodiscard]] Value operator*(const Value& left, const Value& right);
[[nodiscard]] Value operator/(const Value& left, const Value& right);
/// Of the sign of `right`.
[[nodiscard]] Value operator%(const Value& left, const Value& right);
[[nodiscard]] Value operator&(const Value& left, const Value& right);
[[nodiscard]] Value operator|(const Value& left, const Value& right);
[[nodiscard]] Value operator^(const Value& left, const Value& right);
[[nodiscard]] Value operator<<(const Value& left, const Value& right);
[[nodiscard]] Value operator>>(const Value& left, const Value& right);
[[nodiscard]] Condition operator<(const Value& left, const Value& right);
[[nodiscard]] Condition operator<=(const Value& left, const Value& right);
[[nodiscard]] Condition operator>(const Value& left, const Value& right);
[[nodiscard]] Condition operator>=(const Value& left, const Value& right);
[[nodiscard]] Condition operator==(const Value& left, const Value& right);
[[nodiscard]] Condition operator!=(const Value& left, const Value& right);
[[nodiscard]] Condition operator&&(const Value& left, const Value& right);
[[nodiscard]] Condition operator||(const Value& left, const Value& right);
[[nodiscard]] Condition operator!(const Value& operand);
template <std::convertible_to<Value> Right>
Condition operator<(const Condition&, const Right&) = delete;
template <std::convertible_to<Value> Right>
Condition operator<=(const Condition&, const Right&) = delete;
template <std::convertible_to<Value> Right>
Condition operator>(const Condition&, const Right&) = delete;
template <std::convertible_to<Value> Right>
Condition operator>=(const Condition&, const Right&) = delete;

/// A loop variable.
class Iname : public Value {
 public:
  /// @throws InvalidInput  loopy.describe.name
  explicit Iname(const std::string& name, SourceOrigin where = SourceOrigin::current());
  /// Transformations take names.
  operator std::string_view() const;
};
/// `const auto [i, j] = inames("i", "j");`
template <std::convertible_to<std::string>... Names>
[[nodiscard]] std::array<Iname, sizeof...(Names)> inames(const Names&... names) {
  return {Iname(names, SourceOrigin{})...};
}

/// A scalar argument: a length, or a number.
class Param : public Value {
 public:
  /// @param type  i32 where bounds, shapes and indices use it, unless stated
  /// @throws InvalidInput  loopy.describe.name
  explicit Param(const std::string& name, std::optional<Type> type = {},
                 SourceOrigin where = SourceOrigin::current());
  operator std::string_view() const;
};

class Element;
class Statement;

/// An index, with the C++ line of the access.
struct Index {
  template <std::convertible_to<Value> Number>
  Index(const Number& number, SourceOrigin origin = SourceOrigin::current())
      : value(number), where(origin) {}
  Value value;
  SourceOrigin where;
};

/// Arrays and temporaries, which have elements.
class Indexed {
 public:
  /// `a(i, j)`: an element.
  /// @throws InvalidInput  loopy.describe.index_count, where a shape is stated
  template <std::convertible_to<Value>... Rest>
  [[nodiscard]] Element operator()(Index first, const Rest&... rest) const;
  /// `a.linear(k)`: the element at a place in memory, in elements, for any shape: `a[[k]]`.
  [[nodiscard]] Element linear(const Value& index) const;
  operator std::string_view() const;

 protected:
  Indexed(DeclarationPointer declaration, std::string tag = {})
      : declaration_(std::move(declaration)), tag_(std::move(tag)) {}
  [[nodiscard]] const Declaration& declaration() const { return *declaration_; }
  [[nodiscard]] Value element(std::vector<Value> indices, SourceOrigin where) const;
  DeclarationPointer declaration_;
  std::string tag_;
  friend class Listed;
};

enum class Order { c, fortran };

/// An array argument. Missing properties are inferred.
class Array : public Indexed {
 public:
  /// @param shape  lengths of the axes, the outermost first; empty: inferred
  /// @throws InvalidInput  loopy.describe.name
  explicit Array(const std::string& name, std::optional<Type> type = {},
                 const std::vector<Value>& shape = {},
                 SourceOrigin where = SourceOrigin::current());
  /// The same array with another order of its elements. The shape is stated.
  [[nodiscard]] Array order(Order order) const;
  /// @param strides_elements  one for each axis of the stated shape
  /// @throws InvalidInput  loopy.describe.index_count
  [[nodiscard]] Array strides(const std::vector<Value>& strides_elements,
                              SourceOrigin where = SourceOrigin::current()) const;
  /// Element 0 is `elements` after the address that callers pass.
  [[nodiscard]] Array offset(const Value& elements) const;
  /// @param space  global or constant
  [[nodiscard]] Array in(AddressSpace space) const;
  /// An image: read through a texture, `sample` reads it at any position, or written through a
  /// surface. The shape is stated.
  [[nodiscard]] Array image(const ImageReads& reads = {}) const;
  /// What an image has at a position: a coordinate for each axis, in elements, and of a mipmap a
  /// level after them.
  [[nodiscard]] Value sample(const std::vector<Value>& position) const;
  /// Callers may give both arrays the same memory, element for element.
  [[nodiscard]] Array may_be(const Array& other) const;
  /// Accesses through it become a separate substitution rule: `a$near[i]`.
  [[nodiscard]] Array tagged(const std::string& tag) const;

 private:
  friend class StructArray;
  using Indexed::Indexed;
};

/// An array of structs, with each field as an array of its own: `p["x"](i)`. Callers give the
/// array of structs, `arg("p", particles)`.
///
///     const StructArray p("p", StructBuilder<Particle>("particle").field(...).build(), {n});
class StructArray {
 public:
  /// @throws InvalidInput  loopy.describe.name, loopy.make_kernel.structs
  StructArray(const std::string& name, const cgen::LaidOutStruct& laid_out,
              const std::vector<Value>& shape, SourceOrigin where = SourceOrigin::current());
  /// @param field  `x`, or `place.x` of a struct within the struct; axes of a field come last
  /// @throws InvalidInput  loopy.make_kernel.fields
  [[nodiscard]] Array operator[](std::string_view field) const;

 private:
  std::string name_;
  std::vector<std::pair<std::string, Array>> fields_;
};

/// A variable of the kernel. The first statement that assigns to it declares it.
///
/// `t = value` is a statement: it changes the kernel's variable, not the C++ object.
class Temp : public Value, public Indexed {
 public:
  /// @param shape  empty: a scalar, or the shape that the accesses need
  /// @throws InvalidInput  loopy.describe.name
  explicit Temp(const std::string& name, std::optional<Type> type = {},
                const std::vector<Value>& shape = {}, SourceOrigin where = SourceOrigin::current());
  Temp(const Temp&) = default;
  /// A read-only table with these values, in C order of the shape.
  /// @throws InvalidInput  loopy.describe.table
  [[nodiscard]] Temp table(const std::vector<Value>& values,
                           SourceOrigin where = SourceOrigin::current()) const;
  [[nodiscard]] Temp in(AddressSpace space) const;

  Statement operator=(const Value& value) const;
  Statement operator=(const Temp& value) const;
  Statement operator+=(const Value& value) const;
  Statement operator-=(const Value& value) const;
  Statement operator*=(const Value& value) const;
  Statement operator/=(const Value& value) const;

 private:
  explicit Temp(const DeclarationPointer& declaration);
};

/// An element of an array or temporary: a value, or the target of a statement.
class Element : public Value {
 public:
  Element(Value value, SourceOrigin where) : Value(std::move(value)), where_(where) {}
  Element(const Element&) = default;
  [[nodiscard]] SourceOrigin where() const noexcept { return where_; }

  Statement operator=(const Value& value) const;
  Statement operator=(const Element& value) const;
  Statement operator+=(const Value& value) const;
  Statement operator-=(const Value& value) const;
  Statement operator*=(const Value& value) const;
  Statement operator/=(const Value& value) const;

 private:
  SourceOrigin where_;
};

template <std::convertible_to<Value>... Rest>
Element Indexed::operator()(Index first, const Rest&... rest) const {
  return {element({first.value, Value(rest)...}, first.where), first.where};
}

// ---- functions

[[nodiscard]] Value floor_div(const Value& numerator, const Value& denominator);
[[nodiscard]] Value power(const Value& base, const Value& exponent);
/// `then_value if condition else else_value`; only the value taken is computed.
[[nodiscard]] Value select(const Value& condition, const Value& then_value,
                           const Value& else_value);
[[nodiscard]] Value cast(const Type& type, const Value& operand);
/// An f32 or f64 constant.
[[nodiscard]] Value literal(cgen::ScalarKind kind, double number);
[[nodiscard]] Value imaginary(const Value& number);

/// A function of the target or a tuple: `call("sincos", x)`; any that kernel text may call.
[[nodiscard]] Value call_of(std::string function, const std::vector<Value>& arguments);
template <std::convertible_to<Value>... Arguments>
[[nodiscard]] Value call(std::string function, const Arguments&... arguments) {
  return call_of(std::move(function), {Value(arguments)...});
}
[[nodiscard]] Value abs(const Value& x);
[[nodiscard]] Value sqrt(const Value& x);
[[nodiscard]] Value exp(const Value& x);
[[nodiscard]] Value log(const Value& x);
[[nodiscard]] Value sin(const Value& x);
[[nodiscard]] Value cos(const Value& x);
[[nodiscard]] Value min(const Value& a, const Value& b);
[[nodiscard]] Value max(const Value& a, const Value& b);

/// `f(x, y) := body`, expanded where it is called; also an operation of reductions and scans.
class Rule {
 public:
  /// @throws InvalidInput  loopy.describe.name
  Rule(const std::string& name, const std::vector<Param>& parameters, const Value& body,
       SourceOrigin where = SourceOrigin::current());
  /// With its neutral elements, one for each value of a tuple.
  [[nodiscard]] Rule neutral(const std::vector<Value>& values) const;
  /// Calls through it become a separate rule: `f$far(x)`.
  [[nodiscard]] Rule tagged(const std::string& tag) const;
  template <std::convertible_to<Value>... Arguments>
  [[nodiscard]] Value operator()(const Arguments&... arguments) const {
    return call_with({Value(arguments)...});
  }

 private:
  Rule(DeclarationPointer declaration, std::string tag)
      : declaration_(std::move(declaration)), tag_(std::move(tag)) {}
  [[nodiscard]] Value call_with(const std::vector<Value>& arguments) const;
  DeclarationPointer declaration_;
  std::string tag_;
  friend class Operation;
  friend class Description;
};

/// One or several inames: `sum(k, ...)`, `sum({j, k}, ...)`.
class Over {
 public:
  Over(const Iname& iname) : inames_{iname} {}
  Over(std::initializer_list<Iname> inames) : inames_(inames) {}
  [[nodiscard]] const std::vector<Iname>& inames() const noexcept { return inames_; }

 private:
  std::vector<Iname> inames_;
};
/// `"sum"`, `"product"`, `"min"`, `"max"`, `"minimum"`, `"maximum"`, `"any"`, `"all"`, `"argmin"`,
/// `"argmax"`, or a rule.
class Operation {
 public:
  Operation(const char* name) : name_(name) {}
  Operation(const Rule& rule);
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] const Mentions& mentions() const noexcept { return mentions_; }

 private:
  std::string name_;
  Mentions mentions_;
};

[[nodiscard]] Value reduce_over(const Operation& operation, const Over& over,
                                const std::vector<Value>& operands, const SourceOrigin& where);
/// Any operation over inames.
/// @throws InvalidInput  loopy.describe.operands
[[nodiscard]] inline Value reduce(const Operation& operation, const Over& over,
                                  const Value& operand,
                                  SourceOrigin where = SourceOrigin::current()) {
  return reduce_over(operation, over, {operand}, where);
}
/// The same for operations on tuples.
[[nodiscard]] inline Value reduce(const Operation& operation, const Over& over,
                                  const std::vector<Value>& operands,
                                  SourceOrigin where = SourceOrigin::current()) {
  return reduce_over(operation, over, operands, where);
}
[[nodiscard]] Value sum(const Over& over, const Value& operand);
/// Accumulates in `type`, for any types of the operand and of the result.
[[nodiscard]] Value sum(const Type& type, const Over& over, const Value& operand);
[[nodiscard]] Value product(const Over& over, const Value& operand);
[[nodiscard]] Value any(const Over& over, const Value& operand);
[[nodiscard]] Value all(const Over& over, const Value& operand);
/// Two values: the smallest one and its place.
[[nodiscard]] Value argmin(const Over& over, const Value& operand, const Value& place);
[[nodiscard]] Value argmax(const Over& over, const Value& operand, const Value& place);
/// The last operand of a reduction by a rule whose elements are to be combined in the order of the
/// inames: `reduce(after, j, {a(j), b(j), in_order(j)})`.
[[nodiscard]] Value in_order(const Over& over);
/// A reduction as a scan: `scan(sum(j, a(j)))`.
/// @throws InvalidInput  loopy.describe.scan: `reduction` is not a reduction
[[nodiscard]] Value scan(const Value& reduction, SourceOrigin where = SourceOrigin::current());

// ---- statements

struct StatementTree;

/// A statement, or several with common options, which apply to each.
class [[nodiscard]] Statement {
 public:
  explicit Statement(std::shared_ptr<const StatementTree> tree) : tree_(std::move(tree)) {}

  Statement id(const std::string& name) const;
  Statement id_prefix(const std::string& name) const;
  /// Ids and patterns of statements that run before.
  template <std::convertible_to<std::string_view>... Ids>
  Statement depends(const Ids&... ids) const {
    return with_names(Option::depends, {std::string(std::string_view(ids))...});
  }
  /// All other statements that match, as match_instructions takes it.
  Statement depends_on_matches(const std::string& query) const;
  /// Exactly these inames, with those on which their domains depend.
  template <std::convertible_to<std::string_view>... Names>
  Statement within(const Names&... inames) const {
    return with_names(Option::within, {std::string(std::string_view(inames))...});
  }
  /// These inames too.
  template <std::convertible_to<std::string_view>... Names>
  Statement also_within(const Names&... inames) const {
    return with_names(Option::also_within, {std::string(std::string_view(inames))...});
  }
  /// A copy of an iname for its own use; an empty name: rtcg chooses it.
  Statement duplicate(const Iname& iname, const std::string& copy = {}) const;
  /// Runs only where the condition holds.
  Statement when(const Value& condition) const;
  template <std::convertible_to<std::string_view>... Names>
  Statement tags(const Names&... names) const {
    return with_names(Option::tags, {std::string(std::string_view(names))...});
  }
  /// Adds atomically.
  Statement atomic() const;
  /// Its instances write different elements.
  Statement disjoint() const;
  /// Those instances do that agree in these inames.
  template <std::convertible_to<std::string_view>... Names>
  Statement disjoint_at(const Names&... inames) const {
    return with_names(Option::disjoint, {std::string(std::string_view(inames))...});
  }
  /// Sets the element atomically, without reading it.
  Statement atomic_init() const;
  /// Copies asynchronously: others need the result only after wait_for_copies.
  Statement asynchronous() const;
  /// The reads and writes of C text.
  template <std::convertible_to<std::string_view>... Names>
  Statement reads(const Names&... names) const {
    return with_names(Option::reads, {std::string(std::string_view(names))...});
  }
  template <std::convertible_to<std::string_view>... Names>
  Statement writes(const Names&... names) const {
    return with_names(Option::writes, {std::string(std::string_view(names))...});
  }
  /// A call of a kernel stays a call in the generated text.
  Statement as_function() const;

  [[nodiscard]] const StatementTree& tree() const noexcept { return *tree_; }

 private:
  enum class Option { depends, within, also_within, tags, disjoint, reads, writes };
  Statement with_names(Option option, std::vector<std::string> names) const;
  std::shared_ptr<const StatementTree> tree_;
};

/// Several targets of a reduction over tuples, or of a call that gives several values.
/// @throws InvalidInput  loopy.describe.targets
Statement assign(const std::vector<Value>& targets, const Value& value,
                 SourceOrigin where = SourceOrigin::current());
/// `with ... end`: options hold for each statement, `block({...}).tags("x")`.
Statement block(const std::vector<Statement>& statements,
                SourceOrigin where = SourceOrigin::current());
/// `for i, j ... end`: the statements are within these inames.
Statement loop(const Over& inames, const std::vector<Statement>& statements,
               SourceOrigin where = SourceOrigin::current());
/// `if ... elif ... else ... end`.
class [[nodiscard]] Branches : public Statement {
 public:
  using Statement::Statement;
  Branches otherwise_if(const Value& condition, const std::vector<Statement>& statements) const;
  /// @throws InvalidInput  loopy.describe.branches, after another `otherwise`
  Branches otherwise(const std::vector<Statement>& statements,
                     SourceOrigin where = SourceOrigin::current()) const;
};
Branches when(const Value& condition, const std::vector<Statement>& statements,
              SourceOrigin where = SourceOrigin::current());
Statement local_barrier(SourceOrigin where = SourceOrigin::current());
/// Ends the launch.
Statement global_barrier(SourceOrigin where = SourceOrigin::current());
Statement no_operation(SourceOrigin where = SourceOrigin::current());
/// Makes one group of the asynchronous copies since the last one.
Statement commit_copies(SourceOrigin where = SourceOrigin::current());
/// Waits until all groups but the last `open_groups` have arrived.
Statement wait_for_copies(int open_groups = 0, SourceOrigin where = SourceOrigin::current());
/// C text, in which `${0}`, `${1}`, ... are the `parts`; reads() and writes() declare its accesses.
/// @throws InvalidInput  loopy.describe.c_text
Statement c_text(const std::string& text, const std::vector<Value>& parts = {},
                 SourceOrigin where = SourceOrigin::current());
/// The statements of a kernel that the description has as a callee: `inline_call("scale",
/// {{"x", a(i, axis(0))}, {"s", 3 * i}})`; an empty name: by place.
Statement inline_call(const std::string& callee,
                      const std::vector<std::pair<std::string, Value>>& bindings,
                      SourceOrigin where = SourceOrigin::current());
/// The index number `axis` of the callee in arguments of calls of kernels: `_0`.
[[nodiscard]] Value axis(int axis);

// ---- kernels

/// An argument in the order in which callers pass them.
class Listed {
 public:
  Listed(const Array& array) : declaration_(array.declaration_) {}
  Listed(const Param& param) : declaration_((*param.mentions()).front()) {}
  [[nodiscard]] const DeclarationPointer& declaration() const noexcept { return declaration_; }

 private:
  DeclarationPointer declaration_;
};

/// A kernel that is being described. Converts to the Kernel.
class Description {
 public:
  explicit Description(std::string name, SourceOrigin where);
  ~Description();
  Description(const Description&);
  Description& operator=(const Description&) = delete;

  /// The values of the inames that `condition` names and that no earlier domain has; comparisons of
  /// affine expressions joined by `&&`. Other names are parameters, inames of earlier domains or
  /// temporaries.
  /// @throws InvalidInput  loopy.describe.no_iname, loopy.parse_domain.not_affine
  /// @throws Unsupported   loopy.parse_domain.disjunction, loopy.parse_domain.rounding
  Description& domain(const Value& condition, SourceOrigin where = SourceOrigin::current());
  /// The same with the inames in another order than that of the condition.
  /// @throws  as above; InvalidInput  loopy.parse_domain.duplicate_iname
  Description& domain(const Over& inames, const Value& condition,
                      SourceOrigin where = SourceOrigin::current());
  /// The arguments in the order in which callers pass them; others follow.
  Description& arguments(const std::vector<Listed>& arguments);
  /// The type of arrays and scalars without one.
  Description& type(const Type& type);
  /// Facts about parameters: `n >= 1 && n % 16 == 0`.
  /// @throws  as domain
  Description& assume(const Value& condition, SourceOrigin where = SourceOrigin::current());
  /// A parameter with a known value.
  Description& fix(const Param& parameter, std::int64_t value);
  /// Each statement runs after the one before it.
  Description& sequential();
  /// A kernel that statements call by its name.
  Description& callee(Kernel kernel);
  /// A function that values call by `call(name, ...)`. @throws  what add_function throws
  Description& function(TypedFunction function);
  Description& preamble(Preamble preamble);
  /// Adds a statement after the others.
  Description& add(const Statement& statement, SourceOrigin where = SourceOrigin::current());
  /// States the order of the rules; those that are only called follow.
  Description& add(const Rule& rule);

  /// @throws InvalidInput  loopy.describe.two_meanings, loopy.describe.unbound_iname,
  ///         loopy.describe.index_count,
  ///         loopy.describe.unassigned, loopy.describe.division_by_zero, loopy.describe.option;
  ///         what make_kernel throws for text
  [[nodiscard]] Kernel make() const;
  operator Kernel() const { return make(); }

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

/// `kernel("matmul").domain(...).add(...)`
[[nodiscard]] inline Description kernel(std::string name,
                                        SourceOrigin where = SourceOrigin::current()) {
  return Description(std::move(name), where);
}

}  // namespace rtcg::loopy::describe
