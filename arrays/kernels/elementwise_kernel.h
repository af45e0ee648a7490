#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "rtcg/arrays/kernels/kernel_argument.h"
#include "rtcg/arrays/kernels/typed_expression.h"
#include "rtcg/arrays/lazy/expression.h"
#include "rtcg/cgen/dialect/dialect.h"
#include "rtcg/cgen/support/source_origin.h"

namespace rtcg::loopy {
struct Kernel;
}  // namespace rtcg::loopy

namespace rtcg::arrays {

struct ElementwiseOptions {
  /// Functions, types and macros of the operation, in C; `__device__` before a
  /// function is welcome, but needed nowhere.
  std::string preamble{};
  /// Statements that run in each thread before its elements; they see the
  /// numbers, not the arrays.
  std::string before_loop{};
  std::string name = "elementwise";  ///< in messages and profiles
  /// Struct types that the texts name, in addition to those of arguments; defined before the
  /// preamble.
  std::vector<std::shared_ptr<const cgen::LaidOutStruct>> structs{};
};

struct ElementwiseLaunch {
  /// `i` runs over this range only. Bounds as in Python. If no array is indexed by x[i], the end
  /// must be given and does not count from the back.
  std::optional<Slice> range{};
  std::optional<runtime::StreamRef> stream{};
};

/// A kernel that runs statements of C for each element of arrays.
///
///     const ElementwiseKernel linear("float a, float *x, float b, float *y, float *z",
///                                    "z[i] = a*x[i] + b*y[i]");
///     linear(5, x, 6, y, z);
///
/// `x[i]` is element i, in C order, of x broadcast to the common shape of all arrays that are
/// indexed so, for any strides of x. Another index, `x[i + 1]` or `x[table[i]]`, counts in the same
/// order; an array that is only indexed so is not part of the common shape and is indexed by its
/// own elements. `i` is the index, `n` the number of elements (unless an argument has this name).
/// The order of elements is not defined: the statements of one element must not read what those of
/// another write. bool, f16 and bf16 elements convert to and from C's numbers; complex ones are
/// structs `complex64`, `complex128` with members re and im and functions complex64_add, _sub,
/// _mul, _div, _conj, _abs2, _scale and _make.
///
/// Made of expressions instead, it computes what NumPy would:
///
///     const KernelArgument a = number_argument<float>("a");
///     const KernelArgument x = array_argument<float>("x"), z = array_argument<float>("z");
///     const ElementwiseKernel scaled({a, x, z}, {{"z", value_of(a) * sin(value_of(x))}});
///
/// Compiled at first use for each device and each kind of layout. A cheap
/// value; any thread may use it.
class ElementwiseKernel {
 public:
  /// @throws InvalidInput  arrays.parse_arguments.*, arrays.snippet.*,
  ///         arrays.snippet_kernel.bad_name
  ///
  /// @param where  the line that messages of a compiler name
  ElementwiseKernel(const ArgumentList& arguments, std::string_view operation,
                    ElementwiseOptions options = {}, SourceOrigin where = SourceOrigin::current());
  /// All values are computed from the elements before any assignment.
  ///
  /// @throws InvalidInput  arrays.snippet_kernel.bad_name; arrays.elementwise_kernel.bad_target: an
  ///         assignment has no array as its target; arrays.evaluate.unbound_argument
  ElementwiseKernel(const ArgumentList& arguments, std::vector<ElementAssignment> assignments);

  /// Runs it on arrays and C++ numbers, in the order of the arguments. An
  /// expression is evaluated before.
  ///
  /// @throws InvalidInput    arrays.snippet_kernel.*,
  /// arrays.broadcast.shape_mismatch,
  ///         arrays.assign.repeated_elements, arrays.expression.number_range
  /// @throws CompileFailure  the operation is not C
  /// @cost   one launch, asynchronous
  template <class... Values>
  void operator()(const Values&... values) const {
    static_assert((std::is_constructible_v<Expression, const Values&> && ...),
                  "a kernel takes arrays, expressions of arrays and C++ numbers: bring a vector to "
                  "the device before, Array<float> x(values)");
    if constexpr ((std::is_constructible_v<Expression, const Values&> && ...)) {
      run({Expression(values)...});
    }
  }
  void run(const std::vector<Expression>& values, const ElementwiseLaunch& launch = {}) const;

  /// The text for contiguous arrays.
  ///
  /// @throws Unsupported  arrays.elementwise_kernel.no_text: made of expressions, whose text
  ///         depends on the arrays
  [[nodiscard]] std::string text(cgen::Dialect dialect) const;

  /// The same as a kernel of the loop engine over arrays of one axis, to be transformed and tuned:
  /// `i` runs from 0 to `n`.
  ///
  /// @throws Unsupported  arrays.as_loop_kernel.no_loop: the text is more than assignments of
  ///         expressions that the loop engine reads as C does, or has element types that it lacks
  [[nodiscard]] loopy::Kernel as_loop_kernel() const;

 private:
  struct Program;
  struct Typed;
  std::shared_ptr<const Program> program_;  // or
  std::shared_ptr<const Typed> typed_;
};

}  // namespace rtcg::arrays
