#pragma once
// Internal header: it is not installed.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "rtcg/arrays/kernels/kernel_argument.h"
#include "rtcg/cgen/dialect/dialect.h"

// C text of users: its tokens, its use of arrays, and its text for given layouts.

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

/// The use of an array in a snippet.
struct ArrayUse {
  bool at_i = false;       ///< x[i]
  bool elsewhere = false;  ///< x[i + 1], x[table[i]]
  bool bare = false;       ///< x without an index: a pointer
  bool is_written = false;
  bool is_addressed = false;  ///< &x[i]
  bool is_filled = false;     ///< every x[i] is set before anything reads it
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
  [[nodiscard]] std::string without_blanks() const;

 private:
  friend class SnippetStudy;
  std::vector<SnippetToken> tokens_;
  std::map<std::string, ArrayUse> arrays_;
  std::set<std::string> names_;
  bool uses_place_ = false;
};

/// The text of an array in generated code.
struct ArrayText {
  DType dtype = DType::f32;
  std::string element{};  ///< of x[i]; empty if it is indexed by place
  std::string pointer{};  ///< for all other uses
  /// Of an offset, given the place in C order: `(`, then the place, then `) *
  /// x_s0`.
  std::string before_place{};
  std::string after_place{};
  bool has_struct = false;  ///< its elements are structs; the dtype has no meaning
};

struct SnippetNames {
  cgen::Dialect dialect = cgen::Dialect::c;
  std::map<std::string, ArrayText> arrays{};
  std::map<std::string, std::string> others{};  ///< names that become others
  /// Numbers and fields of structs that are short vectors.
  std::set<std::string> vectors{};
};

/// What C, CUDA and OpenCL C all call values of a type: f16 and bf16 are computed as float.
///
/// @param dtype  an integer, a floating type, or c64 or c128
[[nodiscard]] const char* c_name(DType dtype);
/// `float4` and its like.
[[nodiscard]] std::optional<DType> vector_named(std::string_view name);
/// Whether x[i] of a short vector is not an element in memory in that dialect: vectors of three
/// components, which the language pads and arrays do not, and halves are loaded and stored by
/// functions.
[[nodiscard]] bool is_packed(DType dtype, cgen::Dialect dialect);

/// The snippet with elements of arrays found by their layouts. bool, f16 and bf16 elements convert
/// when they are read and written. `v.x` of a short vector, which is an element, an argument, a
/// variable of the snippet or a parenthesis, gets the dialect's spelling.
[[nodiscard]] std::string rewrite(const Snippet& snippet, const SnippetNames& names);

/// The same for text without arrays.
[[nodiscard]] std::string with_components(const std::string& text, const SnippetNames& names);
/// Text of functions that a snippet calls, for a dialect: `__device__`, `__host__`,
/// `__forceinline__` and `__global` may appear in it and are removed if the dialect lacks them.
/// Components of short vectors as in snippets.
///
/// @param vectors  as of SnippetNames
[[nodiscard]] std::string portable_preamble(std::string_view text, cgen::Dialect dialect,
                                            const std::set<std::string>& vectors = {});
/// The declarations that snippets may use: constants of C's headers, `complex64`, `complex128` and
/// their functions (`complex64_mul(a, b)`), conversions of bf16, short vectors with `make_float4`
/// and operators; `tex2d_f32(texture, x, y)` and its like, of f32, i32, u8, f64, c64 and c128 along
/// 1 to 3 axes, for textures whose handle is a u64. Only those that `names` or `dtypes` need.
///
/// @throws Unsupported  arrays.snippet_kernel.no_textures: OpenCL
[[nodiscard]] std::string standard_preamble(const std::set<std::string>& names,
                                            const std::set<DType>& dtypes, cgen::Dialect dialect);
/// The type of an element in memory: `complex64` for c64, `float4` or the dialect's form of it,
/// otherwise storage_type().
[[nodiscard]] cgen::Type snippet_storage_type(DType dtype, cgen::Dialect dialect);
/// The type of short vectors in a snippet: f32 for halves, otherwise unchanged.
[[nodiscard]] DType snippet_vector(DType vector);
/// The type of values: `complex64`, `float4`, otherwise value_type().
[[nodiscard]] cgen::Type snippet_value_type(DType dtype);

}  // namespace rtcg::arrays::detail
