#pragma once

#include <functional>
#include <optional>
#include <string>

#include "rtcg/cgen/ast/module.h"
#include "rtcg/cgen/dialect/dialect.h"

namespace rtcg::cgen {

/// How much of a generated module is verified.
enum class VerifyDepth {
  names,       ///< every name is declared; costs a fiftieth of generating
  everything,  ///< names, types, barriers and the bounds that are decided; costs as much as
               ///< generating
};

/// VerifyDepth::everything in debug builds and where the environment has RTCG_VERIFY=1, as it is in
/// the test programs; 0 there asks for names only.
[[nodiscard]] VerifyDepth usual_verify_depth();

struct VerifyOptions {
  VerifyDepth depth = usual_verify_depth();
  /// Whether the module may call functions that it does not declare, because the language, its
  /// library or a preamble has them. The compiler refuses undeclared ones.
  bool allows_foreign_functions = false;
};

/// Describes the origin of a module: the recipe, the kernel file.
using Story = std::function<std::string()>;

/// Verifies a module that a generator of rtcg made, before it is returned.
///
/// Names that raw text uses are not looked up, since the user mostly wrote it; names that it
/// declares are known.
/// @param story  called if the module is wrong
/// @throws InternalError  a name is not declared or declared twice, a type does not fit, a barrier
///         is where only some of the threads of a block come, an index is outside of an array of
///         known extent; the message has the story
void verify_module(const Module& module, Dialect dialect, const Story& story,
                   const VerifyOptions& options = {});

/// What verify_module complains of; nothing where all is right.
[[nodiscard]] std::optional<std::string> why_not_valid(const Module& module, Dialect dialect,
                                                       const VerifyOptions& options = {});

}  // namespace rtcg::cgen
