#pragma once
// Internal header: it is not installed.

#include <vector>

#include "rtcg/cgen/ast/intrinsic.h"
#include "rtcg/loopy/interpret/number.h"

namespace rtcg::loopy::interpretation {

/// Whether apply_function knows it.
[[nodiscard]] bool is_function_of_numbers(cgen::Intrinsic function);
/// A function in the type `kind`, with the error of the result that follows from those of its
/// arguments.
[[nodiscard]] Value apply_function(cgen::Intrinsic function, const std::vector<Value>& arguments,
                                   cgen::ScalarKind kind);

}  // namespace rtcg::loopy::interpretation
