#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// Puts statements within further inames: they run for each of their values.
///
/// @param within  the statements, as match_instructions takes them
/// @throws InvalidInput  loopy.add_inames_to_instructions.unknown_iname,
///                       loopy.add_inames_to_instructions.reduced,
///                       loopy.match_instructions.syntax
/// @source Loo.py `add_inames_to_insn`
[[nodiscard]] Kernel add_inames_to_instructions(Kernel kernel,
                                                const std::vector<std::string>& inames,
                                                std::string_view within);

/// Takes statements out of inames that they do not use: they run once for all of their values.
///
/// @param within  the statements, as match_instructions takes them
/// @throws InvalidInput  loopy.remove_inames_from_instructions.unknown_iname,
///                       loopy.remove_inames_from_instructions.used,
///                       loopy.match_instructions.syntax
/// @source Loo.py `remove_inames_from_insn`
[[nodiscard]] Kernel remove_inames_from_instructions(Kernel kernel,
                                                     const std::vector<std::string>& inames,
                                                     std::string_view within);

}  // namespace rtcg::loopy
