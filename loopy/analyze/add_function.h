#pragma once

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// The kernel with a function that its expressions may call.
///
///     add_function(kernel, {.name = "soft",
///                           .parameters = {{"x", cgen::f32}},
///                           .result = cgen::f32,
///                           .bodies = {{std::nullopt, c_body("return x/(1 + fabs(x));")}}})
///
/// A target without a body is refused when code for it is generated and the function is called.
/// @throws InvalidInput  loopy.add_function.bad_name, a name that is not one, is reserved by a
///         language, a function of rtcg's, or used in the kernel; loopy.add_function.bad_type, a
///         parameter or result that is not a number, a complex number or a vector;
///         loopy.add_function.no_body, without any code, or two bodies for one target;
///         loopy.add_function.meaning, it has names other than the parameters
[[nodiscard]] Kernel add_function(Kernel kernel, TypedFunction function);
/// The kernel with C text ahead of its functions.
[[nodiscard]] Kernel add_preamble(Kernel kernel, Preamble preamble);
/// `kernel` with the functions and preambles of `other` that it has not.
/// @throws InvalidInput  loopy.add_function.two_meanings, functions of one name that differ
void append_functions(Kernel& kernel, const Kernel& other);

}  // namespace rtcg::loopy
