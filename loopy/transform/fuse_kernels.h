#pragma once

#include <string>
#include <vector>

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

struct FuseOptions {
  /// Appended to names of the second kernel that the first one has as well; a number follows if the
  /// result is taken.
  std::string suffix = "_b";
  /// Variables that the first kernel writes and the second one reads. A temporary of the first is
  /// then the argument or temporary of that name in the second. Statements that read such a
  /// variable depend on those that write it.
  std::vector<std::string> data_flow{};
};

/// Makes one kernel of two: the statements of the first, then those of the second.
///
/// Rewrites
///     for i in [0, n): b[i] = 2*a[i]         and         for i in [0, n): c[i] = b[i] + 1
///   into
///     for i in [0, n): b[i] = 2*a[i]
///     for i_b in [0, n): c[i_b] = b[i_b] + 1
///
/// Arguments of the same name are the same: what the first kernel writes the second one reads. All
/// else but FuseOptions::data_flow keeps apart; rename_iname unites loops with the same bounds.
/// Where threads read what others wrote, a global barrier is to be added between.
/// @param second  recipes have it as the text of a kernel file, or the path of one
/// @throws InvalidInput  loopy.fuse_kernels.different_arguments, loopy.fuse_kernels.name_clash,
///                       loopy.fuse_kernels.no_data_flow
/// @throws Unsupported   loopy.to_kernel_file.not_sayable
/// @source Loo.py `fuse_kernels`
[[nodiscard]] Kernel fuse_kernels(Kernel first, const Kernel& second,
                                  const FuseOptions& options = {});

}  // namespace rtcg::loopy
