#pragma once

#include <vector>

#include "rtcg/arrays/lazy/functions.h"

namespace rtcg::arrays {

/// A new array with what the expression gives, in C order.
///
/// All of it runs in one kernel, each common part once, and each reduction inside in one or two of
/// its own before. Kernels are compiled at first use and kept by their structure: which operations
/// on which types, and how the operands' strides look; other numbers, arrays and sizes run the same
/// kernel. Work goes to the stream of the innermost StreamScope when that is on the arrays' device,
/// else to that of the first array.
///
/// @throws InvalidInput  arrays.evaluate.mixed_devices
/// @throws  what compiling and launching throw
/// @cost   asynchronous
[[nodiscard]] AnyArray evaluate(const Expression& expression);
/// The same for several expressions of one shape: one kernel computes all.
///
/// @throws InvalidInput  arrays.evaluate.mixed_shapes
[[nodiscard]] std::vector<AnyArray> evaluate_all(const std::vector<Expression>& expressions);
/// Writes what the expression gives into `target`, converted to its type and broadcast to its
/// shape. Arrays in the expression may overlap with it.
///
/// @throws InvalidInput  arrays.broadcast.shape_mismatch, arrays.assign.repeated_elements,
///         arrays.assign.narrowing: see is_same_kind()
void evaluate_into(const Expression& expression, const AnyArray& target);

/// The same for several expressions, each into its array: one kernel reads and writes all, and what
/// is read is as it was before. Of short vectors each takes a kernel of its own, and a copy.
///
/// @throws InvalidInput  arrays.evaluate.mixed_shapes; as above
void evaluate_all_into(const std::vector<Expression>& expressions,
                       const std::vector<AnyArray>& targets);

/// At each index of `target` writes what the expression gives into the element that lies `further`
/// elements behind the one at that index: the counterpart of gather(). Where several values go to
/// one element, one of them stays.
///
/// @throws InvalidInput  arrays.assign.narrowing
void scatter(const Expression& value, const Expression& further, const AnyArray& target);

}  // namespace rtcg::arrays
