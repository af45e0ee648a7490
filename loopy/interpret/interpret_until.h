#pragma once
// Internal header: it is not installed.

#include <functional>

#include "rtcg/loopy/interpret/interpret.h"

namespace rtcg::loopy {

/// interpret(), which ends as soon as `is_over` says so, as if options.most_operations were
/// reached.
///
/// @param is_over  asked some thousand times a second; may be empty
[[nodiscard]] Interpretation interpret_until(const Kernel& kernel,
                                             const InterpretArguments& arguments,
                                             const InterpretOptions& options,
                                             const std::function<bool()>& is_over);

}  // namespace rtcg::loopy
