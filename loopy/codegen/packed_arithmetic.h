#pragma once
// Internal header: it is not installed.

#include <optional>
#include <vector>

#include "rtcg/loopy/codegen/kernel_variables.h"

namespace rtcg::loopy {

/// A vector that has been loaded, of as many elements as there are lanes.
struct LoadedVector {
  cgen::Expr value;
  cgen::Type element;
};

/// The values of all lanes as one vector, computed two at a time, since an instruction adds or
/// multiplies two numbers of 16 bits: compilers find some of these pairs, and miss most in long
/// expressions. Nothing where values are not sums and products of numbers of that type, or where
/// fewer instructions are saved than pairs have to be put together.
///
/// @param values  of the lanes, an even number, all of `element`
[[nodiscard]] std::optional<cgen::Expr> packed_values(KernelVariables& variables,
                                                      const std::vector<cgen::Expr>& values,
                                                      const cgen::Type& element,
                                                      const std::vector<LoadedVector>& loads);

}  // namespace rtcg::loopy
