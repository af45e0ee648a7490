#pragma once
// Internal header: it is not installed.

#include <optional>
#include <string>
#include <vector>

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// The inames around a statement and those of its reductions.
[[nodiscard]] NameSet used_inames(const Instruction& instruction);

/// The statement or rule that uses some of the inames but not all of them together, be it as loops
/// around it or in one reduction: `statement 'set_a'`.
[[nodiscard]] std::optional<std::string> find_use_apart(const Kernel& kernel,
                                                        const std::vector<std::string>& inames);

/// The other inames, and the temporaries, that bounds of these inames mention.
[[nodiscard]] NameSet names_in_bounds(const Kernel& kernel, const NameSet& inames);

}  // namespace rtcg::loopy
