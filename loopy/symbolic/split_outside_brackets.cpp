#include "rtcg/loopy/symbolic/split_outside_brackets.h"

#include "rtcg/cgen/support/trimmed.h"

namespace rtcg::loopy {

std::vector<std::string> split_outside_brackets(std::string_view text, char separator) {
  std::vector<std::string> parts;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t at = 0; at <= text.size(); ++at) {
    const char c = at < text.size() ? text[at] : separator;
    depth += c == '(' || c == '[' ? 1 : 0;
    depth -= c == ')' || c == ']' ? 1 : 0;
    if (at == text.size() || (c == separator && depth == 0)) {
      parts.emplace_back(trimmed(text.substr(begin, at - begin)));
      begin = at + 1;
    }
  }
  return parts;
}

}  // namespace rtcg::loopy
