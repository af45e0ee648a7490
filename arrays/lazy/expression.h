#pragma once

#include <atomic>
#include <complex>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "rtcg/arrays/core/array.h"

namespace rtcg::arrays {

/// The operation of a node of an expression. Element by element, except for the reductions.
enum class Op : std::uint8_t {
  leaf,            ///< an array
  number,          ///< a C++ number
  argument,        ///< of a kernel: a launch replaces it by the value that is given for it
  indices,         ///< place of the element in C order
  sparse_product,  ///< of a row of a sparse matrix; see detail::SparseEntries
  gather,          ///< the element of an array at a distance; see gather()
  cast,
  // arithmetic
  add,
  subtract,
  multiply,
  divide,
  floor_divide,
  remainder,
  power,
  negate,
  absolute,
  sign,
  // bits
  bit_and,
  bit_or,
  bit_xor,
  bit_not,
  shift_left,
  shift_right,
  // comparisons and logic
  equal,
  not_equal,
  less,
  less_equal,
  logical_and,
  logical_or,
  logical_not,
  where,
  // the greater and the smaller; of the first two a NaN wins, of the others it loses
  maximum,
  minimum,
  fmax,
  fmin,
  // real functions of one value
  sqrt,
  rsqrt,
  cbrt,
  exp,
  exp2,
  exp10,
  expm1,
  log,
  log2,
  log10,
  log1p,
  sin,
  cos,
  tan,
  asin,
  acos,
  atan,
  sinh,
  cosh,
  tanh,
  asinh,
  acosh,
  atanh,
  erf,
  erfc,
  erfcx,
  erfinv,
  erfcinv,
  normcdf,
  normcdfinv,
  tgamma,
  lgamma,
  sinpi,
  cospi,
  // Bessel functions of the first and second kind: of order 0, of order 1, of any whole order
  j0,
  j1,
  jn,
  y0,
  y1,
  yn,
  // modified ones of the first kind
  i0,
  i1,
  floor,
  ceil,
  round,
  trunc,
  rint,
  isnan,
  isinf,
  isfinite,
  signbit,
  ilogb,
  // real functions of two and three
  fmod,
  ieee_remainder,
  ldexp,
  atan2,
  hypot,
  copysign,
  nextafter,
  fma,
  // parts of complex numbers
  make_complex,
  real,
  imag,
  conj,
  arg,
  vector,  ///< a short vector of its operands; of four, the last operand joins the last two
  // reductions
  sum,
  product,
  min,
  max,
  any,
  all,
  argmin,
  argmax,
};

[[nodiscard]] constexpr bool is_reduction(Op op) {
  return op >= Op::sum;
}
/// Whether a reduction gives the place of an element instead of a value.
[[nodiscard]] constexpr bool finds_place(Op op) {
  return op == Op::argmin || op == Op::argmax;
}

namespace detail {
struct ExpressionNode;
struct PreparedLaunch;
using NodePointer = std::shared_ptr<const ExpressionNode>;
}  // namespace detail

/// A computation on arrays that has not run yet: a shape, an element type, and the operations for
/// each element.
///
/// Made by operators and functions of arrays, C++ numbers and other expressions. Assigning it to
/// an array, or evaluate(), runs one kernel for all of it (and one for each reduction inside). An
/// immutable value that shares its parts and keeps the arrays in it alive; it reads their elements
/// when it runs. Shapes broadcast and types are promoted as in NumPy 2; C++ numbers act as Python's
/// do. Building throws InvalidInput (arrays.broadcast.shape_mismatch, arrays.expression.dtype)
/// where NumPy would refuse.
class Expression {
 public:
  // NOLINTBEGIN(google-explicit-constructor): 2 * x
  Expression(const AnyArray& array);
  template <Element T>
  Expression(const Array<T>& array) : Expression(array.any()) {}
  template <class Number>
  requires std::is_arithmetic_v<Number> Expression(Number number)
      : Expression(make_number(number)) {}
  Expression(Half number) : Expression(static_cast<float>(number)) {}
  Expression(BFloat16 number) : Expression(static_cast<float>(number)) {}
  Expression(std::complex<double> number);
  Expression(std::complex<float> number) : Expression(std::complex<double>(number)) {}
  template <class T, int lanes>
  requires Element<ShortVector<T, lanes>> Expression(const ShortVector<T, lanes>& vector)
      : Expression(of_vector(vector)) {}
  // NOLINTEND(google-explicit-constructor)
  explicit Expression(detail::NodePointer node) noexcept : node_(std::move(node)) {}

  [[nodiscard]] DType dtype() const noexcept;
  [[nodiscard]] const Extents& shape() const noexcept;
  [[nodiscard]] const detail::NodePointer& node() const noexcept { return node_; }

  /// Its values, on the host: `sum(x).item<float>()`, `(2 * x).to_vector<float>()`.
  ///
  /// @throws InvalidInput  arrays.assign.narrowing, arrays.item.not_one_element
  /// @cost   as evaluate(), and waits for it
  template <Element T>
  [[nodiscard]] T item() const {
    return Array<T>(*this).item();
  }
  template <Element T>
  [[nodiscard]] std::vector<T> to_vector() const {
    return Array<T>(*this).to_vector();
  }

 private:
  template <class Number>
  static Expression make_number(Number number) {
    if constexpr (std::is_same_v<Number, bool>) {
      return of_integer(number ? 1 : 0, WeakKind::boolean, false);
    } else if constexpr (std::is_integral_v<Number>) {
      return of_integer(static_cast<std::uint64_t>(number), WeakKind::integer, number < Number{});
    } else {
      return of_real(static_cast<double>(number));
    }
  }
  template <class T, int lanes>
  static Expression of_vector(const ShortVector<T, lanes>& vector);
  static Expression of_integer(std::uint64_t bits, WeakKind kind, bool is_negative);
  static Expression of_real(double number);

  detail::NodePointer node_;
};

namespace detail {

/// A C++ number: an integer's bits, or a complex value.
struct NumberValue {
  WeakKind kind = WeakKind::integer;
  std::uint64_t bits = 0;
  bool is_negative = false;  ///< of an integer
  std::complex<double> value{};
};

/// Consecutive entries of a sparse matrix whose columns have 16 bits: entry e is in column
/// base[e/entries*windows + column[e]/width] + column[e]%width, where width is 2**16/windows.
struct ColumnPackets {
  int entries = 0;  ///< of a packet, a power of two; 0: there are none, each column is whole
  int windows = 1;  ///< of a packet, a power of two: each has a base

  [[nodiscard]] constexpr int width() const noexcept { return 0x10000 / windows; }
  friend auto operator<=>(const ColumnPackets&, const ColumnPackets&) = default;
};

/// The entries of a sparse matrix, as kernels of expressions read them, and how its products run
/// alone. Element i of a product A x is the sum over e = begin, begin + step, ... below end, where
/// `begin` and `end` are the first two operands of the node, integers of one type with the shape
/// [n, 1, ...]. The third operand is x. Its first axis is that of the columns, the others are those
/// of the product.
struct SparseEntries {
  enum class Columns : std::uint8_t {
    listed,     ///< value[e]*x[column[e]]
    packets,    ///< the same, with columns as ColumnPackets says
    with_gaps,  ///< the same, and nothing where column[e] is negative
    diagonals,  ///< value[e]*x[begin + column[d]] of the d-th e; nothing where there is no such x
    blocks,     ///< value[e + c]*x[block*column[e/block**2] + c] for 0 <= c < block
  };
  Columns columns = Columns::listed;
  AnyArray value;   ///< one axis, contiguous, at least one element
  AnyArray column;  ///< integers, the same
  std::int64_t step = 1;
  int block = 1;
  ColumnPackets packets{};
  std::optional<AnyArray> base{};  ///< of packets

  /// Whether a kernel of an expression computes products as fast as a kernel of their own does.
  std::function<bool(runtime::StreamRef)> suits_expressions{};
  /// y = A x of contiguous arrays that have no elements in common.
  std::function<void(runtime::StreamRef, const AnyArray& x, const AnyArray& y)> multiply_into{};
};

struct ExpressionNode {
  Op op = Op::number;
  DType dtype = DType::f64;
  Extents shape{};
  NodePointer operands[3]{};
  std::optional<AnyArray> array{};                 ///< of a leaf or a gather
  std::optional<NumberValue> number{};             ///< of a number
  std::shared_ptr<const std::string> argument{};   ///< of an argument its name
  std::shared_ptr<const SparseEntries> entries{};  ///< of a product with a sparse matrix
  Extents axes{};                                  ///< of a reduction: the reduced ones, ascending
  bool keeps_axes = false;                         ///< as length 1

  /// Of a root that has gone into one array and another time into one; set once, owned.
  mutable std::atomic<const PreparedLaunch*> prepared{nullptr};
  mutable std::atomic<bool> has_run{false};

  ExpressionNode() = default;
  ExpressionNode(const ExpressionNode&) = delete;
  ExpressionNode& operator=(const ExpressionNode&) = delete;
  /// Without recursion, so a long chain does not exhaust the stack.
  ~ExpressionNode();
};

/// `value` as a number of that type, as in an array of it.
///
/// @throws InvalidInput  arrays.expression.number_range
[[nodiscard]] Expression cast_number(const NumberValue& value, DType dtype);

}  // namespace detail

namespace detail {
/// The product A x, of the shape of x with as many rows as `begin` has. @see SparseEntries
[[nodiscard]] Expression sparse_product(std::shared_ptr<const SparseEntries> entries,
                                        const Expression& begin, const Expression& end,
                                        const Expression& x);
}  // namespace detail

/// The elements converted to that type.
[[nodiscard]] Expression cast(const Expression& value, DType dtype);
template <Element T>
[[nodiscard]] Expression cast(const Expression& value) {
  return cast(value, dtype_of_type<T>);
}
/// Short vectors of the components, which are converted and broadcast: `float3` of x, y and z.
///
/// @param dtype  a short vector with this number of components
/// @throws InvalidInput  arrays.make_vector.lanes
[[nodiscard]] Expression make_vector(DType dtype, const std::vector<Expression>& components);
/// For each index, the element of `array` that is `further` elements after the one at that index:
/// the basis of indexing by arrays. Both have the same shape. The caller ensures that the element
/// is in the array's memory.
///
/// @param further  of integers
[[nodiscard]] Expression gather(const AnyArray& array, const Expression& further);
/// The place of each element in C order, as i64.
[[nodiscard]] Expression indices(const Extents& shape);
/// Repeats axes of length 1, as the view of that name.
[[nodiscard]] Expression broadcast_to(const Expression& value, const Extents& shape);

template <class T, int lanes>
Expression Expression::of_vector(const ShortVector<T, lanes>& vector) {
  std::vector<Expression> components = {vector.x, vector.y};
  if constexpr (lanes > 2) {
    components.emplace_back(vector.z);
  }
  if constexpr (lanes > 3) {
    components.emplace_back(vector.w);
  }
  return make_vector(dtype_of_type<ShortVector<T, lanes>>, components);
}

}  // namespace rtcg::arrays
