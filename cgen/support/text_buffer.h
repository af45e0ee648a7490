#pragma once
// Internal header: it is not installed.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rtcg/cgen/support/source_text.h"

namespace rtcg {

/// Builds indented text line by line and breaks lines that grow too long.
///
/// A logical line is opened by `begin_line`, filled by `append` and closed by `end_line`. Where it
/// may be broken is said by `allow_break(depth)` while filling: when the line is longer than
/// `max_columns`, it is broken at the break of least depth that still fits, the last one of these,
/// and goes on below, indented four columns deeper. A stretch without a break is never cut.
/// Trailing blanks are removed. Not thread-safe.
class TextBuffer {
 public:
  explicit TextBuffer(std::size_t max_columns = 100, std::size_t indent_columns = 2)
      : max_columns_(max_columns), indent_columns_(indent_columns) {}

  void indent() { ++level_; }
  void outdent() { --level_; }

  void begin_line(SourceOrigin origin = {}) { begin_line_at(level_ * indent_columns_, origin); }
  /// Starts a line at column 0, without indentation (preprocessor lines, labels).
  void begin_line_at(std::size_t column, SourceOrigin origin);
  void append(std::string_view text) { text.copy(extend(text.size()), text.size()); }
  void append(char c) { *extend(1) = c; }
  void append(std::uint64_t number);  ///< in decimal
  /// The line may be broken here: inside `depth` pairs of brackets.
  void allow_break(unsigned depth) { breaks_.push_back({length_, depth}); }
  /// @param continuation  what a broken line ends with, e.g. a backslash in a macro definition
  void end_line(std::string_view continuation = {});

  /// One complete line at the current indentation.
  void line(std::string_view text, SourceOrigin origin = {});
  void blank_line();
  /// Lines as they are, from column 0; a missing newline at the end is added.
  void verbatim(std::string_view lines, SourceOrigin origin = {});

  /// Number of the line that the next `begin_line` opens, from 1.
  [[nodiscard]] std::size_t next_line_number() const { return origins_.size() + 1; }
  /// Column of the next character in the line under construction, from 0.
  [[nodiscard]] std::size_t column() const { return length_ - line_begin_; }

  /// The text so far with the origin of each line; leaves the buffer empty.
  [[nodiscard]] SourceText take();

 private:
  struct Break {
    std::size_t position;  // in text_
    unsigned depth;
  };
  /// Where the next `count` characters go, which count as written.
  char* extend(std::size_t count) {
    if (count > text_.size() - length_) {
      make_room(count);
    }
    length_ += count;
    return text_.data() + length_ - count;
  }
  void make_room(std::size_t count);
  void end_physical_line();
  void wrap(std::string_view continuation);

  std::size_t max_columns_;
  std::size_t indent_columns_;
  std::size_t level_ = 0;
  std::string text_;  // as long as there is room; `length_` of it are written
  std::size_t length_ = 0;
  std::vector<SourceOrigin> origins_;
  std::vector<Break> breaks_;
  std::size_t line_begin_ = 0;
  std::size_t line_indent_ = 0;
  SourceOrigin line_origin_;
};

}  // namespace rtcg
