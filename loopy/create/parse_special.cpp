#include "rtcg/loopy/create/parse_special.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/cgen/support/trimmed.h"
#include "rtcg/loopy/symbolic/parse_expr.h"
#include "rtcg/loopy/symbolic/split_outside_brackets.h"
#include "rtcg/loopy/symbolic/traverse.h"

namespace rtcg::loopy {
namespace {

[[noreturn]] void fail(const std::string& problem) {
  throw InvalidInput("loopy.parse_statements.syntax", problem);
}

}  // namespace

ParsedCall parse_call(std::string_view text) {
  const std::size_t open = text.find('(');
  ParsedCall call{std::string(trimmed(text.substr(0, open))), {}};
  if (open == std::string_view::npos || !text.ends_with(')') || !is_identifier(call.callee)) {
    fail(
        fmt::format("'... call' takes a kernel and its arguments, such as f(x=a[i, _0]), found "
                    "'{}'",
                    text));
  }
  const std::string arguments(trimmed(text.substr(open + 1, text.size() - open - 2)));
  if (arguments.empty()) {
    return call;
  }
  for (const std::string& item : split_outside_brackets(arguments, ',')) {
    const std::size_t equals = item.find('=');
    const bool is_named = equals != std::string::npos && item.compare(equals, 2, "==") != 0 &&
                          is_identifier(trimmed(item.substr(0, equals)));
    const std::string value = is_named ? std::string(trimmed(item.substr(equals + 1))) : item;
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

Instruction with_manner(Instruction instruction, const std::string& manner,
                        const std::string& how) {
  const Assignment* assignment = get_if<Assignment>(instruction);
  if (assignment == nullptr) {
    fail(fmt::format("only assignments can be {}", manner));
  }
  const bool is_init = manner == "atomic" && how == "init";
  if (!how.empty() && !is_init && (manner != "atomic" || how != "update")) {
    fail(fmt::format("'{}={}' is not an option: there are atomic, atomic=update and atomic=init",
                     manner, how));
  }
  const std::string& name = target_name(assignment->targets.front());
  if (is_init && (accessed_arrays(assignment->value).count(name) != 0 ||
                  free_names(assignment->value).count(name) != 0)) {
    fail(
        fmt::format("'atomic=init' sets '{}' without its old value, but the value reads it", name));
  }
  Assignment copy = *assignment;
  (manner == "atomic" ? copy.is_atomic : copy.is_async_copy) = true;
  instruction.kind = std::move(copy);
  return instruction;
}

std::shared_ptr<const CallSite> parse_call_site(std::string_view text) {
  const std::size_t open = text.find('(');
  CallSite call{std::string(trimmed(text.substr(0, open))), {}, {}};
  std::vector<std::string> parts;
  if (open != std::string_view::npos && text.ends_with(')')) {
    parts = split_outside_brackets(text.substr(open + 1, text.size() - open - 2), ',');
  }
  if (!is_identifier(call.function) || parts.empty() || !is_identifier(parts.front())) {
    fail(fmt::format("a call is written f(site, a=x), found '{}'", text));
  }
  call.call = parts.front();
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const std::size_t equals = parts[i].find('=');
    if (equals == std::string::npos) {
      fail(fmt::format("'{}' does not say what a variable is called in the function", parts[i]));
    }
    call.parameter_names[std::string(trimmed(parts[i].substr(0, equals)))] =
        trimmed(parts[i].substr(equals + 1));
  }
  return std::make_shared<const CallSite>(std::move(call));
}

std::vector<std::pair<std::string, std::string>> parse_duplicates(std::string_view text) {
  std::vector<std::pair<std::string, std::string>> result;
  while (!text.empty()) {
    const std::string_view each = text.substr(0, text.find(':'));
    const std::size_t arrow = each.find("->");
    result.emplace_back(trimmed(each.substr(0, arrow)),
                        arrow == std::string_view::npos ? "" : trimmed(each.substr(arrow + 2)));
    text.remove_prefix(std::min(each.size() + 1, text.size()));
  }
  return result;
}

}  // namespace rtcg::loopy
