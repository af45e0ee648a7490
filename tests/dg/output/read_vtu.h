#pragma once

#include <cstdint>
#include <cstring>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

// Reads back what write_vtu writes, written from VTK's description of the
// format.

namespace rtcg::dg::testing {

struct VtuArray {
  std::size_t components = 0;
  std::string type;
  std::vector<double> values;
};

struct VtuFile {
  std::size_t points = 0;
  std::size_t cells = 0;
  std::map<std::string, VtuArray> arrays;
};

inline std::string bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << in.rdbuf();
  return bytes.str();
}

inline std::string decoded_base64(std::string_view text) {
  std::string bytes;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    if (c == '=') {
      break;
    }
    const int value = c >= 'A' && c <= 'Z'   ? c - 'A'
                      : c >= 'a' && c <= 'z' ? c - 'a' + 26
                      : c >= '0' && c <= '9' ? c - '0' + 52
                      : c == '+'             ? 62
                                             : 63;
    bits = bits << 6 | static_cast<std::uint32_t>(value);
    count += 6;
    if (count >= 8) {
      count -= 8;
      bytes.push_back(static_cast<char>(bits >> count & 255U));
    }
  }
  return bytes;
}

template <class Number>
std::vector<double> numbers_in(const std::string& bytes) {
  std::vector<double> values(bytes.size() / sizeof(Number));
  for (std::size_t i = 0; i < values.size(); ++i) {
    Number number;
    std::memcpy(&number, bytes.data() + i * sizeof(Number), sizeof(Number));
    values[i] = static_cast<double>(number);
  }
  return values;
}

inline VtuFile read_vtu(const std::string& path) {
  const std::string text = bytes_of(path);
  VtuFile file;
  std::smatch match;
  const std::string head = text.substr(0, text.find("<AppendedData"));
  std::regex_search(head, match, std::regex(R"rx(NumberOfPoints="(\d+)" NumberOfCells="(\d+)")rx"));
  file.points = std::stoul(match[1]);
  file.cells = std::stoul(match[2]);
  const std::string_view data = std::string_view(text).substr(text.find("\n_") + 2);
  const std::regex array(
      R"rx(type="(\w+)" Name="([^"]*)" NumberOfComponents="(\d)" format="appended" offset="(\d+)")rx");
  for (std::sregex_iterator i(head.begin(), head.end(), array); i != std::sregex_iterator(); ++i) {
    const std::string_view letters = data.substr(std::stoul((*i)[4]));
    std::uint64_t size_bytes = 0;
    std::memcpy(&size_bytes, decoded_base64(letters.substr(0, 12)).data(), sizeof size_bytes);
    const std::string bytes =
        decoded_base64(letters.substr(0, (sizeof size_bytes + size_bytes + 2) / 3 * 4))
            .substr(sizeof size_bytes);
    EXPECT_EQ(bytes.size(), size_bytes);
    VtuArray& found = file.arrays[(*i)[2]];
    found.type = (*i)[1];
    found.components = std::stoul((*i)[3]);
    found.values = found.type == "Float64"   ? numbers_in<double>(bytes)
                   : found.type == "Float32" ? numbers_in<float>(bytes)
                   : found.type == "Int64"   ? numbers_in<std::int64_t>(bytes)
                   : found.type == "Int32"   ? numbers_in<std::int32_t>(bytes)
                                             : numbers_in<std::uint8_t>(bytes);
  }
  return file;
}

}  // namespace rtcg::dg::testing
