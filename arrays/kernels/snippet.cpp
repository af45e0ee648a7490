#include "rtcg/arrays/kernels/snippet.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "rtcg/arrays/kernels/snippet_reader.h"
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

/// Finds what a snippet does with its arguments.
class SnippetStudy {
 public:
  explicit SnippetStudy(const Tokens& tokens) : tokens_(tokens), reader_(tokens) {}

  void run(Snippet& snippet, const std::vector<KernelArgument>& arguments) const {
    int depth = 0;
    for (std::size_t at = 0; at < tokens_.size(); ++at) {
      depth += reader_.is(at, "(") || reader_.is(at, "[") || reader_.is(at, "{") ? 1 : 0;
      depth -= reader_.is(at, ")") || reader_.is(at, "]") || reader_.is(at, "}") ? 1 : 0;
      if (tokens_[at].kind == TokenKind::name) {
        snippet.names_.insert(tokens_[at].text);
      }
      if (!reader_.is_free_name(at)) {
        continue;
      }
      const std::string& name = tokens_[at].text;
      const auto argument =
          std::find_if(arguments.begin(), arguments.end(),
                       [&](const KernelArgument& one) { return one.name == name; });
      if (argument == arguments.end()) {
        const bool is_index = at > 1 && reader_.is(at - 1, "[") && reader_.is(at + 1, "]") &&
                              snippet.arrays_.count(tokens_[at - 2].text) != 0;
        snippet.uses_place_ = snippet.uses_place_ || (name == "i" && !is_index);
        if (name == "return") {
          throw InvalidInput("arrays.snippet.return",
                             "a snippet is part of a loop over many elements "
                             "and cannot return: "
                             "write continue, or put the statements in an if");
        }
      } else if (argument->is_array) {
        const bool is_first = snippet.arrays_.count(name) == 0;
        study_array(snippet, *argument, at);
        snippet.arrays_[name].is_filled =
            is_first ? depth == 0 && is_filled(snippet, at) : snippet.arrays_[name].is_filled;
      }
    }
  }

 private:
  /// Whether the statement that begins at `at`, which nothing skips, sets x[i] without reading it.
  [[nodiscard]] bool is_filled(const Snippet& snippet, std::size_t at) const {
    if ((at > 0 && !reader_.is(at - 1, ";")) || !reader_.is(at + 1, "[") ||
        snippet.names_.count("continue") != 0) {
      return false;
    }
    const std::size_t after = reader_.after_bracket(at + 1);
    const std::size_t end = reader_.is(after, "=") ? reader_.after_value(after + 1) : after;
    bool reads_itself = false;
    for (std::size_t k = after; k < end; ++k) {
      reads_itself = reads_itself || tokens_[k].text == tokens_[at].text;
    }
    return reader_.is(after, "=") && (end == tokens_.size() || reader_.is(end, ";")) &&
           !reads_itself;
  }

  void study_array(Snippet& snippet, const KernelArgument& argument, std::size_t at) const {
    ArrayUse& use = snippet.arrays_[argument.name];
    if (!reader_.is(at + 1, "[")) {
      use.bare = true;
      use.is_written = use.is_written || !argument.is_const;
      return;
    }
    const bool is_at_i = reader_.is(at + 2, "i") && reader_.is(at + 3, "]");
    use.at_i = use.at_i || is_at_i;
    use.elsewhere = use.elsewhere || !is_at_i;
    const std::size_t after = reader_.after_bracket(at + 1);
    use.is_addressed = use.is_addressed || reader_.is_address_taken(at);
    if (!reader_.is_written(at, after)) {
      return;
    }
    if (argument.is_const) {
      throw InvalidInput(
          "arrays.snippet.const_array",
          fmt::format("the snippet writes '{}', which is declared const", argument.name));
    }
    use.is_written = true;
    const bool has_part = is_vector(argument.dtype) && reader_.is_component(after);
    const std::size_t sign = has_part ? after + 2 : after;
    const bool is_plain = sign < tokens_.size() && is_assignment(tokens_[sign].text);
    const bool part_is_as_it_lies = has_part && !is_half(argument.dtype);
    if (converts(argument.dtype) && !is_plain && !part_is_as_it_lies) {
      throw InvalidInput("arrays.snippet.bad_write",
                         fmt::format("elements of '{}' are {}, which is converted when it is "
                                     "written: assign with "
                                     "= or += instead of stepping it or taking its address",
                                     argument.name, arrays::name(argument.dtype)));
    }
  }

  const Tokens& tokens_;
  SnippetReader reader_;
};

Snippet::Snippet(std::string_view text, const std::vector<KernelArgument>& arguments)
    : tokens_(tokenize_snippet(text)) {
  SnippetStudy(tokens_).run(*this, arguments);
}

std::string Snippet::without_blanks() const {
  std::string result;
  for (const SnippetToken& token : tokens_) {
    result += token.text;
  }
  return result;
}

}  // namespace rtcg::arrays::detail
