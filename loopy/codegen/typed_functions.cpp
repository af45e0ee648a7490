#include "rtcg/loopy/codegen/typed_functions.h"

#include <algorithm>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/codegen/target_names.h"
#include "rtcg/loopy/codegen/target_rules.h"
#include "rtcg/loopy/symbolic/traverse.h"

namespace rtcg::loopy {
namespace {

bool is_word_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool mentions_word(const std::string& text, const std::string& word) {
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || !is_word_letter(text[at - 1])) &&
        (end == text.size() || !is_word_letter(text[end]))) {
      return true;
    }
  }
  return false;
}

NameSet called_by_statements(const Kernel& kernel) {
  NameSet called;
  for (const Instruction& instruction : kernel.instructions) {
    for_each_expression(instruction,
                        [&](const Expr& expr) { called.merge(called_functions(expr)); });
    if (const RawCode* raw = get_if<RawCode>(instruction)) {
      for (const TypedFunction& function : kernel.functions) {
        if (mentions_word(raw->text, function.name)) {
          called.insert(function.name);
        }
      }
    }
  }
  return called;
}

cgen::Statement definition_of(const TypedFunction& function, const TypedFunction::Body& body) {
  cgen::Function result;
  result.result = function.result;
  result.name = function.name;
  for (const TypedFunction::Parameter& parameter : function.parameters) {
    result.parameters.push_back({parameter.type, parameter.name});
  }
  result.body = is<cgen::Block>(body.code) ? body.code : cgen::Block{{body.code}};
  result.specifiers.is_static = true;
  result.specifiers.is_inline = true;
  result.specifiers.is_device = true;
  return result;
}

}  // namespace

std::vector<cgen::Statement> preambles_of(const Kernel& kernel, Target target) {
  std::vector<cgen::Statement> result;
  const bool has_text =
      std::any_of(kernel.functions.begin(), kernel.functions.end(),
                  [](const TypedFunction& function) { return !has_tree(function); });
  if (target == Target::host && has_text) {
    // device code has its functions without a header
    result.emplace_back(cgen::Include{"math.h", true});
  }
  for (const Preamble& preamble : kernel.preambles) {
    if (!preamble.target || preamble.target == target) {
      result.push_back(c_body(preamble.text));
    }
  }
  return result;
}

std::vector<cgen::Statement> definitions_of_functions(const Kernel& kernel, Target target) {
  if (kernel.functions.empty()) {
    return {};
  }
  const NameSet called = called_by_statements(kernel);
  NameSet needed;
  // from the last one: a function mentions those before it
  for (std::size_t i = kernel.functions.size(); i-- > 0;) {
    const TypedFunction& function = kernel.functions[i];
    const bool is_mentioned =
        std::any_of(needed.begin(), needed.end(), [&](const std::string& each) {
          const auto* body = find_body(*find_typed_function(kernel, each), target);
          const auto* raw = body != nullptr ? get_if<cgen::RawStatement>(body->code) : nullptr;
          return raw != nullptr && mentions_word(raw->text, function.name);
        });
    if (called.count(function.name) != 0 || is_mentioned) {
      needed.insert(function.name);
    }
  }
  std::vector<cgen::Statement> result;
  for (const TypedFunction& function : kernel.functions) {
    if (needed.count(function.name) == 0) {
      continue;
    }
    const cgen::Dialect dialect = target_rules(target).dialect;
    if (is_reserved_function(dialect, function.name)) {
      throw InvalidInput("loopy.generate.reserved_name",
                         fmt::format("the function '{}' of kernel '{}' has a name that {} or its "
                                     "library uses: choose another one",
                                     function.name, kernel.name, cgen::name(dialect)));
    }
    const TypedFunction::Body* body = find_body(function, target);
    if (body == nullptr) {
      throw Unsupported(
          "loopy.generate.function_target",
          fmt::format("the function '{}', which kernel '{}' calls, has no code for {}: add it, or "
                      "code for all targets",
                      function.name, kernel.name, target_word(target)));
    }
    result.push_back(definition_of(function, *body));
  }
  return result;
}

}  // namespace rtcg::loopy
