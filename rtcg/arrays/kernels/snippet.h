#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "rtcg/arrays/kernels/kernel_argument.h"
#include "rtcg/cgen/dialect/dialect.h"

// C text of users: its words, what it does with arrays, and how it reads once
// arrays have layouts. Internal to arrays.

namespace rtcg::arrays::detail {

enum class TokenKind { name, number, quoted, symbol, directive };

struct SnippetToken {
  TokenKind kind = TokenKind::symbol;
  std::string text{};
  std::string blanks{};  ///< before it; a comment is a blank
  friend bool operator==(const SnippetToken&, const SnippetToken&) = default;
};

/// @throws InvalidInput  arrays.snippet.syntax: a quote or comment without end,
/// unmatched brackets
[[nodiscard]] std::vector<SnippetToken> tokenize_snippet(std::string_view text);

/// What a snippet does with an array.
struct ArrayUse {
  bool at_i = false;       ///< x[i]
  bool elsewhere = false;  ///< x[i + 1], x[table[i]]
  bool bare = false;       ///< x without an index: a pointer
  bool is_written = false;
};

/// A piece of C text that is checked against the arguments it may use.
class Snippet {
 public:
  Snippet() = default;
  /// @throws InvalidInput  arrays.snippet.syntax; arrays.snippet.const_array:
  /// one that is const is
  ///         written; arrays.snippet.bad_write: `++` of an element that C
  ///         cannot compute with; arrays.snippet.return
  Snippet(std::string_view text, const std::vector<KernelArgument>& arguments);

  [[nodiscard]] const std::map<std::string, ArrayUse>& arrays() const noexcept { return arrays_; }
  /// All names, arguments or not.
  [[nodiscard]] const std::set<std::string>& names() const noexcept { return names_; }
  /// Whether `i` occurs other than as the whole index of an array.
  [[nodiscard]] bool uses_place() const noexcept { return uses_place_; }
  [[nodiscard]] const std::vector<SnippetToken>& tokens() const noexcept { return tokens_; }

 private:
  friend class SnippetReader;
  std::vector<SnippetToken> tokens_;
  std::map<std::string, ArrayUse> arrays_;
  std::set<std::string> names_;
  bool uses_place_ = false;
};

/// What stands for an array in generated text.
struct ArrayText {
  DType dtype = DType::f32;
  std::string element{};  ///< of x[i]; empty when it is found by place
  std::string pointer{};  ///< for all else
  /// Of an offset, given the place in C order: `(`, then the place, then `) *
  /// x_s0`.
  std::string before_place{};
  std::string after_place{};
};

struct SnippetNames {
  cgen::Dialect dialect = cgen::Dialect::c;
  std::map<std::string, ArrayText> arrays{};
  std::map<std::string, std::string> others{};  ///< names that become others
};

/// The snippet with elements of arrays found where they lie. bool, f16 and bf16
/// elements convert when they are read and written.
[[nodiscard]] std::string rewrite(const Snippet& snippet, const SnippetNames& names);

/// Text of functions that a snippet calls, for a dialect: `__device__`,
/// `__host__`,
/// `__forceinline__` and `__global` may stand in it and go where the dialect
/// has no such word.
[[nodiscard]] std::string portable_preamble(std::string_view text, cgen::Dialect dialect);
/// What snippets find: constants of C's headers, types and functions: `complex64`, `complex128`
/// with `complex64_mul(a, b)` and its like, and conversions of bf16; those that `names` or dtypes
/// need.
[[nodiscard]] std::string standard_preamble(const std::set<std::string>& names,
                                            const std::set<DType>& dtypes, cgen::Dialect dialect);
/// What an element is in memory: `complex64` for c64, else as storage_type().
[[nodiscard]] cgen::Type snippet_storage_type(DType dtype);

}  // namespace rtcg::arrays::detail
