#pragma once
// Internal header: it is not installed.

#include <string>
#include <vector>

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// Two or more indices as the one that they were made of: `x` for `x // m` and `x % m`.
struct JoinedIndex {
  /// Of which indices, by which lengths. Elements of one array are the same only where values with
  /// equal keys are.
  std::string key{};
  Expr value = 0;
};

/// What indices by quotients and remainders of scalar arguments are made of. Nothing where the
/// kernel has none.
[[nodiscard]] std::vector<JoinedIndex> joined_indices(const Kernel& kernel,
                                                      const std::vector<Expr>& indices);

}  // namespace rtcg::loopy
