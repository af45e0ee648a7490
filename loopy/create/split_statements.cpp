#include "rtcg/loopy/create/split_statements.h"

#include "rtcg/cgen/support/trimmed.h"

namespace rtcg::loopy {
std::vector<StatementLine> split_statements(std::string_view text) {
  std::vector<StatementLine> lines;
  std::string open;
  std::size_t open_since = 1;
  int depth = 0;
  std::size_t number = 1;
  const auto close = [&] {
    if (const std::string_view body = trimmed(open); !body.empty()) {
      lines.push_back({std::string(body), open_since});
    }
    open.clear();
  };
  bool in_comment = false;
  bool is_quoted = false;
  bool is_escaped = false;
  for (const char c : text) {
    if (!in_comment && c != '\n' && (is_quoted || c == '"')) {
      // C text: nothing in it ends the statement
      is_quoted = is_quoted ? c != '"' || is_escaped : true;
      is_escaped = is_quoted && c == '\\' && !is_escaped;
      open += c;
      continue;
    }
    if (c == '\n') {
      in_comment = false;
      ++number;
      const std::string_view body = trimmed(open);
      const bool goes_on = depth > 0 || (!body.empty() && body.back() == '\\');
      if (goes_on) {
        if (body.back() == '\\') {
          open = std::string(body.substr(0, body.size() - 1));
        }
        open += ' ';
        continue;
      }
      close();
      open_since = number;
      continue;
    }
    if (in_comment || c == '#') {
      in_comment = true;
      continue;
    }
    if (c == ';' && depth == 0) {
      close();
      open_since = number;
      continue;
    }
    depth += c == '(' || c == '[' || c == '{' ? 1 : 0;
    depth -= c == ')' || c == ']' || c == '}' ? 1 : 0;
    open += c;
  }
  close();
  return lines;
}

}  // namespace rtcg::loopy
