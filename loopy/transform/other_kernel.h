#pragma once
// Internal header: it is not installed.

#include <string>
#include <string_view>

#include "rtcg/loopy/kernel/kernel.h"

// What transformations share that take a second kernel: recipes hold its text.

namespace rtcg::loopy {

/// The kernel of a kernel file, given as text or by its path, after its recipe.
[[nodiscard]] Kernel kernel_from_text(std::string_view text_or_path);
/// The text from which kernel_from_text makes the kernel again.
[[nodiscard]] std::string kernel_text(const Kernel& kernel);

/// The kernel with its inames, temporaries, rules and statements called otherwise where `taken`
/// knows their names; `taken` learns the new ones. Arguments keep their names.
[[nodiscard]] Kernel with_own_names(Kernel kernel, NameGenerator& taken, std::string_view suffix);

}  // namespace rtcg::loopy
