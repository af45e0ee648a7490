#pragma once
// Internal header: it is not installed.

#include <string>
#include <string_view>

#include "rtcg/cgen/support/error.h"
#include "rtcg/runtime/compile/compile_request.h"

// The messages between a program and its compile workers.

namespace rtcg::runtime {

/// The first message of a worker: the protocol, and the NVRTC that it would load.
[[nodiscard]] std::string worker_greeting();

[[nodiscard]] std::string write_request(const CompileRequest& request);
/// @throws InvalidInput  runtime.compile_message.damaged
[[nodiscard]] CompileRequest read_request(std::string_view message);

[[nodiscard]] std::string write_answer(const CompiledProgram& program);
[[nodiscard]] std::string write_answer(const Error& error);
/// @throws  the error that was written, of its own class
/// @throws InvalidInput  runtime.compile_message.damaged
[[nodiscard]] CompiledProgram read_answer(std::string_view message);

}  // namespace rtcg::runtime
