#pragma once

#include <string>

#include "rtcg/runtime/compile/compile_request.h"

namespace rtcg::runtime {

/// A program that was compiled before, by nvcc or `rtcg compile -o`: a cubin, a fatbin with code for
/// several GPUs, PTX, SPIR-V, or a shared object of the host with kernels. The first bytes say which.
///
///     const Program program = Program::load(device, read_program_file("kernels.cubin"));
///
/// Names are those in the file: `extern "C"` ones, or lowered. The target is known of PTX alone;
/// a fatbin is loaded as a cubin is.
///
/// The file contains code, which runs with the rights of the user who loads it.
///
/// @throws DeviceError   runtime.program.unreadable_file
/// @throws InvalidInput  runtime.program.unknown_file: it is none of these
[[nodiscard]] CompiledProgram read_program_file(const std::string& path);

}  // namespace rtcg::runtime
