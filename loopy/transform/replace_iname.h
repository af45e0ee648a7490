#pragma once
// Internal header: it is not installed.

#include <string>
#include <string_view>
#include <vector>

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// `expr` with the iname's values replaced by `value`, and the iname in the lists of reductions by
/// `new_inames`. Indices are simplified where they change.
[[nodiscard]] Expr replace_iname(const Expr& expr, std::string_view iname, const Expr& value,
                                 const std::vector<std::string>& new_inames);
/// The same in all expressions of the kernel, in the lists of inames of domains and statements, and
/// in the priorities. Constraints and tags stay as they are.
[[nodiscard]] Kernel replace_iname(Kernel kernel, std::string_view iname, const Expr& value,
                                   const std::vector<std::string>& new_inames);

}  // namespace rtcg::loopy
