#pragma once
// Internal header: it is not installed.

#include <initializer_list>

#include "rtcg/arrays/lazy/functions.h"

// How functions of expressions are made.

namespace rtcg::arrays::detail {

/// The number if `value` is one; otherwise null.
[[nodiscard]] const NumberValue* number_of(const Expression& value);
/// @throws InvalidInput  arrays.expression.dtype
[[noreturn]] void refuse_dtype(const char* function, DType dtype);
/// @throws InvalidInput  arrays.evaluate.unbound_argument
[[noreturn]] void refuse_argument(const ExpressionNode& argument);
/// @throws InvalidInput  arrays.expression.vector
[[noreturn]] void refuse_vector(const char* what, DType dtype);
/// A node of the shape to which the operands broadcast. Short vectors give short vectors only.
///
/// @throws InvalidInput  arrays.expression.vector
[[nodiscard]] Expression make_node(Op op, DType dtype, std::initializer_list<Expression> operands);
/// Converted; a number becomes one of that type and must fit it.
[[nodiscard]] Expression as(const Expression& value, DType dtype);
/// The same if at most digits are lost, see is_same_kind(): the conversions that assignment does
/// implicitly. Numbers convert by their kind, 0 and 1 also to booleans.
///
/// @throws InvalidInput  arrays.assign.narrowing, arrays.expression.number_range
[[nodiscard]] Expression fitted(const Expression& value, DType dtype);
/// A function of floating-point values, and of complex ones where `takes_complex`.
///
/// @throws InvalidInput  arrays.expression.dtype
[[nodiscard]] Expression floating(Op op, const char* function, const Expression& a,
                                  bool takes_complex = false);
/// A reduction of values that have the accumulator's type already.
///
/// @param dtype  of the result
/// @throws InvalidInput  arrays.layout.bad_axis, arrays.reduce.repeated_axis; arrays.reduce.empty,
///         arrays.expression.dtype: a minimum or maximum of nothing, or of complex numbers;
///         arrays.expression.vector
[[nodiscard]] Expression make_reduction(Op op, DType dtype, const Expression& a,
                                        const ReduceOptions& options);
/// The type in which two operands meet.
[[nodiscard]] DType common_dtype(const Expression& a, const Expression& b);

}  // namespace rtcg::arrays::detail
