#include "rtcg/loopy/kernel/typed_function.h"

#include <algorithm>
#include <sstream>

#include <fmt/format.h>

#include "rtcg/cgen/ast/statement.h"
#include "rtcg/loopy/symbolic/print_expr.h"

namespace rtcg::loopy {
namespace {

constexpr Target all_targets[] = {Target::host, Target::opencl, Target::cuda};

/// `{ text }`, or the text on lines of its own.
std::string in_braces(const std::string& text) {
  if (text.find('\n') == std::string::npos) {
    return "{ " + text + " }";
  }
  std::string result = "{\n";
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    result += (line.empty() ? "" : "    " + line) + "\n";
  }
  return result + "  }";
}

std::string target_prefix(const std::optional<Target>& target) {
  return target ? std::string(target_word(*target)) + " " : std::string();
}

}  // namespace

cgen::Statement c_body(std::string text) {
  // of unknown origin: what a compiler refuses of it is the user's text
  return {cgen::RawStatement{std::move(text), {}, {}}, SourceOrigin{}};
}

const TypedFunction::Body* find_body(const TypedFunction& function, Target target) {
  const TypedFunction::Body* of_all = nullptr;
  for (const TypedFunction::Body& body : function.bodies) {
    if (body.target == target) {
      return &body;
    }
    of_all = !body.target ? &body : of_all;
  }
  return of_all;
}

std::string_view target_word(Target target) {
  constexpr std::string_view words[] = {"host", "opencl", "cuda"};
  return words[static_cast<int>(target)];
}

std::optional<Target> find_target(std::string_view word) {
  for (const Target each : all_targets) {
    if (target_word(each) == word) {
      return each;
    }
  }
  return std::nullopt;
}

std::string to_string(const TypedFunction& function) {
  std::string text = function.name + "(";
  for (std::size_t i = 0; i < function.parameters.size(); ++i) {
    const TypedFunction::Parameter& parameter = function.parameters[i];
    text += fmt::format("{}{}: {}", i == 0 ? "" : ", ", parameter.name,
                        scalar_type_name(parameter.type));
  }
  text += "): " + scalar_type_name(function.result);
  if (function.meaning) {
    text += " = " + to_string(*function.meaning);
  }
  for (const TypedFunction::Body& body : function.bodies) {
    const auto* raw = get_if<cgen::RawStatement>(body.code);
    text += "\n  " + target_prefix(body.target) +
            (raw != nullptr ? in_braces(raw->text)
                            : fmt::format("{{ tree {:016x} }}", body.code.hash()));
  }
  return text;
}

std::string to_string(const Preamble& preamble) {
  return "preamble " + target_prefix(preamble.target) + in_braces(preamble.text);
}

bool has_tree(const TypedFunction& function) {
  return std::any_of(
      function.bodies.begin(), function.bodies.end(),
      [](const TypedFunction::Body& body) { return !is<cgen::RawStatement>(body.code); });
}

}  // namespace rtcg::loopy
