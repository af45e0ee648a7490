#pragma once
// Internal header: it is not installed.

#include <algorithm>

#include "rtcg/arrays/kernels/snippet.h"

// The tokens of snippets, and what they refer to.

namespace rtcg::arrays::detail {

inline bool is_assignment(std::string_view symbol) {
  return symbol == "=" || (symbol.size() >= 2 && symbol.back() == '=' && symbol != "==" &&
                           symbol != "!=" && symbol != "<=" && symbol != ">=");
}
inline bool is_step(std::string_view symbol) {
  return symbol == "++" || symbol == "--";
}
/// Elements whose type in memory is not the type of their values.
inline bool converts(DType dtype) {
  return dtype == DType::boolean || is_half(dtype) || lanes_of(dtype) == 3;
}
inline bool is_lane(std::string_view name) {
  return name.size() == 1 && std::string_view("xyzw").find(name) != std::string_view::npos;
}

/// The meaning of a place in a list of tokens. Brackets match.
class SnippetReader {
 public:
  explicit SnippetReader(const std::vector<SnippetToken>& tokens) : tokens_(tokens) {}

  [[nodiscard]] bool is(std::size_t at, std::string_view text) const {
    return at < tokens_.size() && tokens_[at].text == text && tokens_[at].kind != TokenKind::quoted;
  }
  /// A name that is not a member.
  [[nodiscard]] bool is_free_name(std::size_t at) const {
    return tokens_[at].kind == TokenKind::name &&
           (at == 0 || (!is(at - 1, ".") && !is(at - 1, "->") && !is(at - 1, "::")));
  }
  /// The place after the bracket that closes the one at `open`.
  [[nodiscard]] std::size_t after_bracket(std::size_t open) const {
    int depth = 0;
    for (std::size_t at = open;; ++at) {
      if (tokens_[at].kind == TokenKind::symbol) {
        depth += is(at, "(") || is(at, "[") || is(at, "{") ? 1 : 0;
        depth -= is(at, ")") || is(at, "]") || is(at, "}") ? 1 : 0;
      }
      if (depth == 0) {
        return at + 1;
      }
    }
  }
  /// The place after the assigned value that begins at `at`.
  [[nodiscard]] std::size_t after_value(std::size_t at) const {
    while (at < tokens_.size()) {
      if (is(at, "(") || is(at, "[") || is(at, "{")) {
        at = after_bracket(at);
      } else if (is(at, ";") || is(at, ",") || is(at, ")") || is(at, "]") || is(at, "}") ||
                 is(at, ":")) {
        break;
      } else if (is(at, "?")) {  // its colon belongs to it
        ++at;
        while (at < tokens_.size() && !is(at, ":")) {
          at = is(at, "(") || is(at, "[") || is(at, "{") ? after_bracket(at) : at + 1;
        }
        ++at;
      } else {
        ++at;
      }
    }
    return std::min(at, tokens_.size());
  }
  /// Whether the value in the tokens from `first` to before `after` is written: assigned,
  /// incremented or decremented, or its address taken. Writing a member counts too.
  [[nodiscard]] bool is_written(std::size_t first, std::size_t after) const {
    while ((is(after, ".") && after + 1 < tokens_.size()) || is(after, "[")) {
      after = is(after, ".") ? after + 2 : after_bracket(after);
    }
    if (after < tokens_.size() && tokens_[after].kind == TokenKind::symbol &&
        (is_assignment(tokens_[after].text) || is_step(tokens_[after].text))) {
      return true;
    }
    return is_stepped_before(first) || is_address_taken(first);
  }
  [[nodiscard]] bool is_stepped_before(std::size_t first) const {
    return first > 0 && (is(first - 1, "++") || is(first - 1, "--"));
  }
  [[nodiscard]] bool is_address_taken(std::size_t first) const {
    if (first == 0 || !is(first - 1, "&")) {
      return false;
    }
    if (first == 1) {
      return true;
    }
    const SnippetToken& left = tokens_[first - 2];
    return left.kind == TokenKind::symbol && left.text != ")" && left.text != "]";
  }

  /// `v.x` of the expression that ends before `at`.
  [[nodiscard]] bool is_component(std::size_t at) const {
    return is(at, ".") && at + 1 < tokens_.size() && is_lane(tokens_[at + 1].text);
  }
  /// Where the bracket opens that closes at `close`.
  [[nodiscard]] std::size_t opening(std::size_t close) const {
    int depth = 0;
    for (std::size_t at = close;; --at) {
      depth += is(at, ")") || is(at, "]") ? 1 : 0;
      depth -= is(at, "(") || is(at, "[") ? 1 : 0;
      if (depth == 0 || at == 0) {
        return at;
      }
    }
  }

 private:
  const std::vector<SnippetToken>& tokens_;
};

}  // namespace rtcg::arrays::detail
