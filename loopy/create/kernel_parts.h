#pragma once
// Internal header: it is not installed.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "rtcg/loopy/create/parse_functions.h"
#include "rtcg/loopy/create/parse_statements.h"

namespace rtcg::loopy {

/// The parts of a kernel as it was written, in text or in C++.
struct KernelParts {
  std::string name{};
  ParsedStatements statements{};
  std::vector<Domain> domains{};
  ConstraintSet assumptions{};
  std::vector<Argument> arguments{};
  ParsedFunctions functions{};
  std::optional<cgen::Type> default_type{};
  bool sequential_dependencies = false;
  std::map<std::string, std::int64_t> fixed_parameters{};
};

/// The kernel with its inferred parts, as make_kernel_with_callees describes it.
/// @throws InvalidInput  what make_kernel_with_callees throws, without the errors of parsers
[[nodiscard]] Kernel make_kernel_of_parts(KernelParts parts, const std::vector<Kernel>& callees);

}  // namespace rtcg::loopy
