#pragma once
// Internal header: it is not installed.

#include <cstdint>
#include <string>
#include <string_view>

namespace rtcg::dg::detail {

/// The bytes of an MSH file, read as numbers: from text, or, once is_binary is set, from memory
/// images.
class GmshStream {
 public:
  GmshStream(std::string_view bytes, std::string name) : bytes_(bytes), name_(std::move(name)) {}

  bool is_binary = false;
  bool is_swapped = false;  ///< of the other byte order than this machine

  [[nodiscard]] bool is_at_end();
  /// A word of text, in every mode.
  std::string_view word();
  /// `"name"`, in every mode.
  std::string quoted();
  std::int64_t text_integer();
  /// Takes the rest of the line, line break included.
  void finish_line();

  /// An integer, of 4 or 8 bytes in binary files.
  std::int64_t integer(int size_bytes);
  double real();
  /// How many records follow; each takes `least_bytes` in a binary file, or two in a text, at
  /// least.
  std::int64_t count(int size_bytes, std::int64_t least_bytes);
  /// The same, written as text.
  std::int64_t text_count(std::int64_t least_bytes);

  /// Skips to the end of the line that ends a section.
  void skip_section(std::string_view section);
  /// Expects the word that ends a section.
  void end_section(std::string_view section);

  [[noreturn]] void fail(const char* code, const std::string& problem) const;
  /// ` in line 12 of 'box.msh'`, or the byte in binary parts.
  [[nodiscard]] std::string where() const;

 private:
  void skip_blanks();
  [[nodiscard]] const char* take(std::size_t size_bytes);
  [[nodiscard]] std::int64_t checked_count(std::int64_t count, std::int64_t least_bytes) const;

  std::string_view bytes_;
  std::string name_;
  std::size_t place_ = 0;
};

}  // namespace rtcg::dg::detail
