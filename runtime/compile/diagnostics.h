#pragma once
// Internal header: it is not installed.

#include <string>
#include <string_view>
#include <vector>

#include "rtcg/cgen/support/error.h"
#include "rtcg/runtime/compile/compile_request.h"

namespace rtcg::runtime {

enum class Severity { error, warning, note };

/// One message of a compiler.
struct Diagnostic {
  std::string file;
  int line = 0;    ///< 1-based
  int column = 0;  ///< 1-based; 0: unknown
  Severity severity = Severity::error;
  std::string text;

  friend bool operator==(const Diagnostic&, const Diagnostic&) = default;
};

/// Reads the messages of gcc, clang, NVRTC, PoCL and NVIDIA's OpenCL compiler, in their order.
[[nodiscard]] std::vector<Diagnostic> parse_diagnostics(std::string_view log);

/// The error to throw when a compiler refused `request`.
///
/// Its message holds the first errors, each with the offending lines of the source, numbered, a
/// caret where the column is known, and the place in the C++ program that built the line, if
/// `request.source.origins` has it.
///
/// @param code      e.g. `runtime.nvrtc.refused`
/// @param compiler  its name, for the message
/// @param options   as they were passed
/// @param log       the compiler's output, complete
[[nodiscard]] CompileFailure compile_failure(std::string code, std::string_view compiler,
                                             const CompileRequest& request,
                                             const std::vector<std::string>& options,
                                             std::string log);

}  // namespace rtcg::runtime
