#include "rtcg/loopy/kernel/parse_recipe.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/cgen/support/trimmed.h"
#include "rtcg/loopy/symbolic/invalid_line.h"

namespace rtcg::loopy {
namespace {

constexpr std::string_view blanks = " \t\r\n";

/// The length of `name=` at the front, 0 where there is none; `==` is a comparison.
std::size_t option_prefix(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || text.substr(equals, 2) == "==") {
    return 0;
  }
  return is_identifier(trimmed(text.substr(0, equals))) ? equals + 1 : 0;
}

/// Whether an item would be read as something else without quotes.
bool needs_quotes(std::string_view text) {
  if (text.empty() || trimmed(text) != text || text.front() == '"' || option_prefix(text) != 0) {
    return true;
  }
  std::string open;
  for (const char c : text) {
    if (c == '"' || c == '\n' || (c == ',' && open.empty())) {
      return true;
    }
    if (c == '(' || c == '[') {
      open += c == '(' ? ')' : ']';
    } else if (c == ')' || c == ']') {
      if (open.empty() || open.back() != c) {
        return true;
      }
      open.pop_back();
    }
  }
  return !open.empty();
}

std::string quoted_if_needed(const std::string& text) {
  if (!needs_quotes(text)) {
    return text;
  }
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      result += '\\';
    }
    result += c;
  }
  return result + '"';
}

class RecipeReader {
 public:
  explicit RecipeReader(std::string_view text) : text_(text) {}

  [[nodiscard]] std::vector<RecipeStep> read_all() {
    std::vector<RecipeStep> steps;
    for (skip_between_steps(); place_ < text_.size(); skip_between_steps()) {
      steps.push_back(read_step());
    }
    return steps;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    const auto line =
        1 + std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(place_), '\n');
    throw InvalidLine("loopy.parse_recipe.syntax", fmt::format("line {} of the recipe", line),
                      static_cast<std::size_t>(line), what);
  }
  void skip(std::string_view characters) {
    place_ = std::min(text_.find_first_not_of(characters, place_), text_.size());
  }
  void skip_between_steps() {
    for (skip(" \t\r\n;"); place_ < text_.size() && text_[place_] == '#'; skip(" \t\r\n;")) {
      place_ = std::min(text_.find('\n', place_), text_.size());
    }
  }
  RecipeStep read_step() {
    const std::size_t bracket = text_.find_first_of("(\n;#", place_);
    RecipeStep step;
    step.transformation = trimmed(text_.substr(place_, bracket - place_));
    if (bracket == std::string_view::npos || text_[bracket] != '(' ||
        !is_identifier(step.transformation)) {
      fail(fmt::format("expected a step like 'split_iname(i, 16)', found '{}'",
                       text_.substr(place_, bracket - place_)));
    }
    place_ = bracket + 1;
    skip(blanks);
    if (peek() == ')') {
      ++place_;
      return step;
    }
    while (true) {
      read_item(step);
      const char end = peek();
      ++place_;
      if (end == ')') {
        return step;
      }
    }
  }
  [[nodiscard]] char peek() const {
    if (place_ >= text_.size()) {
      fail("a closing bracket is missing");
    }
    return text_[place_];
  }
  /// An argument or option, up to the comma or bracket after it.
  void read_item(RecipeStep& step) {
    skip(blanks);
    const std::size_t end = end_of_item();
    std::string_view item = trimmed(text_.substr(place_, end - place_));
    const std::size_t prefix = item.starts_with('"') ? 0 : option_prefix(item);
    std::string value = unquoted(trimmed(item.substr(prefix)));
    if (item.empty()) {
      fail("an argument is missing");
    }
    if (prefix == 0) {
      step.arguments.push_back(std::move(value));
    } else {
      step.options[std::string(trimmed(item.substr(0, prefix - 1)))] = std::move(value);
    }
    place_ = end;
  }
  [[nodiscard]] std::size_t end_of_item() const {
    int depth = 0;
    bool is_quoted = false;
    for (std::size_t i = place_; i < text_.size(); ++i) {
      const char c = text_[i];
      if (is_quoted) {
        i += c == '\\' ? 1 : 0;
        is_quoted = c != '"';
      } else if (c == '"') {
        is_quoted = true;
      } else if (c == '(' || c == '[') {
        ++depth;
      } else if ((c == ',' || c == ')') && depth == 0) {
        return i;
      } else if (c == ')' || c == ']') {
        --depth;
      }
    }
    fail("a closing bracket or quote is missing");
  }
  [[nodiscard]] std::string unquoted(std::string_view text) const {
    if (!text.starts_with('"')) {
      return std::string(text);
    }
    std::string result;
    for (std::size_t i = 1; i < text.size(); ++i) {
      if (text[i] == '"') {
        if (i + 1 != text.size()) {
          fail("something follows a closing quote");
        }
        return result;
      }
      i += text[i] == '\\' ? 1 : 0;
      result += i < text.size() ? text[i] : ' ';
    }
    fail("a closing quote is missing");
  }

  std::string_view text_;
  std::size_t place_ = 0;
};

}  // namespace

std::string to_string(const RecipeStep& step) {
  std::vector<std::string> items;
  for (const std::string& argument : step.arguments) {
    items.push_back(quoted_if_needed(argument));
  }
  for (const auto& [option, value] : step.options) {
    items.push_back(fmt::format("{}={}", option, quoted_if_needed(value)));
  }
  return fmt::format("{}({})", step.transformation, fmt::join(items, ", "));
}

std::vector<RecipeStep> parse_recipe(std::string_view text) {
  return RecipeReader(text).read_all();
}

}  // namespace rtcg::loopy
