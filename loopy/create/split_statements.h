#pragma once
// Internal header: it is not installed.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace rtcg::loopy {

/// One statement with its number; a line that ends in an operator or within parentheses continues
/// on the next one.
struct StatementLine {
  std::string text;
  std::size_t number = 0;
};

/// The statements of a text, without comments. A semicolon in quoted C text ends no statement.
[[nodiscard]] std::vector<StatementLine> split_statements(std::string_view text);

}  // namespace rtcg::loopy
