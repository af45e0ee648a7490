#include "rtcg/dg/mesh/gmsh_stream.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"

namespace rtcg::dg::detail {
namespace {

bool is_blank(char c) {
  return std::isspace(static_cast<unsigned char>(c)) != 0;
}

template <class Number>
Number number_from(const char* bytes, bool is_swapped) {
  char copy[sizeof(Number)];
  std::memcpy(copy, bytes, sizeof(Number));
  if (is_swapped) {
    std::reverse(copy, copy + sizeof(Number));
  }
  Number number;
  std::memcpy(&number, copy, sizeof(Number));
  return number;
}

}  // namespace

void GmshStream::fail(const char* code, const std::string& problem) const {
  throw InvalidInput(code, problem + where());
}

std::string GmshStream::where() const {
  const auto line =
      1 + std::count(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(place_), '\n');
  // line breaks within binary numbers count too, so messages also have the byte
  return fmt::format(", in line {}{} of '{}'", line,
                     is_binary ? fmt::format(" at byte {}", place_) : std::string(), name_);
}

void GmshStream::skip_blanks() {
  while (place_ < bytes_.size() && is_blank(bytes_[place_])) {
    ++place_;
  }
}

bool GmshStream::is_at_end() {
  skip_blanks();
  return place_ == bytes_.size();
}

std::string_view GmshStream::word() {
  skip_blanks();
  const std::size_t first = place_;
  while (place_ < bytes_.size() && !is_blank(bytes_[place_])) {
    ++place_;
  }
  if (first == place_) {
    fail("dg.read_gmsh.truncated", "the file ends too early");
  }
  return bytes_.substr(first, place_ - first);
}

std::string GmshStream::quoted() {
  skip_blanks();
  if (place_ == bytes_.size() || bytes_[place_] != '"') {
    fail("dg.read_gmsh.syntax", "a name in double quotes is missing");
  }
  const std::size_t end = bytes_.find('"', place_ + 1);
  if (end == std::string_view::npos) {
    fail("dg.read_gmsh.truncated", "a name has no closing quote");
  }
  std::string name(bytes_.substr(place_ + 1, end - place_ - 1));
  place_ = end + 1;
  return name;
}

std::int64_t GmshStream::text_integer() {
  const std::string_view text = word();
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    fail("dg.read_gmsh.syntax", fmt::format("found '{}' instead of an integer", text));
  }
  return value;
}

void GmshStream::finish_line() {
  const std::size_t end = bytes_.find('\n', place_);
  place_ = end == std::string_view::npos ? bytes_.size() : end + 1;
}

const char* GmshStream::take(std::size_t size_bytes) {
  if (bytes_.size() - place_ < size_bytes) {
    fail("dg.read_gmsh.truncated", "the file ends within a number");
  }
  const char* first = bytes_.data() + place_;
  place_ += size_bytes;
  return first;
}

std::int64_t GmshStream::integer(int size_bytes) {
  if (!is_binary) {
    const std::int64_t value = text_integer();
    if (size_bytes == 4 && static_cast<std::int32_t>(value) != value) {
      fail("dg.read_gmsh.syntax", fmt::format("{} does not fit into 32 bits", value));
    }
    return value;
  }
  return size_bytes == 4 ? number_from<std::int32_t>(take(4), is_swapped)
                         : number_from<std::int64_t>(take(8), is_swapped);
}

double GmshStream::real() {
  double value = 0;
  if (is_binary) {
    value = number_from<double>(take(8), is_swapped);
  } else {
    const std::string_view text = word();
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) {
      fail("dg.read_gmsh.syntax", fmt::format("found '{}' instead of a number", text));
    }
  }
  if (!std::isfinite(value)) {
    fail("dg.read_gmsh.syntax", "a number is not finite");
  }
  return value;
}

std::int64_t GmshStream::checked_count(std::int64_t count, std::int64_t least_bytes) const {
  const auto left = static_cast<std::int64_t>(bytes_.size() - place_);
  if (count < 0) {
    fail("dg.read_gmsh.syntax", fmt::format("found {} instead of a count", count));
  }
  if (count > left / least_bytes + 1) {
    fail("dg.read_gmsh.truncated",
         fmt::format("{} records are announced, more than the file has room for", count));
  }
  return count;
}

std::int64_t GmshStream::count(int size_bytes, std::int64_t least_bytes) {
  return checked_count(integer(size_bytes), is_binary ? least_bytes : 2);
}

std::int64_t GmshStream::text_count(std::int64_t least_bytes) {
  return checked_count(text_integer(), is_binary ? least_bytes : 2);
}

void GmshStream::skip_section(std::string_view section) {
  const std::string end = "$End" + std::string(section.substr(1));
  const std::size_t found = bytes_.find(end, place_);
  if (found == std::string_view::npos) {
    fail("dg.read_gmsh.truncated", fmt::format("the section '{}' has no end", section));
  }
  place_ = found + end.size();
}

void GmshStream::end_section(std::string_view section) {
  const std::string end = "$End" + std::string(section.substr(1));
  const std::string_view found = word();
  if (found != end) {
    fail("dg.read_gmsh.syntax", fmt::format("found '{}' instead of '{}'",
                                            found.size() > 40 ? found.substr(0, 40) : found, end));
  }
}

}  // namespace rtcg::dg::detail
