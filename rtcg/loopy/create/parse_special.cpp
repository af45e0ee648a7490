#include "rtcg/loopy/create/parse_special.h"

#include <charconv>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/symbolic/parse_expr.h"

namespace rtcg::loopy {
namespace {

[[noreturn]] void fail(const std::string& problem) {
  throw InvalidInput("loopy.parse_statements.syntax", problem);
}

std::string trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  return first == std::string_view::npos
             ? std::string()
             : std::string(text.substr(first, text.find_last_not_of(" \t") - first + 1));
}

/// The parts between commas outside of brackets.
std::vector<std::string> split_arguments(std::string_view text) {
  std::vector<std::string> parts;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t at = 0; at <= text.size(); ++at) {
    const char c = at < text.size() ? text[at] : ',';
    depth += c == '(' || c == '[' ? 1 : 0;
    depth -= c == ')' || c == ']' ? 1 : 0;
    if (at == text.size() || (c == ',' && depth == 0)) {
      parts.push_back(trimmed(text.substr(begin, at - begin)));
      begin = at + 1;
    }
  }
  return parts;
}

}  // namespace

ParsedCall parse_call(std::string_view text) {
  const std::size_t open = text.find('(');
  ParsedCall call{trimmed(text.substr(0, open)), {}};
  if (open == std::string_view::npos || !text.ends_with(')') || !is_identifier(call.callee)) {
    fail(
        fmt::format("'... call' takes a kernel and its arguments, such as f(x=a[i, _0]), found "
                    "'{}'",
                    text));
  }
  const std::string arguments = trimmed(text.substr(open + 1, text.size() - open - 2));
  if (arguments.empty()) {
    return call;
  }
  for (const std::string& item : split_arguments(arguments)) {
    const std::size_t equals = item.find('=');
    const bool is_named = equals != std::string::npos && item.compare(equals, 2, "==") != 0 &&
                          is_identifier(trimmed(item.substr(0, equals)));
    const std::string value = is_named ? trimmed(item.substr(equals + 1)) : item;
    static_cast<void>(parse_expr(value));
    call.bindings.emplace_back(is_named ? trimmed(item.substr(0, equals)) : "", value);
  }
  return call;
}

std::optional<CopyFence> parse_copy_fence(std::string_view text) {
  if (text == "commit copies") {
    return CopyFence{CopyFenceKind::commit, 0};
  }
  constexpr std::string_view begin = "wait for copies, but for ";
  constexpr std::string_view end = " groups";
  if (!text.starts_with(begin) || !text.ends_with(end) || text.size() < begin.size() + end.size()) {
    return std::nullopt;
  }
  const std::string_view digits =
      text.substr(begin.size(), text.size() - begin.size() - end.size());
  int count = 0;
  const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), count);
  const bool is_number = error == std::errc() && stop == digits.data() + digits.size();
  return is_number && count >= 0 ? std::optional(CopyFence{CopyFenceKind::wait, count})
                                 : std::nullopt;
}

std::optional<Temporary> parse_table(Temporary declared, const Expr& target, const Expr& value) {
  const Call* table = get_if<Call>(value);
  if (table == nullptr || table->function != "table") {
    return std::nullopt;
  }
  declared.shape = get_if<Access>(target)->indices;
  std::size_t count = 1;
  for (const Expr& length : declared.shape) {
    const auto number = as_integer(length);
    if (!number || *number <= 0) {
      fail(fmt::format("table '{}' needs a shape of constants", declared.name));
    }
    count *= static_cast<std::size_t>(*number);
  }
  if (table->arguments.size() != count) {
    fail(fmt::format("table '{}' has {} elements and {} values", declared.name, count,
                     table->arguments.size()));
  }
  declared.initial_values = table->arguments;
  return declared;
}

}  // namespace rtcg::loopy
