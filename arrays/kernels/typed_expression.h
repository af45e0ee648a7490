#pragma once

#include <map>
#include <string>
#include <vector>

#include "rtcg/arrays/kernels/kernel_argument.h"
#include "rtcg/arrays/lazy/expression.h"

// Kernels from expressions instead of text: NumPy's types and rules, checked by the compiler.

namespace rtcg::arrays {

/// The value of a kernel's argument in an expression: element i of an array, or the number.
///
/// @throws InvalidInput  arrays.value_of.structure: a struct is not a value of an expression
[[nodiscard]] Expression value_of(const KernelArgument& argument);

/// `target[i] = value`, where the value is made of value_of() of arguments.
struct ElementAssignment {
  std::string target;
  Expression value;
};

namespace detail {

class LoopKernelMaker;

/// The expression with arguments replaced by their values.
///
/// @throws InvalidInput  arrays.evaluate.unbound_argument: one is not among them;
///         arrays.substitute.reduction: it reduces on the way
[[nodiscard]] Expression substitute(const Expression& expression,
                                    const std::map<std::string, Expression>& values);

/// Values of arguments by their names, checked as those of a snippet are.
///
/// @throws InvalidInput  arrays.snippet_kernel.argument_count, .not_an_array, .not_a_number,
///         .wrong_dtype; arrays.expression.number_range
[[nodiscard]] std::map<std::string, Expression> bind_values(
    const std::vector<KernelArgument>& arguments, const std::vector<Expression>& values);

/// Which of the arguments an assignment goes to.
///
/// @throws InvalidInput  arrays.elementwise_kernel.bad_target
[[nodiscard]] std::size_t target_of(const std::vector<KernelArgument>& arguments,
                                    const ElementAssignment& assignment);

/// The arguments themselves as their values.
[[nodiscard]] std::map<std::string, Expression> values_of(
    const std::vector<KernelArgument>& arguments);

/// A loop kernel of these arguments over arrays of one axis, `i` from 0 to `n`, which has no
/// statement and no length yet.
///
/// @throws Unsupported  arrays.as_loop_kernel.no_loop
[[nodiscard]] LoopKernelMaker typed_loop_maker(const std::vector<KernelArgument>& arguments,
                                               std::string name);

}  // namespace detail

}  // namespace rtcg::arrays
