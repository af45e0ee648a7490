#include "rtcg/loopy/create/parse_functions.h"

#include <algorithm>
#include <sstream>

#include <fmt/format.h>

#include "rtcg/cgen/support/trimmed.h"
#include "rtcg/loopy/symbolic/invalid_line.h"
#include "rtcg/loopy/symbolic/parse_expr.h"

namespace rtcg::loopy {
namespace {

constexpr const char* syntax_code = "loopy.parse_functions.syntax";

/// C text without the blanks that all its lines begin with, and without empty lines around.
std::string without_indent(std::string_view text) {
  std::vector<std::string> lines;
  std::istringstream stream{std::string(text)};
  for (std::string line; std::getline(stream, line);) {
    line.erase(line.find_last_not_of(" \t\r") + 1);
    lines.push_back(line);
  }
  while (!lines.empty() && lines.back().empty()) {
    lines.pop_back();
  }
  while (!lines.empty() && lines.front().empty()) {
    lines.erase(lines.begin());
  }
  std::size_t indent = std::string::npos;
  for (const std::string& line : lines) {
    indent = std::min(indent, line.empty() ? indent : line.find_first_not_of(" \t"));
  }
  std::string result;
  for (const std::string& line : lines) {
    result += (result.empty() ? "" : "\n") + line.substr(std::min(indent, line.size()));
  }
  return result;
}

/// Cuts the text into what is outside of braces and what is in them.
class FunctionReader {
 public:
  explicit FunctionReader(std::string_view text) : text_(text) {}

  ParsedFunctions read() {
    while (true) {
      const std::string head = read_head();
      if (at_ == text_.size()) {
        if (!trimmed(head).empty()) {
          fail(fmt::format("'{}' has no code: write it in braces", trimmed(head)));
        }
        return std::move(result_);
      }
      add(std::string(trimmed(head)), without_indent(read_code()));
    }
  }

 private:
  [[noreturn]] void fail(const std::string& problem) const {
    const auto line =
        std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(head_at_), '\n');
    throw InvalidLine(syntax_code, static_cast<std::size_t>(line) + 1, problem);
  }

  /// Up to a brace or the end, without comments.
  std::string read_head() {
    std::string head;
    head_at_ = at_;
    for (; at_ < text_.size() && text_[at_] != '{'; ++at_) {
      if (text_[at_] == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size());
        if (at_ == text_.size()) {
          break;
        }
      }
      if (trimmed(head).empty()) {
        head_at_ = at_;
      }
      head += text_[at_];
    }
    return head;
  }

  /// What is between the brace and the one that closes it; texts and comments of C are skipped.
  std::string_view read_code() {
    const std::size_t begin = ++at_;
    for (int depth = 1; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      const std::string_view two = text_.substr(at_, 2);
      if (two == "//") {
        at_ = std::min(text_.find('\n', at_), text_.size()) - 1;
      } else if (two == "/*") {
        at_ = std::min(text_.find("*/", at_), text_.size() - 1);
      } else if (c == '"' || c == '\'') {
        do {
          at_ += at_ < text_.size() && text_[at_] == '\\' ? 2 : 1;
        } while (at_ < text_.size() && text_[at_] != c);
      } else if (c == '{') {
        ++depth;
      } else if (c == '}' && --depth == 0) {
        return text_.substr(begin, at_++ - begin);
      }
    }
    fail("a brace is not closed");
  }

  /// Takes the target that the head ends with, if it names one.
  static std::optional<Target> take_target(std::string& head) {
    const std::size_t begin = head.find_last_of(" \t\r\n") + 1;  // 0 where there is one word
    const std::optional<Target> target = find_target(std::string_view(head).substr(begin));
    if (target) {
      head = std::string(trimmed(head.substr(0, begin)));
    }
    return target;
  }

  void add(std::string head, std::string code) {
    const std::optional<Target> target = take_target(head);
    if (head == "preamble") {
      result_.preambles.push_back({target, std::move(code)});
      return;
    }
    if (!head.empty()) {
      result_.functions.push_back(read_signature(head));
    } else if (result_.functions.empty()) {
      fail(
          "this code belongs to no function: begin with its name, parameters and type, "
          "'f(x: f32): f32'");
    }
    result_.functions.back().bodies.push_back({target, c_body(std::move(code))});
  }

  TypedFunction read_signature(const std::string& head) const {
    try {
      return signature(head);
    } catch (const InvalidLine&) {
      throw;
    } catch (const InvalidInput& error) {
      fail(error.message());
    }
  }

  static cgen::Type read_type(TokenReader& reader) {
    const std::size_t column = reader.peek().column;
    const std::string name = reader.expect_name("a type");
    const auto type = parse_scalar_type(name);
    if (!type) {
      reader.fail_at(column,
                     fmt::format("'{}' is not a type: write f32, f64, i32, c64, f32x4, ...", name));
    }
    return *type;
  }

  static TypedFunction signature(const std::string& head) {
    TokenReader reader(head, syntax_code);
    TypedFunction function;
    function.name = reader.expect_name("the name of a function");
    reader.expect("(");
    while (!reader.accept(")")) {
      if (!function.parameters.empty()) {
        reader.expect(",");
      }
      std::vector<std::string> names;
      do {
        names.push_back(reader.expect_name("the name of a parameter"));
      } while (reader.accept(","));
      reader.expect(":");
      const cgen::Type type = read_type(reader);
      for (std::string& each : names) {
        function.parameters.push_back({std::move(each), type});
      }
    }
    reader.expect(":");
    function.result = read_type(reader);
    if (reader.accept("=")) {
      function.meaning = read_expr(reader);
    }
    if (!reader.is_at_end()) {
      reader.fail("expected '= MEANING', a target (host, opencl, cuda) or the code in braces");
    }
    return function;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t head_at_ = 0;
  ParsedFunctions result_;
};

}  // namespace

ParsedFunctions parse_functions(std::string_view text) {
  return FunctionReader(text).read();
}

}  // namespace rtcg::loopy
