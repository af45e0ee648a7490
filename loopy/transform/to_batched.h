#pragma once

#include <string>
#include <vector>

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

struct BatchOptions {
  /// The new loop.
  std::string iname = "ibatch";
  /// How many times: a new parameter, or a number.
  std::string count = "nbatch";
  /// Tag of the new loop; empty: sequential.
  std::string tag{};
};

/// Makes a kernel that does the same for many sets of data.
///
/// Rewrites
///     for i: b[i] = s*a[i]
///   for arrays a, b into
///     for ibatch in [0, nbatch): for i: b[ibatch, i] = s*a[ibatch, i]
///
/// The new axis varies slowest. All that the kernel writes has to be among the arrays; scalars may
/// be, and become arrays, unless lengths depend on them.
/// @throws InvalidInput  loopy.to_batched.unknown_argument, loopy.to_batched.not_batched,
///                       loopy.to_batched.linear_access, loopy.to_batched.is_parameter,
///                       loopy.to_batched.name_taken, loopy.to_batched.bad_count,
///                       loopy.iname_tag.unknown
/// @source Loo.py `to_batched`
[[nodiscard]] Kernel to_batched(Kernel kernel, const std::vector<std::string>& arguments,
                                const BatchOptions& options = {});

}  // namespace rtcg::loopy
