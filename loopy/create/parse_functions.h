#pragma once
// Internal header: it is not installed.

#include <string_view>
#include <vector>

#include "rtcg/loopy/kernel/typed_function.h"

namespace rtcg::loopy {

struct ParsedFunctions {
  std::vector<TypedFunction> functions{};
  std::vector<Preamble> preambles{};
};

/// Functions and preambles as KernelOptions::functions lists them. `#` begins a comment outside of
/// braces.
/// @throws InvalidInput  loopy.parse_functions.syntax
[[nodiscard]] ParsedFunctions parse_functions(std::string_view text);

}  // namespace rtcg::loopy
