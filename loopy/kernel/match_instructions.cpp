#include "rtcg/loopy/kernel/match_instructions.h"

#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"

namespace rtcg::loopy {
namespace {

using Fits = std::function<bool(const Instruction&)>;

bool any_fits(const NameSet& names, std::string_view pattern) {
  return std::any_of(names.begin(), names.end(),
                     [&](const std::string& name) { return fits_pattern(name, pattern); });
}

/// Reads `or` of `and` of `not`, each level calling the next.
class MatchReader {
 public:
  MatchReader(const Kernel& kernel, std::string_view text) : kernel_(kernel), text_(text) {}

  [[nodiscard]] Fits read_all() {
    Fits fits = read_or();
    if (!next_word().empty()) {
      fail(fmt::format("did not expect '{}'", next_word()));
    }
    return fits;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw InvalidInput("loopy.match_instructions.syntax",
                       fmt::format("cannot read '{}': {}; write id:, tag:, reads:, writes: or "
                                   "iname: and a pattern, joined by and, or, not",
                                   text_, what));
  }
  /// A bracket, or all up to the next blank or bracket; empty at the end.
  [[nodiscard]] std::string_view next_word() {
    place_ = std::min(text_.find_first_not_of(" \t\n", place_), text_.size());
    if (place_ == text_.size()) {
      return {};
    }
    if (text_[place_] == '(' || text_[place_] == ')') {
      return text_.substr(place_, 1);
    }
    return text_.substr(place_,
                        std::min(text_.find_first_of(" \t\n()", place_), text_.size()) - place_);
  }
  bool take(std::string_view word) {
    if (next_word() != word) {
      return false;
    }
    place_ += word.size();
    return true;
  }
  Fits read_or() {
    Fits left = read_and();
    while (take("or")) {
      left = [left, right = read_and()](const Instruction& i) { return left(i) || right(i); };
    }
    return left;
  }
  Fits read_and() {
    Fits left = read_not();
    while (take("and")) {
      left = [left, right = read_not()](const Instruction& i) { return left(i) && right(i); };
    }
    return left;
  }
  Fits read_not() {
    if (take("not")) {
      return [inner = read_not()](const Instruction& i) { return !inner(i); };
    }
    if (take("(")) {
      Fits inner = read_or();
      if (!take(")")) {
        fail("expected ')'");
      }
      return inner;
    }
    const std::string_view word = next_word();
    if (word.empty() || word == ")" || word == "and" || word == "or") {
      fail("a pattern is missing");
    }
    place_ += word.size();
    return read_pattern(word);
  }
  Fits read_pattern(std::string_view word) const {
    const std::size_t colon = word.find(':');
    const std::string_view key = colon == std::string_view::npos ? "id" : word.substr(0, colon);
    const std::string pattern(colon == std::string_view::npos ? word : word.substr(colon + 1));
    if (pattern.empty()) {
      fail(fmt::format("nothing follows '{}'", word));
    }
    const Kernel* kernel = &kernel_;
    if (key == "id") {
      return [pattern](const Instruction& i) { return fits_pattern(i.id, pattern); };
    }
    if (key == "tag") {
      return [pattern](const Instruction& i) { return any_fits(i.tags, pattern); };
    }
    if (key == "reads") {
      return [kernel, pattern](const Instruction& i) {
        return any_fits(read_variables(*kernel, i), pattern);
      };
    }
    if (key == "writes") {
      return [pattern](const Instruction& i) { return any_fits(written_variables(i), pattern); };
    }
    if (key == "iname") {
      return [pattern](const Instruction& i) { return any_fits(i.within_inames, pattern); };
    }
    fail(fmt::format("'{}:' is not known", key));
  }

  const Kernel& kernel_;
  std::string_view text_;
  std::size_t place_ = 0;
};

}  // namespace

std::vector<std::string> match_instructions(const Kernel& kernel, std::string_view text) {
  const bool is_blank = text.find_first_not_of(" \t\n") == std::string_view::npos;
  const Fits fits = MatchReader(kernel, is_blank ? "*" : text).read_all();
  std::vector<std::string> ids;
  for (const Instruction& instruction : kernel.instructions) {
    if (fits(instruction)) {
      ids.push_back(instruction.id);
    }
  }
  return ids;
}

bool fits_pattern(std::string_view text, std::string_view pattern) {
  std::size_t star = std::string_view::npos;  // of the last `*`, and how much it has taken
  std::size_t star_end = 0;
  std::size_t at = 0;
  std::size_t i = 0;
  while (i < text.size()) {
    if (at < pattern.size() && pattern[at] == '*') {
      star = at++;
      star_end = i;
    } else if (at < pattern.size() && (pattern[at] == text[i] || pattern[at] == '?')) {
      ++at;
      ++i;
    } else if (star != std::string_view::npos) {
      at = star + 1;
      i = ++star_end;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', at) == std::string_view::npos;
}

}  // namespace rtcg::loopy
