#pragma once

#include <span>
#include <string>
#include <vector>

#include "rtcg/runtime/compile/compile_request.h"

namespace rtcg::runtime {

struct JitLinkOptions {
  /// Options of nvJitLink, after rtcg's own (`-arch`, `-Xptxas=-v`, and `-lto` for LTO-IR).
  std::vector<std::string> flags;
  /// Files of archives, of which what parts call is linked. Kernels that launch kernels need
  /// find_device_runtime().
  std::vector<std::string> archives{};
};

/// Links parts of a CUDA program to one cubin; needs no GPU and no driver.
///
/// Parts of LTO-IR are optimised together: functions of one are inlined into kernels of another.
/// Cubin and PTX keep calls, and have to be compiled with `--relocatable-device-code=true`.
///
///     CompileRequest shape = ...;  // __device__ float shape(float x) { return x * x; }
///     shape.kind = OutputKind::lto_ir;
///     const CompiledProgram parts[] = {compile_cached(nvrtc, shape), compile_cached(nvrtc, rest)};
///     const Program program = Program::load(device, link_programs(parts));
///
/// NVIDIA's nvJitLink is opened at the first call: the file that RTCG_NVJITLINK names, or one of
/// NVRTC's major version, looked for as NVRTC is. Any thread may call.
///
/// @param parts  cubins, PTX and LTO-IR of one target
/// @returns  a cubin for that target, with the names and log of all parts, and the resources of
///           the kernels that were compiled by the linking
/// @throws InvalidInput    runtime.jit_link.bad_part: there is none, their targets differ, or one
///                         is not of these kinds
/// @throws CompileFailure  runtime.jit_link.refused, with the linker's log; also if an archive is
///                         not there
/// @throws Unsupported     runtime.jit_link.not_found, saying where it looked
[[nodiscard]] CompiledProgram link_programs(std::span<const CompiledProgram> parts,
                                            const JitLinkOptions& options = {});

/// libcudadevrt.a of the toolkit that NVRTC is found in; empty if it is not there.
[[nodiscard]] std::string find_device_runtime();

/// Empty if nvJitLink is there, otherwise where it was looked for.
[[nodiscard]] std::string why_no_jit_link();

}  // namespace rtcg::runtime
