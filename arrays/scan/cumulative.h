#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rtcg/arrays/kernels/loop_plan.h"
#include "rtcg/arrays/lazy/expression.h"

namespace rtcg::arrays {

struct LoopExpression;

/// What running values are made by.
enum class ScanOp { sum, product, min, max };

struct CumulativeOptions {
  /// The axis along which values run; negative numbers count from the last. Required unless there
  /// is a single axis.
  std::optional<std::int64_t> axis{};
  /// Each result leaves out its own element: the first one is 0, 1, or the end of the type's range
  /// (an infinity of floating types).
  bool is_exclusive = false;
  /// From the last element to the first.
  bool is_reverse = false;
  /// The type of a sum or product, and in which it is computed; by default that of sum_type().
  std::optional<DType> dtype{};
  std::string wisdom_path{};  ///< as of loopy::Wisdom
};
/// `cumulative_sum(x, along(0))`
[[nodiscard]] inline CumulativeOptions along(std::int64_t axis) {
  return {.axis = axis};
}

/// Running sums, products, minima and maxima along an axis, as NumPy's `cumsum`, `cumprod`,
/// `minimum.accumulate` and `maximum.accumulate`: a new array in C order, of the shape of `a`.
///
///     cumulative_sum(x)                       // x0, x0 + x1, ...
///     cumulative_max(2 * a + b, along(-1))    // one kernel
///     cumulative_sum(x, {.is_exclusive = true, .is_reverse = true})
///
/// The operand may be any expression; reductions in it run first. The kernel is one of the loop
/// engine, sliced as wisdom knows for lengths within a factor of two, otherwise as the cost model
/// ranks. It is compiled at first use, once for all lengths between two powers of two, and kept by
/// its structure; other arrays and numbers of floating types run the same kernel. f16 and bf16 are
/// computed in f32. Integers are added and multiplied modulo 2^n. A NaN wins among minima and
/// maxima, and all values after it are NaN. The same operation on the same device gives the same
/// bits each time.
///
/// @throws InvalidInput  arrays.cumulative.axis: no axis is given for several, or there is none;
///         arrays.layout.bad_axis; arrays.expression.dtype: an order of complex numbers;
///         arrays.expression.vector: an order of short vectors; arrays.evaluate.mixed_devices
/// @throws  what compiling and launching throw
/// @cost   asynchronous. One launch; three if several blocks of an OpenCL device or of the host share
///         a row. A copy of the operand before, if it has more than two other axes that are longer
///         than 1, or as_loop_kernel() refuses it
[[nodiscard]] AnyArray cumulative(ScanOp op, const Expression& a,
                                  const CumulativeOptions& options = {});
[[nodiscard]] inline AnyArray cumulative_sum(const Expression& a,
                                             const CumulativeOptions& options = {}) {
  return cumulative(ScanOp::sum, a, options);
}
[[nodiscard]] inline AnyArray cumulative_prod(const Expression& a,
                                              const CumulativeOptions& options = {}) {
  return cumulative(ScanOp::product, a, options);
}
[[nodiscard]] inline AnyArray cumulative_min(const Expression& a,
                                             const CumulativeOptions& options = {}) {
  return cumulative(ScanOp::min, a, options);
}
[[nodiscard]] inline AnyArray cumulative_max(const Expression& a,
                                             const CumulativeOptions& options = {}) {
  return cumulative(ScanOp::max, a, options);
}

/// Differences of neighbours along an axis, whose length is one less: the inverse of
/// cumulative_sum().
///
/// @throws InvalidInput  arrays.layout.bad_axis; as `-`
[[nodiscard]] Expression diff(const AnyArray& a, std::int64_t axis = -1);

/// The kernel of cumulative(), to look at it and to tune it; include
/// arrays/kernels/loop_expression.h.
///
/// @throws  as cumulative
/// @throws Unsupported  arrays.as_loop_kernel.no_loop: no elements
/// @cost   runs the reductions in the operand, and the copy that cumulative() makes
[[nodiscard]] LoopExpression cumulative_as_loop_kernel(ScanOp op, const Expression& a,
                                                       const CumulativeOptions& options = {});
/// The choice of cumulative(). @throws  as cumulative_as_loop_kernel @cost  compiles the kernel
[[nodiscard]] LoopPlan plan_cumulative(ScanOp op, const Expression& a,
                                       const CumulativeOptions& options = {});
/// Searches the fastest slicing for these lengths by running candidates and stores it: later calls
/// of cumulative() with lengths within a factor of two use it.
///
/// @throws  as cumulative_as_loop_kernel
/// @throws Unsupported  loopy.tune.nothing_works
/// @cost   about that many seconds, or none if wisdom has these lengths; waits
LoopPlan tune_cumulative(ScanOp op, const Expression& a, const CumulativeOptions& options = {},
                         double budget_seconds = 30);

}  // namespace rtcg::arrays
