#pragma once

#include <functional>
#include <string>
#include <vector>

#include "rtcg/runtime/compile/compiler_judge.h"
#include "rtcg/runtime/device/backend.h"

namespace rtcg::runtime::opencl {

/// What the self-test of an OpenCL device is remembered by: the device, its driver and the text.
[[nodiscard]] std::string self_test_identity(const DeviceInfo& info);

/// Compiles a product of matrices of whole numbers by tiles that are filled two steps ahead, with
/// these flags, runs it many times and compares each element: PoCL 5 gets it wrong now and then.
///
/// @param compile  without judging
/// @cost  one compile, 50 launches, allocates and frees 4 KiB
[[nodiscard]] CompilerJudge::Trial run_self_test(
    Backend& backend, const std::vector<std::string>& flags,
    const std::function<CompiledProgram(const CompileRequest&)>& compile);

}  // namespace rtcg::runtime::opencl
