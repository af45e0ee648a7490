#pragma once
// Internal header: it is not installed.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "rtcg/runtime/compile/compiler_judge.h"
#include "rtcg/runtime/device/backend.h"

namespace rtcg::runtime::opencl {

/// The key of the self-test of an OpenCL device: the device, its driver and the texts.
[[nodiscard]] std::string self_test_identity(const DeviceInfo& info);

/// The sets of flags that may mend a compiler, cheapest first.
[[nodiscard]] const std::vector<std::vector<std::string>>& self_test_mends();

/// Whether a barrier of OpenCL C is in a loop or a branch.
[[nodiscard]] bool has_nested_barrier(std::string_view text);

/// The flags for `request` of a compiler with this verdict. Repeated barriers mend the self-test of
/// PoCL 3.1, but not every loop or branch with barriers: these are compiled without optimisation.
[[nodiscard]] const std::vector<std::string>& mend_for(const CompileRequest& request,
                                                       const std::vector<std::string>& verdict);

/// `request` with the flags of a verdict. `-DNAME=VALUE` becomes a macro before the text: on the
/// command line it would also apply to the compiler's own header, which declares `barrier`.
[[nodiscard]] CompileRequest with_mend(CompileRequest request,
                                       const std::vector<std::string>& flags);

/// Compiles and runs two kernels of whole numbers with these flags and compares each element: sums
/// over the threads of a block in two loops, which PoCL 3.1 gets wrong, and a product of matrices
/// by tiles that are filled two steps ahead, which PoCL 5 gets wrong now and then.
///
/// @param compile  without judging
/// @cost  two compiles, 51 launches, allocates and frees 4 KiB
[[nodiscard]] CompilerJudge::Trial run_self_test(
    Backend& backend, const std::vector<std::string>& flags,
    const std::function<CompiledProgram(const CompileRequest&)>& compile);

}  // namespace rtcg::runtime::opencl
