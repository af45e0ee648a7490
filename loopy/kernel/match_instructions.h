#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rtcg/loopy/kernel/kernel.h"

// Choosing statements by their properties:
//
//     id:load*          the id fits the pattern; `*` is any text, `?` any character
//     load*             the same
//     tag:fetch         one of its tags fits
//     reads:a, writes:a it reads or writes a variable whose name fits
//     iname:i           it is within an iname whose name fits
//     *                 all
//     A and B, A or B, not A, (A)
//
// Rules must be expanded for `reads` to see what is read through them.

namespace rtcg::loopy {

/// The statements that fit, in source order; an empty text fits all.
/// @throws InvalidInput  loopy.match_instructions.syntax
[[nodiscard]] std::vector<std::string> match_instructions(const Kernel& kernel,
                                                          std::string_view text);
/// Whether `text` fits a pattern with `*` and `?`.
[[nodiscard]] bool fits_pattern(std::string_view text, std::string_view pattern);

}  // namespace rtcg::loopy
