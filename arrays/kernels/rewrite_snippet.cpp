// Snippets as text of a dialect, for given layouts of the arrays.
#include <fmt/format.h>

#include "rtcg/arrays/kernels/snippet_reader.h"

namespace rtcg::arrays::detail {
namespace {

class Rewriter {
 public:
  Rewriter(const std::vector<SnippetToken>& tokens, const SnippetNames& names)
      : tokens_(tokens), reader_(tokens), names_(names), vectors_(names.vectors) {
    for (std::size_t at = 0; at < tokens.size(); ++at) {
      if (reader_.is_free_name(at) && vector_named(tokens[at].text)) {
        add_declared(at + 1);
      }
    }
  }

  /// The tokens from `begin` to before `end`.
  std::string range(std::size_t begin, std::size_t end) {
    std::string result;
    for (std::size_t at = begin; at < end;) {
      if (at != begin || at == 0) {
        result += tokens_[at].blanks;
      }
      const auto array =
          reader_.is_free_name(at) ? names_.arrays.find(tokens_[at].text) : names_.arrays.end();
      if (array != names_.arrays.end()) {
        result += element(array->second, at);
        continue;
      }
      if (names_.dialect == cgen::Dialect::c && at > begin && is_lane_of_vector(at)) {
        result += fmt::format("[{}]", std::string_view("xyzw").find(tokens_[at + 1].text));
        at += 2;
        continue;
      }
      const auto other =
          reader_.is_free_name(at) ? names_.others.find(tokens_[at].text) : names_.others.end();
      result += other != names_.others.end() ? other->second : tokens_[at].text;
      ++at;
    }
    return result;
  }

 private:
  /// The variables of a declaration, from the end of its type on.
  void add_declared(std::size_t at) {
    for (; at < tokens_.size() && !reader_.is(at, ";") && !reader_.is(at, ")");) {
      while (at < tokens_.size() && (reader_.is(at, "*") || reader_.is(at, "const"))) {
        ++at;
      }
      if (at < tokens_.size() && tokens_[at].kind == TokenKind::name) {
        vectors_.insert(tokens_[at].text);
      }
      if (reader_.is(at + 1, "(")) {  // a function
        return;
      }
      at = reader_.after_value(at) + 1;  // the comma
    }
  }

  /// Whether `.x` at `at` is a component of a short vector that is not a struct in memory.
  [[nodiscard]] bool is_lane_of_vector(std::size_t at) const {
    if (!reader_.is_component(at)) {
      return false;
    }
    if (tokens_[at - 1].kind == TokenKind::name) {
      return vectors_.count(tokens_[at - 1].text) != 0;
    }
    const std::size_t open = reader_.opening(at - 1);
    if (reader_.is(at - 1, "]") && open > 0) {
      const auto array = names_.arrays.find(tokens_[open - 1].text);
      return array == names_.arrays.end() ? vectors_.count(tokens_[open - 1].text) != 0
                                          : is_vector(array->second.dtype) &&
                                                !is_packed(array->second.dtype, names_.dialect);
    }
    return reader_.is(at - 1, ")") && !vectors_.empty();
  }

  /// The use of an array that begins at `at`; moves `at` to its end.
  std::string element(const ArrayText& array, std::size_t& at) {
    if (!reader_.is(at + 1, "[")) {
      ++at;
      return array.pointer;
    }
    const std::size_t after = reader_.after_bracket(at + 1);
    const bool is_at_i = reader_.is(at + 2, "i") && reader_.is(at + 3, "]");
    std::string place = is_at_i && !array.element.empty()
                            ? array.element
                            : fmt::format("{}[{}{}{}]", array.pointer, array.before_place,
                                          range(at + 2, after - 1), array.after_place);
    at = after;
    if (array.has_struct || !converts(array.dtype)) {
      return place;
    }
    if (is_vector(array.dtype) && reader_.is_component(after)) {
      if (!is_half(array.dtype)) {
        return place;
      }
      at = after + 2;
      return converted({element_of(array.dtype), true}, place + "." + tokens_[after + 1].text, at);
    }
    if (is_vector(array.dtype) && !is_packed(array.dtype, names_.dialect)) {
      return place;
    }
    return converted({array.dtype, false}, place, at);
  }

  /// What is kept in memory otherwise than it is computed with.
  struct Kept {
    DType dtype;
    bool is_component;  ///< of a short vector
  };

  /// The element at that place, read or assigned; `at` is at its end, and after an assignment at
  /// the end of the value.
  std::string converted(const Kept& kept, const std::string& place, std::size_t& at) {
    if (at == tokens_.size() || !is_assignment(tokens_[at].text)) {
      return loaded(kept, place);
    }
    const std::string& symbol = tokens_[at].text;
    const std::size_t end = reader_.after_value(at + 1);
    std::string value = range(at + 1, end);
    if (symbol != "=") {
      value = fmt::format("{} {} ({})", loaded(kept, place), symbol.substr(0, symbol.size() - 1),
                          value);
    }
    at = end;
    return assigned(kept, place, value);
  }

  [[nodiscard]] bool is_opencl() const { return names_.dialect == cgen::Dialect::opencl; }

  [[nodiscard]] std::string loaded(const Kept& kept, const std::string& place) const {
    const DType dtype = kept.dtype;
    if (dtype == DType::f16) {  // many OpenCL devices have half in memory only, and in no struct
      return is_opencl() ? fmt::format("vload_half(0, {}&{})",
                                       kept.is_component ? "(const __global half *)" : "", place)
                         : fmt::format("((float){})", place);
    }
    if (is_vector(dtype)) {
      return fmt::format("{}_load(&{})", name(dtype), place);
    }
    return dtype == DType::boolean ? fmt::format("({} != 0)", place)
                                   : fmt::format("bfloat16_value({})", place);
  }
  [[nodiscard]] std::string assigned(const Kept& kept, const std::string& place,
                                     const std::string& value) const {
    const DType dtype = kept.dtype;
    if (dtype == DType::boolean) {
      return fmt::format("{} = ({}) != 0", place, value);
    }
    if (dtype == DType::bf16) {
      return fmt::format("{} = bfloat16_bits({})", place, value);
    }
    if (is_vector(dtype)) {
      return fmt::format("{}_store(&{}, {})", name(dtype), place, value);
    }
    if (is_opencl()) {
      return fmt::format("vstore_half((float)({}), 0, {}&{})", value,
                         kept.is_component ? "(__global half *)" : "", place);
    }
    return fmt::format("{} = {}({})", place,
                       names_.dialect == cgen::Dialect::cuda ? "__float2half" : "(_Float16)(float)",
                       value);
  }

  const std::vector<SnippetToken>& tokens_;
  SnippetReader reader_;
  const SnippetNames& names_;
  std::set<std::string> vectors_;
};

}  // namespace

const char* c_name(DType dtype) {
  switch (dtype) {
    case DType::i8:
      return "signed char";
    case DType::u8:
      return "unsigned char";
    case DType::i16:
      return "short";
    case DType::u16:
      return "unsigned short";
    case DType::i32:
      return "int";
    case DType::u32:
      return "unsigned int";
    case DType::i64:
      return "long";
    case DType::u64:
      return "unsigned long";
    case DType::f64:
      return "double";
    case DType::c64:
      return "complex64";
    case DType::c128:
      return "complex128";
    default:
      return "float";
  }
}

std::optional<DType> vector_named(std::string_view text) {
  for (int i = 0; i < dtype_count; ++i) {
    const auto element = static_cast<DType>(i);
    for (int lanes = 2; lanes <= 4 && has_vectors(element); ++lanes) {
      if (const DType vector = vector_of(element, lanes); name(vector) == text) {
        return vector;
      }
    }
  }
  return std::nullopt;
}

bool is_packed(DType dtype, cgen::Dialect dialect) {
  return is_half(dtype) || (lanes_of(dtype) == 3 && dialect != cgen::Dialect::cuda);
}

std::string with_components(const std::string& text, const SnippetNames& names) {
  const std::vector<SnippetToken> tokens = tokenize_snippet(text);
  return Rewriter(tokens, names).range(0, tokens.size());
}

std::string rewrite(const Snippet& snippet, const SnippetNames& names) {
  return Rewriter(snippet.tokens(), names).range(0, snippet.tokens().size());
}

}  // namespace rtcg::arrays::detail
