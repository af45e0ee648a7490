#pragma once
// Internal header: it is not installed.

#include <optional>
#include <string>

#include "rtcg/loopy/kernel/target.h"
#include "rtcg/loopy/slice/slicing.h"

// What sources of slicings ask before they list: the transformations, the checks and the generator.

namespace rtcg::loopy::detail {

/// Why a slicing of the kernel is refused; nothing if it has a text.
/// @cost  one text, some milliseconds
[[nodiscard]] std::optional<std::string> why_not_sliced(const Kernel& kernel,
                                                        const Slicing& slicing,
                                                        Target target = Target::cuda);

/// The code of the error that refuses a slicing; empty if it has a text.
/// @cost  one text
[[nodiscard]] std::string code_of_refusal(const Kernel& kernel, const Slicing& slicing);

/// Whether the iterations of a loop can run at once, in different blocks or threads: no iteration
/// needs what another one writes. A loop that carries a dependence stays sequential.
/// @param expanded  has types and no rules; the loop is around all of its statements
/// @cost  one text, if the indices alone do not tell
[[nodiscard]] bool can_run_at_once(const Kernel& expanded, const std::string& iname);

}  // namespace rtcg::loopy::detail
