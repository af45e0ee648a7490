#include "rtcg/arrays/sparse/matrix_market.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <fstream>
#include <limits>
#include <string_view>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"

namespace rtcg::arrays::detail {
namespace {

std::vector<std::string> words_of(const std::string& line) {
  std::vector<std::string> result;
  std::string word;
  for (const char each : line + " ") {
    if (std::isspace(static_cast<unsigned char>(each)) == 0) {
      word += each;
    } else if (!word.empty()) {
      result.push_back(std::move(word));
      word.clear();
    }
  }
  return result;
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char each) { return static_cast<char>(std::tolower(each)); });
  return text;
}

class MarketReader {
 public:
  MarketReader(std::istream& in, const std::string& name, bool takes_fractions)
      : in_(in), name_(name), takes_fractions_(takes_fractions) {}

  MarketEntries read() {
    read_header();
    read_sizes();
    for (std::int64_t entry = 0; entry < entries_; ++entry) {
      read_entry(entry);
    }
    if (next_line()) {
      fail("arrays.matrix_market.count",
           fmt::format("there is more after the {} entries that line {} announces", entries_,
                       size_line_));
    }
    return std::move(result_);
  }

 private:
  [[noreturn]] void fail(const char* code, const std::string& problem) const {
    throw InvalidInput(code, fmt::format("'{}', line {}: {}", name_, line_number_, problem));
  }

  /// The words of the next line that has some and is no comment. @returns whether there is one
  bool next_line() {
    std::string line;
    while (std::getline(in_, line)) {
      ++line_number_;
      words_ = words_of(line);
      if (!words_.empty() && words_[0][0] != '%') {
        return true;
      }
    }
    return false;
  }

  void read_header() {
    std::string line;
    std::getline(in_, line);
    line_number_ = 1;
    const std::vector<std::string> words = words_of(lower(line));
    if (words.size() != 5 || words[0] != "%%matrixmarket" || words[1] != "matrix") {
      fail("arrays.matrix_market.syntax",
           "a matrix begins with '%%MatrixMarket matrix coordinate real general' or other kinds");
    }
    const bool is_known_field = words[3] == "real" || words[3] == "double" ||
                                words[3] == "integer" || words[3] == "pattern";
    const bool is_known_symmetry =
        words[4] == "general" || words[4] == "symmetric" || words[4] == "skew-symmetric";
    if (words[2] != "coordinate" || !is_known_field || !is_known_symmetry) {
      throw Unsupported("arrays.matrix_market.unsupported",
                        fmt::format("'{}' is a matrix '{} {} {}': rtcg reads coordinate ones, "
                                    "real, integer or pattern, general, symmetric or "
                                    "skew-symmetric",
                                    name_, words[2], words[3], words[4]));
    }
    is_pattern_ = words[3] == "pattern";
    is_symmetric_ = words[4] == "symmetric";
    is_skew_ = words[4] == "skew-symmetric";
  }

  template <class Number>
  Number number(const std::string& word) const {
    const char* begin = word.data() + (word[0] == '+' ? 1 : 0);
    const char* end = word.data() + word.size();
    Number result{};
    const auto [stop, error] = std::from_chars(begin, end, result);
    if (error != std::errc() || stop != end) {
      fail(
          "arrays.matrix_market.syntax",
          fmt::format("'{}' is not {} number", word, std::is_integral_v<Number> ? "a whole" : "a"));
    }
    return result;
  }

  void read_sizes() {
    if (!next_line()) {
      fail("arrays.matrix_market.syntax",
           "the file ends before the numbers of rows, columns and entries");
    }
    size_line_ = line_number_;
    if (words_.size() != 3) {
      fail("arrays.matrix_market.syntax",
           fmt::format("{} words where the numbers of rows, columns and entries are "
                       "expected",
                       words_.size()));
    }
    result_.rows = number<std::int64_t>(words_[0]);
    result_.columns = number<std::int64_t>(words_[1]);
    entries_ = number<std::int64_t>(words_[2]);
    constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
    if (result_.rows < 0 || result_.columns < 0 || entries_ < 0 || result_.rows >= most ||
        result_.columns >= most || entries_ >= most) {
      fail("arrays.matrix_market.syntax",
           fmt::format("{} x {} with {} entries is not the size of a matrix: each number "
                       "has to be from 0 to {}",
                       result_.rows, result_.columns, entries_, most - 1));
    }
    if ((is_symmetric_ || is_skew_) && result_.rows != result_.columns) {
      fail("arrays.matrix_market.syntax",
           fmt::format("a symmetric matrix of {} x {}: it has to be square", result_.rows,
                       result_.columns));
    }
  }

  void read_entry(std::int64_t entry) {
    if (!next_line()) {
      fail("arrays.matrix_market.count",
           fmt::format("the file ends after {} of the {} entries that line {} announces", entry,
                       entries_, size_line_));
    }
    const std::size_t expected = is_pattern_ ? 2 : 3;
    if (words_.size() != expected) {
      fail("arrays.matrix_market.syntax",
           fmt::format("an entry has {} words: {} are expected", words_.size(),
                       is_pattern_ ? "row and column" : "row, column and value"));
    }
    const auto row = number<std::int64_t>(words_[0]);
    const auto column = number<std::int64_t>(words_[1]);
    if (row < 1 || row > result_.rows || column < 1 || column > result_.columns) {
      fail("arrays.matrix_market.out_of_range",
           fmt::format("({}, {}) is outside of a matrix of {} x {}, whose rows and "
                       "columns count from 1",
                       row, column, result_.rows, result_.columns));
    }
    const double value = is_pattern_ ? 1 : number<double>(words_[2]);
    if (!takes_fractions_ && value != std::trunc(value)) {
      fail(
          "arrays.matrix_market.type",
          fmt::format("{} is not a whole number: read the matrix as one of f32 or f64", words_[2]));
    }
    if (is_skew_ && row == column) {
      fail("arrays.matrix_market.syntax", "a skew-symmetric matrix has no entries on its diagonal");
    }
    add(row - 1, column - 1, value);
    if (row != column && (is_symmetric_ || is_skew_)) {
      add(column - 1, row - 1, is_skew_ ? -value : value);
    }
  }

  void add(std::int64_t row, std::int64_t column, double value) {
    result_.row.push_back(static_cast<std::int32_t>(row));
    result_.column.push_back(static_cast<std::int32_t>(column));
    result_.value.push_back(value);
  }

  std::istream& in_;
  const std::string name_;
  const bool takes_fractions_;
  MarketEntries result_;
  std::vector<std::string> words_;
  std::int64_t entries_ = 0;
  int line_number_ = 0;
  int size_line_ = 0;
  bool is_pattern_ = false;
  bool is_symmetric_ = false;
  bool is_skew_ = false;
};

}  // namespace

MarketEntries parse_matrix_market(std::istream& in, const std::string& name, bool takes_fractions) {
  return MarketReader(in, name, takes_fractions).read();
}

MarketEntries read_matrix_market(const std::string& path, bool takes_fractions) {
  std::ifstream in(path);
  if (!in) {
    throw InvalidInput(
        "arrays.matrix_market.unreadable",
        fmt::format("cannot read '{}': pass the path of a Matrix Market file", path));
  }
  return parse_matrix_market(in, path, takes_fractions);
}

}  // namespace rtcg::arrays::detail
