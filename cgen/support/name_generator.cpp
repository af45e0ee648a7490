#include "rtcg/cgen/support/name_generator.h"

namespace rtcg {

namespace {

// The locale must not decide what an identifier is, so <cctype> is not used.
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

}  // namespace

bool is_identifier(std::string_view text) noexcept {
  if (text.empty() || is_digit(text.front())) {
    return false;
  }
  for (const char c : text) {
    if (!is_letter(c) && !is_digit(c)) {
      return false;
    }
  }
  return true;
}

std::string to_identifier(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (!is_letter(c) && !is_digit(c)) {
      c = '_';
    }
  }
  if (result.empty() || is_digit(result.front())) {
    result.insert(result.begin(), '_');
  }
  return result;
}

bool NameGenerator::reserve(std::string_view name) {
  // not emplace, which makes a node before it looks
  return taken_.insert(std::string(name)).second;
}

bool NameGenerator::is_taken(std::string_view name) const {
  return taken_.count(std::string(name)) > 0;
}

std::string NameGenerator::make(std::string_view base) {
  const std::string clean = to_identifier(base);
  if (reserve(clean)) {
    return clean;
  }
  unsigned& suffix = next_suffix_[clean];
  while (true) {
    std::string candidate = clean + "_" + std::to_string(++suffix);
    if (reserve(candidate)) {
      return candidate;
    }
  }
}

}  // namespace rtcg
