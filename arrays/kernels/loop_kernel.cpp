#include "rtcg/arrays/kernels/loop_kernel.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "rtcg/arrays/kernels/typed_expression.h"
#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/check/check_kernel.h"
#include "rtcg/loopy/create/make_kernel.h"

namespace rtcg::arrays::detail {
namespace {

/// As the loop engine calls it.
std::string type_of(DType dtype) {
  const bool is_known = is_integer(dtype) || dtype == DType::f32 || dtype == DType::f64;
  if (!is_known) {
    refuse_loop(
        fmt::format("it has elements of {}, which the loop engine does not have", name(dtype)));
  }
  return std::string(name(dtype));
}

std::string text_of(const Snippet& snippet) {
  std::string result;
  for (const SnippetToken& token : snippet.tokens()) {
    result += (token.blanks.empty() ? "" : " ") + token.text;
  }
  return result;
}

/// Words that C and the loop engine do not both have, or read differently.
void check_words(const Snippet& snippet) {
  constexpr std::string_view foreign[] = {"{", "}",  "?",  "++", "--", "%",  "&",  "|",
                                          "^", "<<", ">>", "~",  "!",  "->", "&&", "||"};
  for (const auto& [name, use] : snippet.arrays()) {
    if (use.elsewhere || use.bare) {
      refuse_loop(fmt::format("'{}' is named other than by {}[i]", name, name));
    }
  }
  for (const SnippetToken& token : snippet.tokens()) {
    const bool is_foreign =
        token.kind == TokenKind::quoted || token.kind == TokenKind::directive ||
        (token.kind == TokenKind::symbol &&
         std::find(std::begin(foreign), std::end(foreign), token.text) != std::end(foreign));
    if (is_foreign) {
      refuse_loop(fmt::format("'{}' is C's alone", token.text));
    }
  }
}

}  // namespace

std::vector<std::string> loop_statements(const Snippet& snippet, bool has_more) {
  if (has_more) {
    refuse_loop("it has a preamble or statements before its loop");
  }
  check_words(snippet);
  std::vector<std::string> result(1);
  for (const SnippetToken& token : snippet.tokens()) {
    if (token.text == ";") {
      result.emplace_back();
    } else {
      result.back() += (token.blanks.empty() ? "" : " ") + token.text;
    }
  }
  result.erase(std::remove(result.begin(), result.end(), std::string()), result.end());
  return result;
}

std::optional<std::string> known_operation(const Snippet& join) {
  static const std::map<std::string, const char*> all = {
      {"a+b", "sum"},      {"b+a", "sum"},      {"a*b", "product"},   {"b*a", "product"},
      {"max(a,b)", "max"}, {"max(b,a)", "max"}, {"fmax(a,b)", "max"}, {"fmax(b,a)", "max"},
      {"min(a,b)", "min"}, {"min(b,a)", "min"}, {"fmin(a,b)", "min"}, {"fmin(b,a)", "min"}};
  const auto found = all.find(join.without_blanks());
  return found != all.end() ? std::optional<std::string>(found->second) : std::nullopt;
}

bool is_neutral(const Snippet& value, const std::string& operation) {
  const std::string text = value.without_blanks();
  if (operation == "max" || operation == "min") {
    return text == (operation == "max" ? "-INFINITY" : "INFINITY");
  }
  const std::string number = operation == "sum" ? "0" : "1";
  return text == number || text == number + "." || text == number + ".0" || text == number + ".f" ||
         text == number + ".0f";
}

std::string loop_reduction(const Snippet& reduce, const Snippet& neutral, const Snippet& map) {
  check_words(map);
  const std::optional<std::string> known = known_operation(reduce);
  if (!known || !is_neutral(neutral, *known)) {
    refuse_loop(fmt::format("'{}' from '{}' is not a reduction of the loop engine",
                            reduce.without_blanks(), neutral.without_blanks()));
  }
  return fmt::format("reduce({}, i, {})", *known, text_of(map));
}

loopy::Kernel element_loop_kernel(const std::vector<KernelArgument>& arguments,
                                  const std::vector<std::string>& statements,
                                  const std::string& name, std::optional<DType> result) {
  std::string types;
  bool is_exact = false;
  for (const KernelArgument& argument : arguments) {
    if (argument.name == "n" || argument.structure) {
      refuse_loop(fmt::format("argument '{}' has a name or type that the loop engine does not have",
                              argument.name));
    }
    is_exact = is_exact || is_integer(argument.dtype);
    types += fmt::format("{}: {}{}; ", argument.name, type_of(argument.dtype),
                         argument.is_array ? "[n]" : "");
  }
  if (result) {
    types += fmt::format("out: {}[1]; ", type_of(*result));
  }
  const std::string text = fmt::format("{}", fmt::join(statements, "\n"));
  if (is_exact && text.find('/') != std::string::npos) {
    refuse_loop("it divides integers, which C rounds toward 0");
  }
  try {
    loopy::Kernel kernel = loopy::make_kernel("{[i]: 0 <= i < n}", text,
                                              {.name = name,
                                               .arguments = types + "n: i32",
                                               .assumptions = "n >= 1",
                                               .sequential_dependencies = true});
    loopy::check_kernel(kernel);
    return kernel;
  } catch (const InvalidInput& error) {
    refuse_loop(error.what());
  } catch (const Unsupported& error) {
    refuse_loop(error.what());
  }
}

}  // namespace rtcg::arrays::detail
