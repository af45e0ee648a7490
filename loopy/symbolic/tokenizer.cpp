#include "rtcg/loopy/symbolic/tokenizer.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"

namespace rtcg::loopy {
namespace {

constexpr int deepest_brackets = 200;
// Second characters of long symbols.
constexpr std::string_view joining = ".*/<>=[";
constexpr std::string_view long_symbols[] = {"...", "**", "//", "<=", ">=", "==", "!=", "<<", ">>",
                                             "[[",  ":=", "->", "+=", "-=", "*=", "/=", "<>"};

bool is_name_start(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_';
}
bool is_digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

std::size_t end_of_name(std::string_view text, std::size_t begin) {
  std::size_t end = begin;
  while (end < text.size() && (is_name_start(text[end]) || is_digit(text[end]))) {
    ++end;
  }
  return end;
}

std::size_t end_of_number(std::string_view text, std::size_t begin) {
  std::size_t end = begin;
  const auto skip_digits = [&] {
    while (end < text.size() && is_digit(text[end])) {
      ++end;
    }
  };
  skip_digits();
  if (end < text.size() && text[end] == '.') {
    ++end;
    skip_digits();
  }
  if (end < text.size() && (text[end] == 'e' || text[end] == 'E')) {
    std::size_t exponent = end + 1;
    if (exponent < text.size() && (text[exponent] == '+' || text[exponent] == '-')) {
      ++exponent;
    }
    if (exponent < text.size() && is_digit(text[exponent])) {
      end = exponent;
      skip_digits();
    }
  }
  // `2f`, `2d`, `2j`, `2jf`; not the beginning of a name after a number, `2j3`
  std::size_t suffix = end;
  suffix += suffix < text.size() && text[suffix] == 'j' ? 1 : 0;
  suffix += suffix < text.size() && (text[suffix] == 'f' || text[suffix] == 'd') ? 1 : 0;
  return end_of_name(text, suffix) == suffix ? suffix : end;
}

[[noreturn]] void throw_at(std::string_view text, std::size_t column, const char* code,
                           const std::string& problem) {
  // the line of the place, and a mark below it
  const std::size_t begin = text.rfind('\n', column == 0 ? 0 : column - 1);
  const std::size_t first = begin == std::string_view::npos || column == 0 ? 0 : begin + 1;
  const std::size_t last = std::min(text.find('\n', column), text.size());
  throw InvalidInput(
      code, fmt::format("{} at column {}\n  {}\n  {}^", problem, column - first + 1,
                        text.substr(first, last - first), std::string(column - first, ' ')));
}

}  // namespace

std::vector<Token> tokenize(std::string_view text, const char* code) {
  std::vector<Token> tokens;
  tokens.reserve(text.size() / 2 + 2);
  int depth = 0;
  for (std::size_t at = 0; at < text.size();) {
    if (std::isspace(static_cast<unsigned char>(text[at])) != 0) {
      ++at;
      continue;
    }
    std::size_t end = at + 1;
    TokenKind kind = TokenKind::symbol;
    if (is_name_start(text[at])) {
      kind = TokenKind::name;
      end = end_of_name(text, at);
      if (end + 1 < text.size() && text[end] == '$' && is_name_start(text[end + 1])) {
        end = end_of_name(text, end + 1);  // `a$tag`
      }
    } else if (is_digit(text[at]) ||
               (text[at] == '.' && at + 1 < text.size() && is_digit(text[at + 1]))) {
      kind = TokenKind::number;
      end = end_of_number(text, at);
    } else {
      const bool may_be_long = end < text.size() && joining.find(text[end]) != joining.npos;
      const auto found = std::find_if(
          may_be_long ? std::begin(long_symbols) : std::end(long_symbols), std::end(long_symbols),
          [&](std::string_view each) { return text.substr(at).starts_with(each); });
      if (found != std::end(long_symbols)) {
        end = at + found->size();
      } else if (std::string_view("+-*/%()[]{},<>=&|^:?;!~.").find(text[at]) ==
                 std::string_view::npos) {
        throw_at(text, at, code, fmt::format("'{}' has no meaning here", text[at]));
      }
    }
    if (text[at] == '(' || text[at] == '[') {
      ++depth;
    } else if (text[at] == ')' || text[at] == ']') {
      --depth;
    }
    if (depth > deepest_brackets) {  // readers call themselves for each bracket
      throw_at(text, at, code, "brackets are nested too deeply");
    }
    tokens.push_back({kind, std::string(text.substr(at, end - at)), at});
    at = end;
  }
  tokens.push_back({TokenKind::end, "", text.size()});
  return tokens;
}

TokenReader::TokenReader(std::string_view text, const char* code)
    : text_(text), code_(code), tokens_(tokenize(text, code)) {}

const Token& TokenReader::next() {
  const Token& token = peek();
  position_ = std::min(position_ + 1, tokens_.size() - 1);
  return token;
}

void TokenReader::expect(std::string_view symbol_or_name) {
  if (!accept(symbol_or_name)) {
    fail(fmt::format("expected '{}', found {}", symbol_or_name,
                     is_at_end() ? "the end" : fmt::format("'{}'", peek().text)));
  }
}

std::string TokenReader::expect_name(std::string_view what) {
  const std::size_t column = peek().column;
  std::string name = expect_tagged_name(what);
  if (name.find('$') != std::string::npos) {
    fail_at(column, fmt::format("expected {}, found '{}': only elements and calls that are read "
                                "take a tag, such as a$near[i]",
                                what, name));
  }
  return name;
}

std::string TokenReader::expect_tagged_name(std::string_view what) {
  if (peek().kind != TokenKind::name) {
    fail(fmt::format("expected {}, found {}", what,
                     is_at_end() ? "the end" : fmt::format("'{}'", peek().text)));
  }
  return next().text;
}

void TokenReader::fail(const std::string& problem) const {
  fail_at(peek().column, problem);
}

void TokenReader::fail_at(std::size_t column, const std::string& problem) const {
  throw_at(text_, column, code_, problem);
}

}  // namespace rtcg::loopy
