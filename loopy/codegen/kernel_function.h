#pragma once
// Internal header: it is not installed.

#include <string>
#include <vector>

#include "rtcg/loopy/codegen/array_storage.h"
#include "rtcg/loopy/codegen/launch_facts.h"
#include "rtcg/loopy/codegen/write_body.h"

// The parameters, the launch and the function of a kernel of the program.

namespace rtcg::loopy {

/// What all kernels of the program get, in order.
[[nodiscard]] std::vector<KernelParameter> kernel_parameters(const Kernel& kernel,
                                                             const TargetRules& rules);

/// @throws InvalidInput  loopy.generate.too_many_threads, loopy.generate.too_much_shared_memory
[[nodiscard]] LaunchPlan launch_plan(const LaunchFacts& launch, std::string name,
                                     const BlockMemory& memory);

/// Whether callers may give another argument of the kernel the same memory.
[[nodiscard]] bool may_be_another(const Kernel& kernel, const std::string& name);

/// The kernel that `plan` launches.
///
/// @param has_barriers  threads of a block wait for each other
[[nodiscard]] cgen::Statement kernel_function(const LaunchFacts& launch, const LaunchPlan& plan,
                                              const std::vector<KernelParameter>& parameters,
                                              KernelBody body, bool has_barriers);

}  // namespace rtcg::loopy
