#include "rtcg/arrays/kernels/kernel_argument.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>

#include <fmt/format.h>

#include "rtcg/arrays/kernels/snippet.h"
#include "rtcg/cgen/build/struct_builder.h"
#include "rtcg/cgen/support/error.h"

namespace rtcg::arrays {
namespace {

using detail::SnippetToken;
using detail::TokenKind;

struct NamedType {
  std::string_view name;
  DType dtype;
};
constexpr NamedType named_types[] = {
    {"_Bool", DType::boolean},      {"float", DType::f32},
    {"double", DType::f64},         {"half", DType::f16},
    {"__half", DType::f16},         {"_Float16", DType::f16},
    {"float16", DType::f16},        {"bfloat16", DType::bf16},
    {"__nv_bfloat16", DType::bf16}, {"float32", DType::f32},
    {"float64", DType::f64},        {"bool", DType::boolean},
    {"uchar", DType::u8},           {"ushort", DType::u16},
    {"uint", DType::u32},           {"ulong", DType::u64},
    {"int8_t", DType::i8},          {"int16_t", DType::i16},
    {"int32_t", DType::i32},        {"int64_t", DType::i64},
    {"uint8_t", DType::u8},         {"uint16_t", DType::u16},
    {"uint32_t", DType::u32},       {"uint64_t", DType::u64},
    {"size_t", DType::u64},         {"ptrdiff_t", DType::i64},
    {"cfloat_t", DType::c64},       {"cdouble_t", DType::c128},
    {"complex64", DType::c64},      {"complex128", DType::c128},
    {"complex<float>", DType::c64}, {"complex<double>", DType::c128},
};
constexpr std::string_view integer_words[] = {"signed", "unsigned", "char", "short", "int", "long"};
constexpr std::string_view qualifiers[] = {"const",    "restrict", "__restrict__", "__restrict",
                                           "__global", "global",   "volatile",     "struct"};

bool contains(std::span<const std::string_view> words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

/// `unsigned long long`, in any order of its words.
std::optional<DType> integer_type(const std::vector<std::string>& words) {
  int bits = 32;
  int longs = 0;
  bool is_unsigned = false;
  for (const std::string& word : words) {
    if (!contains(integer_words, word)) {
      return std::nullopt;
    }
    is_unsigned = is_unsigned || word == "unsigned";
    longs += word == "long" ? 1 : 0;
    bits = word == "char" ? 8 : word == "short" ? 16 : word == "long" ? 64 : bits;
  }
  const int size = bits == 8 ? 0 : bits == 16 ? 1 : bits == 32 ? 2 : 3;
  constexpr DType types[2][4] = {{DType::i8, DType::i16, DType::i32, DType::i64},
                                 {DType::u8, DType::u16, DType::u32, DType::u64}};
  return words.empty() || longs > 2 ? std::nullopt
                                    : std::optional(types[is_unsigned ? 1 : 0][size]);
}

DType type_of_words(const std::vector<std::string>& words, std::string_view text) {
  if (const auto dtype = integer_type(words)) {
    return *dtype;
  }
  if (words.size() == 1) {
    for (const NamedType& type : named_types) {
      if (words[0] == type.name) {
        return type.dtype;
      }
    }
    for (int i = 0; i < dtype_count; ++i) {
      if (words[0] == name(static_cast<DType>(i))) {
        return static_cast<DType>(i);
      }
    }
    if (const auto vector = detail::vector_named(words[0])) {
      return *vector;
    }
  }
  throw InvalidInput(
      "arrays.parse_arguments.unknown_type",
      fmt::format("'{}' in '{}' is not a type of array elements: write C's names, as "
                  "unsigned int, or those of DType, as f32",
                  fmt::join(words, " "), text));
}

[[noreturn]] void throw_syntax(std::string_view text, const std::string& problem) {
  throw InvalidInput(
      "arrays.parse_arguments.syntax",
      fmt::format("{} in '{}': arguments are written as 'float a, float *x'", problem, text));
}

/// The tokens of one argument, with `ns::` left out and `complex < float >` as
/// one word.
struct Declaration {
  std::vector<std::string> words;
  int stars = 0;
  bool is_const = false;
};

Declaration read_declaration(std::span<const SnippetToken> tokens, std::string_view text) {
  Declaration result;
  std::string open;  // `complex<` until its `>`
  for (const SnippetToken& token : tokens) {
    if (token.text == "::" && !result.words.empty()) {
      result.words.pop_back();
    } else if (token.text == "<" && !result.words.empty()) {
      open = result.words.back() + "<";
      result.words.pop_back();
    } else if (token.text == ">" && !open.empty()) {
      result.words.push_back(open + ">");
      open.clear();
    } else if (!open.empty()) {
      open += token.text;
    } else if (token.text == "*") {
      ++result.stars;
    } else if (contains(qualifiers, token.text)) {
      // after the star, `const` applies to the pointer
      result.is_const = result.is_const || (token.text == "const" && result.stars == 0);
    } else if (token.kind == TokenKind::name) {
      result.words.push_back(token.text);
    } else {
      throw_syntax(text, fmt::format("unexpected '{}'", token.text));
    }
  }
  return result;
}

}  // namespace

DType parse_dtype(std::string_view text) {
  const Declaration declaration = read_declaration(detail::tokenize_snippet(text), text);
  if (declaration.stars != 0) {
    throw_syntax(text, "a pointer instead of an element");
  }
  return type_of_words(declaration.words, text);
}

KernelArgument struct_argument(const cgen::LaidOutStruct& type, std::string name) {
  return {std::move(name), DType::u8, true, false, std::make_shared<cgen::LaidOutStruct>(type)};
}

std::vector<KernelArgument> parse_arguments(std::string_view text) {
  return parse_arguments(text, {});
}

std::vector<KernelArgument> parse_arguments(std::string_view text,
                                            const std::vector<cgen::LaidOutStruct>& structs) {
  const std::vector<SnippetToken> tokens = detail::tokenize_snippet(text);
  std::vector<KernelArgument> result;
  if (tokens.empty()) {
    return result;
  }
  auto begin = tokens.begin();
  while (true) {
    const auto end = std::find_if(begin, tokens.end(),
                                  [](const SnippetToken& token) { return token.text == ","; });
    Declaration declaration = read_declaration({begin, end}, text);
    if (declaration.words.size() < 2) {
      throw_syntax(text, declaration.words.empty()
                             ? std::string("an argument is missing")
                             : fmt::format("no name or no type for '{}'", declaration.words[0]));
    }
    if (declaration.stars > 1) {
      throw_syntax(text, fmt::format("'{}' is a pointer to pointers", declaration.words.back()));
    }
    KernelArgument argument;
    argument.name = declaration.words.back();
    declaration.words.pop_back();
    const auto structure =
        std::find_if(structs.begin(), structs.end(), [&](const cgen::LaidOutStruct& one) {
          return declaration.words.size() == 1 && declaration.words[0] == one.name;
        });
    if (structure == structs.end()) {
      argument.dtype = type_of_words(declaration.words, text);
    } else if (declaration.stars == 0) {
      throw_syntax(text,
                   fmt::format("struct '{}' is not a number: write a pointer", argument.name));
    } else {
      argument = struct_argument(*structure, argument.name);
    }
    argument.is_array = declaration.stars == 1;
    argument.is_const = argument.is_array && declaration.is_const;
    result.push_back(std::move(argument));
    if (end == tokens.end()) {
      return result;
    }
    begin = end + 1;
  }
}

}  // namespace rtcg::arrays
