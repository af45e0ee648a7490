#include "rtcg/loopy/create/raw_code.h"

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/symbolic/parse_expr.h"
#include "rtcg/loopy/symbolic/traverse.h"

namespace rtcg::loopy {
namespace {

constexpr const char* c_text_syntax = "loopy.parse_statements.syntax";

}  // namespace

RawCode parse_raw_code(std::string_view text) {
  if (text.size() < 2 || !text.starts_with("\"") || !text.ends_with("\"")) {
    throw InvalidInput(c_text_syntax,
                       "C text is written in quotes: ... c \"${a[i]} = 1;\" {writes=a}");
  }
  text = text.substr(1, text.size() - 2);
  RawCode raw;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i, 2) == "${") {
      const std::size_t end = text.find('}', i);
      if (end == std::string_view::npos) {
        throw InvalidInput(c_text_syntax, "'${' in C text has no '}'");
      }
      raw.text += fmt::format("${{{}}}", raw.parts.size());
      const Expr part = parse_expr(text.substr(i + 2, end - i - 2));
      if (!reduction_inames(part).empty()) {
        throw InvalidInput(c_text_syntax,
                           "C text cannot have a reduction in it: assign it to a temporary first");
      }
      raw.parts.push_back({part});
      i = end;
    } else if (text[i] == '\\' && i + 1 < text.size()) {
      ++i;
      raw.text += text[i] == 'n' ? '\n' : text[i];
    } else {
      raw.text += text[i];
    }
  }
  return raw;
}

RawCode with_known_places(RawCode raw) {
  NameSet placed;
  for (RawPart& part : raw.parts) {
    const bool is_place =
        is<Name>(part.expr) || is<Access>(part.expr) || is<LinearAccess>(part.expr);
    const std::string name = is_place ? target_name(part.expr) : std::string();
    part.is_written = is_place && raw.writes.count(name) != 0;
    part.is_read = !part.is_written || raw.reads.count(name) != 0;
    placed.insert(name);
  }
  for (const std::string& each : placed) {
    raw.reads.erase(each);
    raw.writes.erase(each);
  }
  return raw;
}

}  // namespace rtcg::loopy
