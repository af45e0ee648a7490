#pragma once

#include <string>
#include <utility>
#include <vector>

#include "rtcg/arrays/lazy/expression.h"
#include "rtcg/loopy/analyze/evaluate_integer.h"
#include "rtcg/loopy/execute/executor.h"
#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::arrays {

/// An expression as a kernel of the loop engine, with all that the kernel needs to run: to look at
/// it, to transform it, and to tune it.
///
///     const LoopExpression norms = as_loop_kernel(sum(x * x, {.axes = Extents{1}}));
///     const loopy::TuneResult found = loopy::tune(norms.kernel, device, {.constraints =
///     {.parameters = norms.sizes}}); const AnyArray values =
///         norms.run(loopy::tuned_kernel(norms.kernel, norms.sizes, found.best().slicing));
///
/// A value that keeps the expression's arrays alive.
struct LoopExpression {
  /// `out[i0, i1] = ...` for each element of the result, with a loop for each axis that is longer
  /// than 1. Axes of one length have one parameter, `n0`, `n1`, ... The arrays `in0`, `in1`, ...
  /// are as they are in memory: a transposed one has transposed indices, a broadcast one fewer of
  /// them, a slice has strides, which are parameters `s0`, `s1`, ...; overlapping slices of an
  /// array are one array. What is gathered from begins at a parameter `p0`, `p1`, ... C++ numbers
  /// are constants, and short vectors have one more axis. Reductions within the expression are
  /// statements of their own, and what the loop engine has no operation for is a function of the
  /// kernel.
  loopy::Kernel kernel{};
  loopy::IntegerValues sizes{};  ///< values of its parameters
  std::vector<std::pair<std::string, AnyArray>> arrays{};
  /// A number of the expression that is an argument; only running values have such.
  struct Number {
    std::string name{};
    DType dtype = DType::f64;
    double value = 0;
  };
  std::vector<Number> numbers{};
  /// An array that the kernel writes: `out`, or `out0`, `out1`, ... of several expressions.
  struct Result {
    std::string name{};
    DType dtype = DType::f32;
    Extents shape{};
  };
  std::vector<Result> results{};  ///< in the order of the expressions

  /// The arguments of `kernel` after any transformations.
  ///
  /// @param into    an array for each result: contiguous in C order, of its type and shape
  /// @param stream  of the call
  /// @throws InvalidInput  arrays.loop_expression.result_count
  [[nodiscard]] std::vector<loopy::NamedArgument> arguments(const loopy::Kernel& kernel,
                                                            const std::vector<AnyArray>& into,
                                                            runtime::StreamRef stream) const;
  /// New arrays with what `transformed` computes, which is made of `kernel` by transformations.
  ///
  /// @throws  what loopy::Executor and its call throw
  /// @cost  makes and compiles the program; keep a loopy::Executor to run it again and again
  [[nodiscard]] std::vector<AnyArray> run_all(const loopy::Kernel& transformed) const;
  /// The first of them.
  [[nodiscard]] AnyArray run(const loopy::Kernel& transformed) const;
};

/// @throws Unsupported  arrays.as_loop_kernel.no_loop: no elements
[[nodiscard]] LoopExpression as_loop_kernel(const Expression& expression);
/// One kernel for several expressions of any shapes. They have the loops over axes of one length in
/// common, and reductions of one shape over the same axes run in the same loops.
///
/// @throws Unsupported  arrays.as_loop_kernel.no_loop: no expressions; as above
[[nodiscard]] LoopExpression as_loop_kernel(const std::vector<Expression>& expressions);

}  // namespace rtcg::arrays
