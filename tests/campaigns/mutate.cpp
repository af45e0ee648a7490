#include "tests/campaigns/mutate.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <set>

namespace rtcg::campaigns {
namespace {

// Where widths, signs and products go wrong.
constexpr std::array numbers = {"0",
                                "1",
                                "-1",
                                "2",
                                "3",
                                "7",
                                "16",
                                "31",
                                "32",
                                "64",
                                "100",
                                "127",
                                "128",
                                "255",
                                "256",
                                "1000",
                                "1023",
                                "1024",
                                "1025",
                                "4096",
                                "65535",
                                "65536",
                                "1000000",
                                "2147483646",
                                "2147483647",
                                "2147483648",
                                "-2147483648",
                                "4294967295",
                                "4294967296",
                                "9007199254740993",
                                "9223372036854775807",
                                "9223372036854775808",
                                "-9223372036854775808",
                                "18446744073709551615",
                                "99999999999999999999999",
                                "0.5",
                                "1e3",
                                "1e-320",
                                "1e308",
                                "-1e308",
                                "1e999",
                                "nan",
                                "inf",
                                "-inf",
                                "0x10",
                                "1e",
                                "1.",
                                ".5",
                                "1_000"};
constexpr std::string_view alphabet =
    "abijknxyz_019+-*/%<>=!&|^~()[]{}:;,.#\\\"'@$?` \t\n\r\x00\x01\x7f\x80\xc3\xff";

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
}

}  // namespace

std::vector<Mutator::Span> Mutator::tokens_of(const std::string& text) {
  std::vector<Span> spans;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i + 1;
    if (is_word(text[i])) {
      while (end < text.size() && is_word(text[end])) {
        ++end;
      }
    }
    if (std::isspace(static_cast<unsigned char>(text[i])) == 0) {
      spans.push_back({i, end - i});
    }
    i = end;
  }
  return spans;
}

Mutator::Mutator(std::vector<std::string> seeds) : seeds_(std::move(seeds)) {
  std::set<std::string> words;
  for (const std::string& seed : seeds_) {
    for (const Span& span : tokens_of(seed)) {
      words.insert(seed.substr(span.begin, std::min<std::size_t>(span.length, 40)));
    }
  }
  words_.assign(words.begin(), words.end());
}

void Mutator::mutate_bytes(Draw& draw, std::string& text) const {
  const std::size_t at = draw.below(text.size());
  switch (draw.below(7)) {
    case 0:
      text.erase(at, 1 + draw.below(6));
      break;
    case 1:
      text.insert(at, 1, alphabet[draw.below(alphabet.size())]);
      break;
    case 2:
      text[at] = alphabet[draw.below(alphabet.size())];
      break;
    case 3:
      text[at] = static_cast<char>(static_cast<unsigned char>(text[at]) ^ (1U << draw.below(8)));
      break;
    case 4:
      text.insert(at, text.substr(draw.below(text.size()), 1 + draw.below(40)));
      break;
    case 5: {  // a number of 4 or 8 bytes
      static constexpr std::array<std::uint64_t, 8> values = {
          0, 1, 0x7fffffff, 0x80000000, 0xffffffff, 0x7fffffffffffffff, 0x8000000000000000, ~0ULL};
      const std::uint64_t value = draw.of(values);
      const std::size_t width = draw.chance(50) ? 4 : 8;
      for (std::size_t i = 0; i < width && at + i < text.size(); ++i) {
        text[at + i] = static_cast<char>(value >> (8 * i));
      }
      break;
    }
    default:
      text.resize(at);  // torn
      break;
  }
}

void Mutator::mutate_tokens(Draw& draw, std::string& text) const {
  const std::vector<Span> tokens = tokens_of(text);
  if (tokens.empty()) {
    return;
  }
  const Span one = draw.of(tokens);
  switch (draw.below(6)) {
    case 0:
      text.erase(one.begin, one.length);
      break;
    case 1:
      text.insert(one.begin, text.substr(one.begin, one.length) + " ");
      break;
    case 2: {
      std::vector<Span> digits;
      for (const Span& span : tokens) {
        if (std::isdigit(static_cast<unsigned char>(text[span.begin])) != 0) {
          digits.push_back(span);
        }
      }
      const Span place = digits.empty() ? one : draw.of(digits);
      text.replace(place.begin, place.length, draw.of(numbers));
      break;
    }
    case 3:
      text.replace(one.begin, one.length, draw.of(words_));
      break;
    case 4:
      text.insert(one.begin, draw.of(words_) + " ");
      break;
    default: {
      const Span other = draw.of(tokens);
      const Span first = one.begin < other.begin ? one : other;
      const Span second = one.begin < other.begin ? other : one;
      if (first.begin + first.length <= second.begin) {
        const std::string a = text.substr(first.begin, first.length);
        const std::string b = text.substr(second.begin, second.length);
        text.replace(second.begin, second.length, a);
        text.replace(first.begin, first.length, b);
      }
      break;
    }
  }
}

void Mutator::mutate_lines(Draw& draw, std::string& text) {
  std::vector<Span> lines;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = text.find('\n', i);
    end = end == std::string::npos ? text.size() : end + 1;
    lines.push_back({i, end - i});
    i = end;
  }
  const Span one = draw.of(lines);
  const std::string line = text.substr(one.begin, one.length);
  if (draw.chance(40)) {
    text.erase(one.begin, one.length);
  } else {
    text.insert(draw.of(lines).begin, line);
  }
}

std::string Mutator::make(Draw& draw) const {
  std::string text = draw.of(seeds_);
  if (draw.chance(2)) {
    return text;
  }
  if (draw.chance(15)) {  // the head of one and the tail of another
    const std::string& other = draw.of(seeds_);
    text = text.substr(0, draw.below(text.size() + 1)) + other.substr(draw.below(other.size()));
  }
  for (std::size_t count = 1 + draw.below(4); count > 0; --count) {
    if (text.empty()) {
      text = " ";
    }
    const std::size_t way = draw.below(10);
    way < 4   ? mutate_bytes(draw, text)
    : way < 9 ? mutate_tokens(draw, text)
              : mutate_lines(draw, text);
  }
  return text;
}

}  // namespace rtcg::campaigns
