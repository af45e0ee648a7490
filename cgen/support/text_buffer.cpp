#include "rtcg/cgen/support/text_buffer.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace rtcg {

namespace {
constexpr std::size_t continuation_columns = 4;
}

void TextBuffer::make_room(std::size_t count) {
  // Added text is written twice, and the second write should find it in a cache.
  const std::size_t step = std::clamp<std::size_t>(text_.size(), 256, 4096);
  text_.resize(length_ + std::max(count, step));
}

void TextBuffer::append(std::uint64_t number) {
  constexpr std::size_t most_digits = 20;
  char* const begin = extend(most_digits);
  const char* const end = std::to_chars(begin, begin + most_digits, number).ptr;
  length_ -= most_digits - static_cast<std::size_t>(end - begin);
}

void TextBuffer::begin_line_at(std::size_t column, SourceOrigin origin) {
  line_begin_ = length_;
  line_indent_ = column;
  line_origin_ = origin;
  constexpr std::size_t usual = 16;
  if (column <= usual) {  // writing a number of blanks known to the compiler needs no call
    std::fill_n(extend(usual), usual, ' ');
    length_ -= usual - column;
  } else {
    std::fill_n(extend(column), column, ' ');
  }
}

void TextBuffer::end_line(std::string_view continuation) {
  if (column() > max_columns_ && !breaks_.empty()) {
    wrap(continuation);
  } else {
    end_physical_line();
  }
  breaks_.clear();
}

void TextBuffer::end_physical_line() {
  while (length_ > line_begin_ && text_[length_ - 1] == ' ') {
    --length_;
  }
  append('\n');
  origins_.push_back(line_origin_);
  line_begin_ = length_;
}

void TextBuffer::wrap(std::string_view continuation) {
  const std::string logical = text_.substr(line_begin_, length_ - line_begin_);
  const std::size_t logical_begin = line_begin_;
  length_ = line_begin_;
  const std::size_t room_for_continuation = continuation.empty() ? 0 : continuation.size() + 1;
  std::size_t begin = 0;        // what is still to be written starts here, in `logical`
  std::size_t first_break = 0;  // breaks_ before this one precede `begin`
  std::size_t indent = 0;       // the first line brings its indentation along
  while (true) {
    const std::size_t room = max_columns_ - indent;
    if (logical.size() - begin <= room) {
      break;
    }
    const Break* best = nullptr;
    std::size_t next = first_break;
    for (std::size_t i = first_break; i < breaks_.size(); ++i) {
      const std::size_t position = breaks_[i].position - logical_begin;
      // the blank before a break is dropped, so it may be one column outside
      const bool fits = position - begin + room_for_continuation <= room + 1;
      if (position <= begin || (!fits && best != nullptr)) {
        continue;
      }
      if (best == nullptr || breaks_[i].depth <= best->depth) {
        best = &breaks_[i];
        next = i + 1;
      }
      if (!fits) {
        break;  // even the first break is outside: the line stays too long
      }
    }
    if (best == nullptr) {
      break;
    }
    const std::size_t position = best->position - logical_begin;
    std::fill_n(extend(indent), indent, ' ');
    append(std::string_view(logical).substr(begin, position - begin));
    if (!continuation.empty()) {
      while (length_ > 0 && text_[length_ - 1] == ' ') {
        --length_;
      }
      append(' ');
      append(continuation);
    }
    end_physical_line();
    begin = position;
    while (begin < logical.size() && logical[begin] == ' ') {
      ++begin;
    }
    first_break = next;
    indent = line_indent_ + continuation_columns;
  }
  std::fill_n(extend(indent), indent, ' ');
  append(std::string_view(logical).substr(begin));
  end_physical_line();
}

void TextBuffer::line(std::string_view text, SourceOrigin origin) {
  begin_line(origin);
  append(text);
  end_line();
}

void TextBuffer::blank_line() {
  begin_line_at(0, {});
  end_line();
}

void TextBuffer::verbatim(std::string_view lines, SourceOrigin origin) {
  while (!lines.empty()) {
    const std::size_t end = lines.find('\n');
    begin_line_at(0, origin);
    append(lines.substr(0, end));
    end_line();
    lines.remove_prefix(end == std::string_view::npos ? lines.size() : end + 1);
  }
}

SourceText TextBuffer::take() {
  text_.resize(std::exchange(length_, 0));
  SourceText result{std::exchange(text_, {}), std::exchange(origins_, {})};
  breaks_.clear();
  line_begin_ = 0;
  return result;
}

}  // namespace rtcg
