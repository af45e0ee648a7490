#pragma once

#include <vector>

#include "rtcg/arrays/lazy/functions.h"

namespace rtcg::arrays {

/// A new array with the values of the expression, in C order.
///
/// The expression runs as one kernel that computes each common part once. Each reduction inside
/// runs before it, in one or two kernels. Kernels are compiled at first use and kept by their
/// structure: operations, types and the form of the operands' strides. Other numbers, arrays and
/// sizes run the same kernel. Work goes to the stream of the innermost StreamScope if that is on
/// the arrays' device, otherwise to that of the first array.
///
/// @throws InvalidInput  arrays.evaluate.mixed_devices
/// @throws  what compiling and launching throw
/// @cost   asynchronous
[[nodiscard]] AnyArray evaluate(const Expression& expression);
/// The same for several expressions of one shape: one kernel computes all.
///
/// @throws InvalidInput  arrays.evaluate.mixed_shapes
[[nodiscard]] std::vector<AnyArray> evaluate_all(const std::vector<Expression>& expressions);
/// Writes the values of the expression into `target`, converted to its type and broadcast to its
/// shape. Arrays in the expression may overlap with it.
///
/// @throws InvalidInput  arrays.broadcast.shape_mismatch, arrays.assign.repeated_elements,
///         arrays.assign.narrowing: see is_same_kind()
void evaluate_into(const Expression& expression, const AnyArray& target);

/// The same for several expressions, each into its array. One kernel reads and writes all; it reads
/// the values from before the call. Each expression of short vectors takes a kernel and a copy of
/// its own.
///
/// @throws InvalidInput  arrays.evaluate.mixed_shapes; as above
void evaluate_all_into(const std::vector<Expression>& expressions,
                       const std::vector<AnyArray>& targets);

/// For each index of `target`, writes the expression's value into the element that is `further`
/// elements after the one at that index: the inverse of gather(). If several values go to one
/// element, one of them remains.
///
/// @throws InvalidInput  arrays.assign.narrowing
void scatter(const Expression& value, const Expression& further, const AnyArray& target);

namespace detail {
/// Also a product with a sparse matrix by a kernel of expressions. The target has the shape and the
/// type of the expression.
void evaluate_in_kernel(runtime::StreamRef stream, const Expression& expression,
                        const AnyArray& target);
}  // namespace detail

}  // namespace rtcg::arrays
