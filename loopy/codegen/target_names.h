#pragma once
// Internal header: it is not installed.

#include <map>
#include <string>
#include <string_view>

#include "rtcg/cgen/dialect/dialect.h"
#include "rtcg/loopy/codegen/generate.h"

namespace rtcg::loopy {

/// Names that the text has in place of those that are reserved in its language.
struct TargetNames {
  Kernel kernel;
  /// What the user calls each of the new names.
  std::map<std::string, std::string, std::less<>> user_names{};
};

/// Gives the kernel, its arguments, temporaries and inames other names where their own are reserved
/// in the dialect.
///
/// @param kernel  preprocessed
/// @throws InvalidInput  loopy.generate.reserved_name
[[nodiscard]] TargetNames with_target_names(Kernel kernel, cgen::Dialect dialect);

/// Whether a function of the text must not have the name: the language or its library has it.
[[nodiscard]] bool is_reserved_function(cgen::Dialect dialect, std::string_view name);

/// Gives the parameters and launches of the program the names of the description.
void restore_user_names(const TargetNames& names, GeneratedProgram& program);

}  // namespace rtcg::loopy
