#pragma once

#include <functional>
#include <string>

namespace rtcg::tools {

/// Shrinks a text of which `fails` holds to one of which it still holds: no line, element of a
/// list, operand, bracket or number can be left out or made smaller any more, one at a time.
///
/// Delta debugging (Zeller and Hildebrandt 2002) over sections and lines, then over what stands
/// between separators and operators, whatever the brackets are around, then over numbers. Lines
/// that begin in the first column begin sections.
/// @param fails      asked for each candidate; never for `text` itself
/// @param is_over    asked before each candidate: the text as it is by then is the result
[[nodiscard]] std::string reduce_text(std::string text,
                                      const std::function<bool(const std::string&)>& fails,
                                      const std::function<bool()>& is_over);

}  // namespace rtcg::tools
