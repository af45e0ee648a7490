#pragma once

#include <functional>
#include <string>

namespace rtcg::tools {

/// Shrinks a text for which `fails` is true to one for which it is still true. No single line,
/// element of a list, operand, bracket or number can then be removed or made smaller.
///
/// Delta debugging (Zeller and Hildebrandt 2002) over sections and lines, then over text between
/// separators and operators inside any brackets, then over numbers. Lines that begin in the first
/// column begin sections.
/// @param fails      called for each candidate; never for `text` itself
/// @param is_over    called before each candidate: if true, the current text is the result
[[nodiscard]] std::string reduce_text(std::string text,
                                      const std::function<bool(const std::string&)>& fails,
                                      const std::function<bool()>& is_over);

}  // namespace rtcg::tools
