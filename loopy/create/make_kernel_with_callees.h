#pragma once

#include <string_view>
#include <vector>

#include "rtcg/loopy/create/make_kernel.h"

namespace rtcg::loopy {

/// make_kernel for statements that call other kernels: `... call f(x=a[i, _0], y=b[i, _0])`.
///
/// Each call becomes the statements of `f`, as inline_kernel makes them of it. The call is within
/// the inames that its arguments mention and those of the `for` around it. Arrays that only calls
/// mention have to be declared; scalars are inferred.
/// @throws InvalidInput  what make_kernel and inline_kernel throw, with the line;
///                       loopy.make_kernel.unknown_callee
[[nodiscard]] Kernel make_kernel_with_callees(std::string_view domains, std::string_view statements,
                                              const KernelOptions& options,
                                              const std::vector<Kernel>& callees);

}  // namespace rtcg::loopy
