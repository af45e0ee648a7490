#include "tools/reduce_text.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <vector>

namespace rtcg::tools {
namespace {

/// A change of a text: the characters from `begin` to `end` become `by`.
struct Change {
  std::size_t begin;
  std::size_t end;
  std::string by{};
};

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
}

class Reducer {
 public:
  Reducer(std::string text, const std::function<bool(const std::string&)>& fails,
          const std::function<bool()>& is_over)
      : text_(std::move(text)), fails_(fails), is_over_(is_over) {}

  std::string run() {
    bool is_smaller = true;
    while (is_smaller && !is_over_()) {
      is_smaller = reduce_parts(sections());
      is_smaller = reduce_parts(lines()) || is_smaller;
      is_smaller = reduce_by(&Reducer::elements) || is_smaller;
      is_smaller = reduce_by(&Reducer::operands) || is_smaller;
      is_smaller = reduce_by(&Reducer::brackets) || is_smaller;
      is_smaller = reduce_by(&Reducer::numbers) || is_smaller;
    }
    return text_;
  }

 private:
  bool try_text(std::string candidate) {
    if (is_over_() || candidate == text_ ||
        !seen_.insert(std::hash<std::string>()(candidate)).second || !fails_(candidate)) {
      return false;
    }
    text_ = std::move(candidate);
    return true;
  }

  // ---- parts of the whole ----------------------------------------------------------------------

  [[nodiscard]] std::vector<std::string> lines() const {
    std::vector<std::string> result;
    for (std::size_t begin = 0; begin < text_.size();) {
      const std::size_t end = std::min(text_.find('\n', begin), text_.size() - 1) + 1;
      result.push_back(text_.substr(begin, end - begin));
      begin = end;
    }
    return result;
  }
  [[nodiscard]] std::vector<std::string> sections() const {
    std::vector<std::string> result;
    for (const std::string& line : lines()) {
      if (result.empty() || (line[0] != ' ' && line[0] != '\t')) {
        result.emplace_back();
      }
      result.back() += line;
    }
    return result;
  }

  static std::string joined(const std::vector<std::string>& parts, std::size_t first,
                            std::size_t count) {
    std::string text;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      text += i >= first && i < first + count ? "" : parts[i];
    }
    return text;
  }

  /// Leaves out runs of parts: halves, quarters, ... single ones.
  bool reduce_parts(std::vector<std::string> parts) {
    bool is_smaller = false;
    for (std::size_t size = std::max<std::size_t>(parts.size() / 2, 1);; size /= 2) {
      for (std::size_t first = parts.size(); first > 0;) {  // later ones depend on earlier ones
        first = first > size ? first - size : 0;
        const std::size_t count = std::min(size, parts.size() - first);
        if (count > 0 && try_text(joined(parts, first, count))) {
          parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(first),
                      parts.begin() + static_cast<std::ptrdiff_t>(first + count));
          is_smaller = true;
        }
      }
      if (size <= 1) {
        return is_smaller;
      }
    }
  }

  // ---- parts of lines --------------------------------------------------------------------------

  /// Tries the changes that `find` has of the text, again after each one that is kept.
  bool reduce_by(std::vector<Change> (Reducer::*find)() const) {
    bool is_smaller = false;
    for (std::size_t next = 0; !is_over_();) {
      const std::vector<Change> changes = (this->*find)();
      bool is_kept = false;
      for (; next < changes.size() && !is_kept && !is_over_(); ++next) {
        const Change& change = changes[next];
        is_kept = try_text(text_.substr(0, change.begin) + change.by + text_.substr(change.end));
      }
      if (!is_kept) {
        return is_smaller;
      }
      is_smaller = true;
      next -= 1;  // the text after the change has moved up to its place
    }
    return is_smaller;
  }

  [[nodiscard]] static bool opens(char c) { return c == '(' || c == '[' || c == '{'; }
  [[nodiscard]] static bool closes(char c) { return c == ')' || c == ']' || c == '}'; }

  /// Where the piece that `at` is in ends, going up or down, at the depth of `at`: at a bracket of
  /// the surroundings, a line's end or a character that `stops` has.
  template <class Stops>
  [[nodiscard]] std::size_t find_end(std::size_t at, const Stops& stops) const {
    int depth = 0;
    for (; at < text_.size() && text_[at] != '\n'; ++at) {
      if (depth == 0 && (closes(text_[at]) || stops(text_[at]))) {
        break;
      }
      depth += opens(text_[at]) ? 1 : closes(text_[at]) ? -1 : 0;
    }
    return at;
  }
  template <class Stops>
  [[nodiscard]] std::size_t find_begin(std::size_t at, const Stops& stops) const {
    int depth = 0;
    for (; at > 0 && text_[at - 1] != '\n'; --at) {
      const char c = text_[at - 1];
      if (depth == 0 && (opens(c) || stops(c))) {
        break;
      }
      depth += closes(c) ? 1 : opens(c) ? -1 : 0;
    }
    return at;
  }

  /// Elements of lists, with the separator before or after them.
  [[nodiscard]] std::vector<Change> elements() const {
    std::vector<Change> changes;
    const auto separates = [](char c) { return c == ',' || c == ';' || c == ':'; };
    for (std::size_t i = 0; i < text_.size(); ++i) {
      if (text_[i] == ',' || text_[i] == ';') {
        changes.push_back({i, find_end(i + 1, separates)});
        changes.push_back({find_begin(i, separates), i + 1});
      }
      if (text_.compare(i, 5, " and ") == 0) {
        const auto stops = [&](char c) { return separates(c); };
        std::size_t end = std::min(text_.find(" and ", i + 5), find_end(i + 5, stops));
        changes.push_back({i, end});
        const std::size_t begin = find_begin(i, stops);
        const std::size_t before = i > 0 ? text_.rfind(" and ", i - 1) : std::string::npos;
        changes.push_back(
            {before != std::string::npos && before + 5 > begin ? before + 5 : begin, i + 5});
      }
      if (text_[i] == '{' && i > 0) {  // options of a statement or argument
        changes.push_back(
            {i, std::min(find_end(i + 1, [](char) { return false; }) + 1, text_.size())});
      }
    }
    return changes;
  }

  /// Operands of operators, with the operator.
  [[nodiscard]] std::vector<Change> operands() const {
    std::vector<Change> changes;
    for (std::size_t i = 1; i + 1 < text_.size(); ++i) {
      const char c = text_[i];
      if (c != '+' && c != '-' && c != '*' && c != '/' && c != '%') {
        continue;
      }
      std::size_t after = i + 1;
      while (after < text_.size() && (text_[after] == c || text_[after] == ' ')) {
        ++after;
      }
      const bool is_sum = c == '+' || c == '-';
      const auto stops = [&](char other) {
        const bool is_list = other == ',' || other == ';' || other == '=' || other == '<' ||
                             other == '>' || other == ':';
        const bool is_sign = other == '+' || other == '-';
        return is_list || (!is_sum && (is_sign || other == '*' || other == '/' || other == '%')) ||
               (is_sum && is_sign);
      };
      changes.push_back({i, find_end(after, stops)});
      std::size_t begin = find_begin(i, stops);
      while (begin < i && text_[begin] == ' ') {
        ++begin;
      }
      changes.push_back({begin, after});
    }
    return changes;
  }

  /// Brackets and what is called or accessed before them.
  [[nodiscard]] std::vector<Change> brackets() const {
    std::vector<Change> changes;
    for (std::size_t i = 0; i < text_.size(); ++i) {
      if (text_[i] != '(' && text_[i] != '[') {
        continue;
      }
      const std::size_t end = find_end(i + 1, [](char) { return false; });
      if (end >= text_.size() || !closes(text_[end])) {
        continue;
      }
      std::size_t begin = i;
      while (begin > 0 && is_word(text_[begin - 1])) {
        --begin;
      }
      const std::string inner = text_.substr(i + 1, end - i - 1);
      changes.push_back({begin, end + 1, "1"});
      changes.push_back({begin, end + 1, inner});
      const auto separates = [](char c) { return c == ','; };
      for (std::size_t at = i + 1; at < end;) {
        const std::size_t stop = find_end(at, separates);
        changes.push_back({begin, end + 1, text_.substr(at, stop - at)});
        at = stop + 1;
      }
    }
    return changes;
  }

  [[nodiscard]] std::vector<Change> numbers() const {
    std::vector<Change> changes;
    for (std::size_t i = 0; i < text_.size();) {
      std::size_t end = i;
      while (end < text_.size() && std::isdigit(static_cast<unsigned char>(text_[end])) != 0) {
        ++end;
      }
      const bool is_alone = end > i && (i == 0 || !is_word(text_[i - 1])) &&
                            (end == text_.size() || !is_word(text_[end]));
      if (is_alone && end - i < 18) {
        const long long value = std::stoll(text_.substr(i, end - i));
        for (const long long other : {0LL, 1LL, 2LL, value / 2, value - 1}) {
          if (other >= 0 && other < value) {
            changes.push_back({i, end, std::to_string(other)});
          }
        }
      }
      i = std::max(end, i + 1);
    }
    return changes;
  }

  std::string text_;
  const std::function<bool(const std::string&)>& fails_;
  const std::function<bool()>& is_over_;
  std::set<std::size_t> seen_;  // hashes of the texts that were tried
};

}  // namespace

std::string reduce_text(std::string text, const std::function<bool(const std::string&)>& fails,
                        const std::function<bool()>& is_over) {
  return Reducer(std::move(text), fails, is_over).run();
}

}  // namespace rtcg::tools
