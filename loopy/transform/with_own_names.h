#pragma once
// Internal header: it is not installed.

#include <string_view>

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// The kernel with its inames, temporaries, rules and statements called otherwise where `taken`
/// knows their names; `taken` learns the new ones. Arguments keep their names.
[[nodiscard]] Kernel with_own_names(Kernel kernel, NameGenerator& taken, std::string_view suffix);

}  // namespace rtcg::loopy
