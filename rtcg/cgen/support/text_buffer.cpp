#include "rtcg/cgen/support/text_buffer.h"

#include <utility>

namespace rtcg {

namespace {
constexpr std::size_t continuation_columns = 4;
}

void TextBuffer::begin_line_at(std::size_t column, SourceOrigin origin) {
  line_begin_ = text_.size();
  line_indent_ = column;
  line_origin_ = origin;
  text_.append(column, ' ');
}

void TextBuffer::end_line(std::string_view continuation) {
  if (text_.size() - line_begin_ > max_columns_ && !breaks_.empty()) {
    wrap(continuation);
  } else {
    end_physical_line();
  }
  breaks_.clear();
}

void TextBuffer::end_physical_line() {
  std::size_t end = text_.size();
  while (end > line_begin_ && text_[end - 1] == ' ') {
    --end;
  }
  text_.resize(end);
  text_.push_back('\n');
  origins_.push_back(line_origin_);
  line_begin_ = text_.size();
}

void TextBuffer::wrap(std::string_view continuation) {
  const std::string logical = text_.substr(line_begin_);
  const std::size_t logical_begin = line_begin_;
  text_.resize(line_begin_);
  const std::size_t room_for_continuation = continuation.empty() ? 0 : continuation.size() + 1;
  std::size_t begin = 0;        // what is still to be written starts here, in `logical`
  std::size_t first_break = 0;  // breaks_ before this one lie behind `begin`
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
      // the blank in front of a break is dropped, so it may stand one column outside
      const bool fits = position - begin + room_for_continuation <= room + 1;
      if (position <= begin || (!fits && best != nullptr)) {
        continue;
      }
      if (best == nullptr || breaks_[i].depth <= best->depth) {
        best = &breaks_[i];
        next = i + 1;
      }
      if (!fits) {
        break;  // even the first break lies outside: better one long line than none
      }
    }
    if (best == nullptr) {
      break;
    }
    const std::size_t position = best->position - logical_begin;
    text_.append(indent, ' ');
    text_.append(logical, begin, position - begin);
    if (!continuation.empty()) {
      while (!text_.empty() && text_.back() == ' ') {
        text_.pop_back();
      }
      text_.append(" ").append(continuation);
    }
    end_physical_line();
    begin = position;
    while (begin < logical.size() && logical[begin] == ' ') {
      ++begin;
    }
    first_break = next;
    indent = line_indent_ + continuation_columns;
  }
  text_.append(indent, ' ');
  text_.append(logical, begin, std::string::npos);
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
  SourceText result{std::exchange(text_, {}), std::exchange(origins_, {})};
  breaks_.clear();
  line_begin_ = 0;
  return result;
}

}  // namespace rtcg
