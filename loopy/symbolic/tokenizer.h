#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace rtcg::loopy {

enum class TokenKind { name, number, symbol, end };

struct Token {
  TokenKind kind = TokenKind::end;
  std::string text{};
  std::size_t column = 0;  ///< from 0, in the text given
};

/// Names, numbers and symbols of kernel text; blanks are left out. Ends with a token of kind end.
///
/// @param code  of the error for text that is not a token, e.g. `loopy.parse_expr.syntax`
[[nodiscard]] std::vector<Token> tokenize(std::string_view text, const char* code);

/// Reads tokens from the front; what is not as it should be throws InvalidInput with the text, and
/// a mark below the place.
class TokenReader {
 public:
  TokenReader(std::string_view text, const char* code);

  [[nodiscard]] const Token& peek() const { return tokens_[position_]; }
  [[nodiscard]] const Token& peek(std::size_t ahead) const {
    return tokens_[std::min(position_ + ahead, tokens_.size() - 1)];
  }
  /// @param symbol_or_name  not empty
  [[nodiscard]] bool is_next(std::string_view symbol_or_name) const {
    const Token& token = peek();
    return token.text[0] == symbol_or_name[0] && token.text == symbol_or_name &&
           token.kind != TokenKind::number;
  }
  [[nodiscard]] bool is_at_end() const { return peek().kind == TokenKind::end; }
  const Token& next();
  /// Takes the token if it is next.
  bool accept(std::string_view symbol_or_name) {
    const bool is_there = is_next(symbol_or_name);
    position_ += is_there ? 1 : 0;  // the end follows every symbol
    return is_there;
  }
  void expect(std::string_view symbol_or_name);
  /// A name without a tag.
  [[nodiscard]] std::string expect_name(std::string_view what);
  /// A name that may have a tag, `a$near`: that of a rule.
  [[nodiscard]] std::string expect_tagged_name(std::string_view what);
  [[noreturn]] void fail(const std::string& problem) const;
  [[noreturn]] void fail_at(std::size_t column, const std::string& problem) const;
  [[nodiscard]] std::size_t position() const noexcept { return position_; }

 private:
  std::string text_;
  const char* code_;
  std::vector<Token> tokens_;
  std::size_t position_ = 0;
};

}  // namespace rtcg::loopy
