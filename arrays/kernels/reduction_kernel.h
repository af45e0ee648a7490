#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "rtcg/arrays/kernels/kernel_argument.h"
#include "rtcg/arrays/kernels/struct_array.h"
#include "rtcg/arrays/kernels/typed_expression.h"
#include "rtcg/arrays/lazy/expression.h"
#include "rtcg/cgen/dialect/dialect.h"
#include "rtcg/cgen/support/source_origin.h"

namespace rtcg::loopy {
struct Kernel;
}  // namespace rtcg::loopy

namespace rtcg::arrays {

/// The type of a reduction's state and result: a number, or a struct of the user.
class ResultType {
 public:
  // NOLINTBEGIN(google-explicit-constructor): DType::f32, "float", or a struct
  ResultType(DType dtype) : dtype_(dtype) {}
  /// @throws InvalidInput  arrays.parse_arguments.unknown_type
  ResultType(const char* c_type) : dtype_(parse_dtype(c_type)) {}
  ResultType(const cgen::LaidOutStruct& type);
  // NOLINTEND(google-explicit-constructor)
  /// u8 for a struct.
  [[nodiscard]] DType dtype() const noexcept { return dtype_; }
  [[nodiscard]] const cgen::LaidOutStruct* structure() const noexcept { return structure_.get(); }
  [[nodiscard]] const std::shared_ptr<const cgen::LaidOutStruct>& shared_structure()
      const noexcept {
    return structure_;
  }

 private:
  DType dtype_;
  std::shared_ptr<const cgen::LaidOutStruct> structure_;
};

/// One result, in C. `reduce` joins two values `a` and `b`; it must be associative and commutative,
/// with the neutral element `neutral`. `map` gives the value of element i; it may name the
/// arguments, `i` and `n` as an ElementwiseKernel's operation may.
struct Reduction {
  ResultType type;
  std::string neutral;
  std::string reduce;
  std::string map;
};

enum class Accuracy {
  plain,     ///< the default: each thread adds its elements in order, then a tree
  pairwise,  ///< a tree of runs of 64: the error grows as the logarithm of the length
  /// Sums (`a + b`) of f32 or f64 that also accumulate the rounding error of each addition
  /// (Neumaier): as accurate as a sum with twice the digits, rounded once.
  compensated,
};

struct ReductionOptions {
  /// As ElementwiseOptions::preamble. Struct types of results are defined before it.
  std::string preamble{};
  Accuracy accuracy = Accuracy::plain;
  std::string name = "reduction";
};

struct ReductionLaunch {
  /// The axes of the common shape to reduce; empty: all.
  std::optional<Extents> axes{};
  bool keeps_axes = false;  ///< as length 1
  /// As ElementwiseLaunch::range; the range is reduced completely.
  std::optional<Slice> range{};
  /// Result k reduces the elements from offsets[k] up to offsets[k + 1], in C order. One array of
  /// i32 or i64, ascending, with one more element than there are results. Offsets out of range are
  /// clamped; no call waits to check them.
  std::optional<AnyArray> offsets{};
  std::optional<runtime::StreamRef> stream{};
  /// Where results go instead of new arrays: one for each, of its type and shape.
  std::vector<AnyArray> out{};
};

namespace detail {
class TypedReduction;
}  // namespace detail

/// A kernel that reduces a value of each element of arrays.
///
///     const ReductionKernel dot(DType::f32, "0", "a+b", "x[i]*y[i]", "float *x, float *y");
///     const float result = dot(x, y).item<float>();
///
/// Shapes broadcast; a reduction of no elements gives `neutral`. The same arrays always give the
/// same bits. A result of a struct type is an array of u8 whose last axis is the struct
/// (structs_to_host, field_of); f16 and bf16 are joined in f32. A cheap value; any thread may use
/// it.
class ReductionKernel {
 public:
  /// @throws InvalidInput  arrays.parse_arguments.*, arrays.snippet.*,
  ///         arrays.snippet_kernel.bad_name, arrays.reduction_kernel.no_result,
  ///         arrays.reduction_kernel.map_writes, arrays.reduction_kernel.not_a_sum
  ReductionKernel(ResultType type, std::string neutral, std::string reduce, std::string map,
                  const ArgumentList& arguments, ReductionOptions options = {},
                  SourceOrigin where = SourceOrigin::current());
  /// Several results of one pass over the arrays.
  ReductionKernel(std::vector<Reduction> results, const ArgumentList& arguments,
                  ReductionOptions options = {}, SourceOrigin where = SourceOrigin::current());
  /// Of an expression of value_of() of arguments: `sum(value_of(x) * value_of(y))`, `max(...)`,
  /// `argmin(...)`; types and empty arrays as in these functions.
  ///
  /// @throws InvalidInput  arrays.snippet_kernel.bad_name; arrays.reduction_kernel.no_reduction:
  ///         the expression is not a reduction; arrays.evaluate.unbound_argument
  ReductionKernel(const Expression& reduction, const ArgumentList& arguments);

  /// Over all elements; the first result, an array of no axes.
  ///
  /// @throws  as ElementwiseKernel
  /// @cost   one launch or two, asynchronous
  template <class... Values>
  AnyArray operator()(const Values&... values) const {
    static_assert((std::is_constructible_v<Expression, const Values&> && ...),
                  "a kernel takes arrays, expressions of arrays and C++ numbers: bring a vector to "
                  "the device before, Array<float> x(values)");
    if constexpr ((std::is_constructible_v<Expression, const Values&> && ...)) {
      return run({Expression(values)...})[0];
    }
  }
  /// @throws Unsupported   arrays.reduction_kernel.needs_text: ranges and offsets of an expression
  /// @throws InvalidInput  arrays.reduction_kernel.bad_out, arrays.reduction_kernel.bad_offsets,
  ///         arrays.layout.bad_axis, arrays.reduce.repeated_axis; as ElementwiseKernel
  std::vector<AnyArray> run(const std::vector<Expression>& values,
                            const ReductionLaunch& launch = {}) const;
  /// The result of a kernel that has one, typed: `kernel.run<float>({x}, {.offsets = offsets})`.
  ///
  /// @throws InvalidInput  arrays.reduction_kernel.several_results, arrays.typed.wrong_dtype
  template <Element T>
  [[nodiscard]] Array<T> run(const std::vector<Expression>& values,
                             const ReductionLaunch& launch = {}) const {
    return Array<T>(run_single(values, launch));
  }

  /// The text for contiguous arrays if all axes are reduced in one pass.
  ///
  /// @throws Unsupported  arrays.elementwise_kernel.no_text: made of an expression
  [[nodiscard]] std::string text(cgen::Dialect dialect) const;

  /// The same over all elements of arrays of one axis as a kernel of the loop engine, which writes
  /// `out[0]`: of one result that is a sum, product, min or max. The loop engine defines the effect
  /// of NaNs in the last two.
  ///
  /// @throws Unsupported  arrays.as_loop_kernel.no_loop, as of ElementwiseKernel
  [[nodiscard]] loopy::Kernel as_loop_kernel() const;

 private:
  struct Program;
  [[nodiscard]] AnyArray run_single(const std::vector<Expression>& values,
                                    const ReductionLaunch& launch) const;

  std::shared_ptr<const Program> program_;  // or
  std::shared_ptr<const detail::TypedReduction> typed_;
};

}  // namespace rtcg::arrays
