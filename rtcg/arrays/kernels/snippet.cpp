#include "rtcg/arrays/kernels/snippet.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"

namespace rtcg::arrays::detail {
namespace {

using Tokens = std::vector<SnippetToken>;

bool is_name_start(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_';
}
bool is_name_part(char c) {
  return is_name_start(c) || std::isdigit(static_cast<unsigned char>(c)) != 0;
}

[[noreturn]] void throw_syntax(std::string_view text, const std::string& problem) {
  throw InvalidInput("arrays.snippet.syntax", fmt::format("{} in '{}'", problem, text));
}

class Tokenizer {
 public:
  explicit Tokenizer(std::string_view text) : text_(text) {}

  Tokens run() {
    skip_blanks();
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (is_name_start(c)) {
        take(TokenKind::name, end_of([](char next) { return is_name_part(next); }));
      } else if (std::isdigit(static_cast<unsigned char>(c)) != 0 || starts_fraction()) {
        take(TokenKind::number, end_of_number());
      } else if (c == '"' || c == '\'') {
        take(TokenKind::quoted, end_of_quote(c));
      } else if (c == '#' && (tokens_.empty() || blanks_.find('\n') != std::string::npos)) {
        take(TokenKind::directive, end_of_directive());
      } else {
        take(TokenKind::symbol, at_ + symbol_length());
      }
      skip_blanks();
    }
    return std::move(tokens_);
  }

 private:
  void take(TokenKind kind, std::size_t end) {
    tokens_.push_back({kind, std::string(text_.substr(at_, end - at_)), std::move(blanks_)});
    blanks_.clear();
    at_ = end;
  }
  void skip_blanks() {
    while (at_ < text_.size()) {
      if (std::isspace(static_cast<unsigned char>(text_[at_])) != 0) {
        blanks_.push_back(text_[at_++]);
      } else if (text_.substr(at_, 2) == "//") {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (text_.substr(at_, 2) == "/*") {
        const std::size_t end = text_.find("*/", at_ + 2);
        if (end == std::string_view::npos) {
          throw_syntax(text_, "a comment without end");
        }
        at_ = end + 2;
        blanks_.push_back(' ');
      } else {
        return;
      }
    }
  }
  template <class Predicate>
  [[nodiscard]] std::size_t end_of(Predicate&& belongs) const {
    std::size_t end = at_ + 1;
    while (end < text_.size() && belongs(text_[end])) {
      ++end;
    }
    return end;
  }
  [[nodiscard]] bool starts_fraction() const {
    return text_[at_] == '.' && at_ + 1 < text_.size() &&
           std::isdigit(static_cast<unsigned char>(text_[at_ + 1])) != 0;
  }
  [[nodiscard]] std::size_t end_of_number() const {
    std::size_t end = at_ + 1;
    while (end < text_.size() &&
           (is_name_part(text_[end]) || text_[end] == '.' ||
            ((text_[end] == '+' || text_[end] == '-') &&
             std::string_view("eEpP").find(text_[end - 1]) != std::string_view::npos &&
             text_.substr(at_, 2) != "0x"))) {
      ++end;
    }
    return end;
  }
  [[nodiscard]] std::size_t end_of_quote(char quote) const {
    for (std::size_t end = at_ + 1; end < text_.size(); ++end) {
      if (text_[end] == '\\') {
        ++end;
      } else if (text_[end] == quote) {
        return end + 1;
      }
    }
    throw_syntax(text_, "a quote without end");
  }
  [[nodiscard]] std::size_t end_of_directive() const {
    std::size_t end = at_;
    while (end < text_.size() && (text_[end] != '\n' || text_[end - 1] == '\\')) {
      ++end;
    }
    return end;
  }
  [[nodiscard]] std::size_t symbol_length() const {
    constexpr std::string_view symbols[] = {"<<=", ">>=", "...", "::", "->", "++", "--", "<<",
                                            ">>",  "<=",  ">=",  "==", "!=", "&&", "||", "+=",
                                            "-=",  "*=",  "/=",  "%=", "&=", "|=", "^=", "##"};
    for (const std::string_view symbol : symbols) {
      if (text_.substr(at_, symbol.size()) == symbol) {
        return symbol.size();
      }
    }
    return 1;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string blanks_;
  Tokens tokens_;
};

bool is_assignment(std::string_view symbol) {
  return symbol == "=" || (symbol.size() >= 2 && symbol.back() == '=' && symbol != "==" &&
                           symbol != "!=" && symbol != "<=" && symbol != ">=");
}
bool is_step(std::string_view symbol) {
  return symbol == "++" || symbol == "--";
}
/// Elements whose memory holds something else than what is computed with.
bool converts(DType dtype) {
  return dtype == DType::boolean || dtype == DType::f16 || dtype == DType::bf16;
}

}  // namespace

std::vector<SnippetToken> tokenize_snippet(std::string_view text) {
  Tokens tokens = Tokenizer(text).run();
  std::string open;
  for (const SnippetToken& token : tokens) {
    if (token.kind != TokenKind::symbol) {
      continue;
    }
    if (token.text == "(" || token.text == "[" || token.text == "{") {
      open += token.text == "(" ? ')' : token.text == "[" ? ']' : '}';
    } else if (token.text == ")" || token.text == "]" || token.text == "}") {
      if (open.empty() || open.back() != token.text[0]) {
        throw_syntax(text, fmt::format("'{}' without its partner", token.text));
      }
      open.pop_back();
    }
  }
  if (!open.empty()) {
    throw_syntax(text, fmt::format("a bracket without its '{}'", open.back()));
  }
  return tokens;
}

/// What a place in a list of tokens is about. Brackets match.
class SnippetReader {
 public:
  explicit SnippetReader(const Tokens& tokens) : tokens_(tokens) {}

  [[nodiscard]] bool is(std::size_t at, std::string_view text) const {
    return at < tokens_.size() && tokens_[at].text == text && tokens_[at].kind != TokenKind::quoted;
  }
  /// A name that is no member of something.
  [[nodiscard]] bool is_free_name(std::size_t at) const {
    return tokens_[at].kind == TokenKind::name &&
           (at == 0 || (!is(at - 1, ".") && !is(at - 1, "->") && !is(at - 1, "::")));
  }
  /// Behind the bracket that closes the one at `open`.
  [[nodiscard]] std::size_t behind_bracket(std::size_t open) const {
    int depth = 0;
    for (std::size_t at = open;; ++at) {
      if (tokens_[at].kind == TokenKind::symbol) {
        depth += is(at, "(") || is(at, "[") || is(at, "{") ? 1 : 0;
        depth -= is(at, ")") || is(at, "]") || is(at, "}") ? 1 : 0;
      }
      if (depth == 0) {
        return at + 1;
      }
    }
  }
  /// Behind the value that begins at `at` and is assigned.
  [[nodiscard]] std::size_t behind_value(std::size_t at) const {
    while (at < tokens_.size()) {
      if (is(at, "(") || is(at, "[") || is(at, "{")) {
        at = behind_bracket(at);
      } else if (is(at, ";") || is(at, ",") || is(at, ")") || is(at, "]") || is(at, "}") ||
                 is(at, ":")) {
        break;
      } else if (is(at, "?")) {  // its colon belongs to it
        ++at;
        while (at < tokens_.size() && !is(at, ":")) {
          at = is(at, "(") || is(at, "[") || is(at, "{") ? behind_bracket(at) : at + 1;
        }
        ++at;
      } else {
        ++at;
      }
    }
    return std::min(at, tokens_.size());
  }
  /// Whether what begins at `first` and ends before `behind` is written:
  /// assigned to, stepped, or its address taken. Members of it count as the
  /// whole.
  [[nodiscard]] bool is_written(std::size_t first, std::size_t behind) const {
    while (is(behind, ".") && behind + 1 < tokens_.size()) {
      behind += 2;
    }
    if (behind < tokens_.size() && tokens_[behind].kind == TokenKind::symbol &&
        (is_assignment(tokens_[behind].text) || is_step(tokens_[behind].text))) {
      return true;
    }
    return is_stepped_before(first) || is_address_taken(first);
  }
  [[nodiscard]] bool is_stepped_before(std::size_t first) const {
    return first > 0 && (is(first - 1, "++") || is(first - 1, "--"));
  }
  [[nodiscard]] bool is_address_taken(std::size_t first) const {
    if (first == 0 || !is(first - 1, "&")) {
      return false;
    }
    if (first == 1) {
      return true;
    }
    const SnippetToken& left = tokens_[first - 2];
    return left.kind == TokenKind::symbol && left.text != ")" && left.text != "]";
  }

  void study(Snippet& snippet, const std::vector<KernelArgument>& arguments) const {
    for (std::size_t at = 0; at < tokens_.size(); ++at) {
      if (tokens_[at].kind == TokenKind::name) {
        snippet.names_.insert(tokens_[at].text);
      }
      if (!is_free_name(at)) {
        continue;
      }
      const std::string& name = tokens_[at].text;
      const auto argument =
          std::find_if(arguments.begin(), arguments.end(),
                       [&](const KernelArgument& one) { return one.name == name; });
      if (argument == arguments.end()) {
        const bool is_index = at > 1 && is(at - 1, "[") && is(at + 1, "]") &&
                              snippet.arrays_.count(tokens_[at - 2].text) != 0;
        snippet.uses_place_ = snippet.uses_place_ || (name == "i" && !is_index);
        if (name == "return") {
          throw InvalidInput("arrays.snippet.return",
                             "a snippet is part of a loop over many elements "
                             "and cannot return: "
                             "write continue, or put the statements in an if");
        }
      } else if (argument->is_array) {
        study_array(snippet, *argument, at);
      }
    }
  }

 private:
  void study_array(Snippet& snippet, const KernelArgument& argument, std::size_t at) const {
    ArrayUse& use = snippet.arrays_[argument.name];
    if (!is(at + 1, "[")) {
      use.bare = true;
      use.is_written = use.is_written || !argument.is_const;
      return;
    }
    const bool is_at_i = is(at + 2, "i") && is(at + 3, "]");
    use.at_i = use.at_i || is_at_i;
    use.elsewhere = use.elsewhere || !is_at_i;
    const std::size_t behind = behind_bracket(at + 1);
    if (!is_written(at, behind)) {
      return;
    }
    if (argument.is_const) {
      throw InvalidInput(
          "arrays.snippet.const_array",
          fmt::format("the snippet writes '{}', which is declared const", argument.name));
    }
    use.is_written = true;
    const bool is_plain = behind < tokens_.size() && is_assignment(tokens_[behind].text);
    if (converts(argument.dtype) && !is_plain) {
      throw InvalidInput("arrays.snippet.bad_write",
                         fmt::format("elements of '{}' are {}, which is converted when it is "
                                     "written: assign with "
                                     "= or += instead of stepping it or taking its address",
                                     argument.name, arrays::name(argument.dtype)));
    }
  }

  const Tokens& tokens_;
};

Snippet::Snippet(std::string_view text, const std::vector<KernelArgument>& arguments)
    : tokens_(tokenize_snippet(text)) {
  SnippetReader(tokens_).study(*this, arguments);
}

namespace {

class Rewriter {
 public:
  Rewriter(const Tokens& tokens, const SnippetNames& names)
      : tokens_(tokens), reader_(tokens), names_(names) {}

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
      const auto other =
          reader_.is_free_name(at) ? names_.others.find(tokens_[at].text) : names_.others.end();
      result += other != names_.others.end() ? other->second : tokens_[at].text;
      ++at;
    }
    return result;
  }

 private:
  /// The use of an array that begins at `at`, which goes behind it.
  std::string element(const ArrayText& array, std::size_t& at) {
    if (!reader_.is(at + 1, "[")) {
      ++at;
      return array.pointer;
    }
    const std::size_t behind = reader_.behind_bracket(at + 1);
    const bool is_at_i = reader_.is(at + 2, "i") && reader_.is(at + 3, "]");
    std::string place = is_at_i && !array.element.empty()
                            ? array.element
                            : fmt::format("{}[{}{}{}]", array.pointer, array.before_place,
                                          range(at + 2, behind - 1), array.after_place);
    at = behind;
    if (!converts(array.dtype)) {
      return place;
    }
    if (behind < tokens_.size() && is_assignment(tokens_[behind].text)) {
      const std::size_t end = reader_.behind_value(behind + 1);
      std::string value = range(behind + 1, end);
      if (tokens_[behind].text != "=") {
        const std::string& symbol = tokens_[behind].text;
        value = fmt::format("{} {} ({})", loaded(array.dtype, place),
                            symbol.substr(0, symbol.size() - 1), value);
      }
      at = end;
      return assigned(array.dtype, place, value);
    }
    return loaded(array.dtype, place);
  }

  [[nodiscard]] bool is_opencl() const { return names_.dialect == cgen::Dialect::opencl; }

  [[nodiscard]] std::string loaded(DType dtype, const std::string& place) const {
    if (dtype == DType::f16) {  // many OpenCL devices have half in memory only
      return is_opencl() ? fmt::format("vload_half(0, &{})", place)
                         : fmt::format("((float){})", place);
    }
    return dtype == DType::boolean ? fmt::format("({} != 0)", place)
                                   : fmt::format("bfloat16_value({})", place);
  }
  [[nodiscard]] std::string assigned(DType dtype, const std::string& place,
                                     const std::string& value) const {
    if (dtype == DType::boolean) {
      return fmt::format("{} = ({}) != 0", place, value);
    }
    if (dtype == DType::bf16) {
      return fmt::format("{} = bfloat16_bits({})", place, value);
    }
    if (is_opencl()) {
      return fmt::format("vstore_half((float)({}), 0, &{})", value, place);
    }
    return fmt::format("{} = {}({})", place,
                       names_.dialect == cgen::Dialect::cuda ? "__float2half" : "(_Float16)(float)",
                       value);
  }

  const Tokens& tokens_;
  SnippetReader reader_;
  const SnippetNames& names_;
};

}  // namespace

std::string rewrite(const Snippet& snippet, const SnippetNames& names) {
  return Rewriter(snippet.tokens(), names).range(0, snippet.tokens().size());
}

}  // namespace rtcg::arrays::detail
