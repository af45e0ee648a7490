#pragma once
// Internal header: it is not installed.

#include <memory>

#include "rtcg/runtime/compile/compile_request.h"

namespace rtcg::runtime {

/// Whether RTCG_CAPTURE names a folder, when the process asks first.
[[nodiscard]] bool are_launches_captured();

/// Keeps what a program was compiled from, if launches are captured. Any thread may call it.
void remember_text(const CompiledProgram& compiled, const CompileRequest& request);

/// What a program was compiled from, by the bytes of its binary; null if that is not known.
[[nodiscard]] std::shared_ptr<const CompileRequest> text_of(const CompiledProgram& compiled);

}  // namespace rtcg::runtime
