#include "tools/draw/png.h"

#include <algorithm>
#include <map>
#include <string_view>

namespace rtcg::tools {
namespace {

using Bytes = std::vector<std::uint8_t>;

// ---- deflate ------------------------------------------------------------------------------------

struct Range {
  std::uint32_t first;
  int extra_bits;
};

constexpr std::array<Range, 29> lengths = {
    {{3, 0},  {4, 0},  {5, 0},  {6, 0},   {7, 0},   {8, 0},   {9, 0},   {10, 0},  {11, 1}, {13, 1},
     {15, 1}, {17, 1}, {19, 2}, {23, 2},  {27, 2},  {31, 2},  {35, 3},  {43, 3},  {51, 3}, {59, 3},
     {67, 4}, {83, 4}, {99, 4}, {115, 4}, {131, 5}, {163, 5}, {195, 5}, {227, 5}, {258, 0}}};

constexpr std::array<Range, 30> distances = {
    {{1, 0},     {2, 0},     {3, 0},     {4, 0},      {5, 1},      {7, 1},
     {9, 2},     {13, 2},    {17, 3},    {25, 3},     {33, 4},     {49, 4},
     {65, 5},    {97, 5},    {129, 6},   {193, 6},    {257, 7},    {385, 7},
     {513, 8},   {769, 8},   {1025, 9},  {1537, 9},   {2049, 10},  {3073, 10},
     {4097, 11}, {6145, 11}, {8193, 12}, {12289, 12}, {16385, 13}, {24577, 13}}};

template <std::size_t count>
std::size_t place_of(const std::array<Range, count>& ranges, std::uint32_t value) {
  const auto after = std::upper_bound(
      ranges.begin(), ranges.end(), value,
      [](std::uint32_t number, const Range& range) { return number < range.first; });
  return static_cast<std::size_t>(after - ranges.begin()) - 1;
}

// One block of the codes that deflate fixes: no tables in the file, and little code here.
class Deflate {
 public:
  Bytes compress(const Bytes& data) {
    put(3, 3);  // the last block, fixed codes
    for (std::size_t at = 0; at < data.size();) {
      const auto [length, distance] = find_match(data, at);
      if (length < 4) {
        put_symbol(data[at]);
        remember(data, at++);
        continue;
      }
      const std::size_t place = place_of(lengths, length);
      put_symbol(257 + static_cast<std::uint32_t>(place));
      put(length - lengths[place].first, lengths[place].extra_bits);
      const std::size_t far = place_of(distances, distance);
      put_code(static_cast<std::uint32_t>(far), 5);
      put(distance - distances[far].first, distances[far].extra_bits);
      for (std::uint32_t i = 0; i < length; ++i) {
        remember(data, at++);
      }
    }
    put_symbol(256);
    put(0, 7);  // fills the last byte
    return std::move(bytes_);
  }

 private:
  struct Match {
    std::uint32_t length = 0;
    std::uint32_t distance = 0;
  };
  static constexpr std::size_t window = 32768;
  static constexpr int tries = 64;

  [[nodiscard]] static std::size_t hash(const Bytes& data, std::size_t at) {
    return (data[at] << 7 ^ data[at + 1] << 4 ^ data[at + 2] << 2 ^ data[at + 3]) & 0x7FFF;
  }

  void remember(const Bytes& data, std::size_t at) {
    if (at + 4 <= data.size()) {
      previous_[at % window] = last_[hash(data, at)];
      last_[hash(data, at)] = static_cast<std::ptrdiff_t>(at);
    }
  }

  [[nodiscard]] Match find_match(const Bytes& data, std::size_t at) const {
    Match best;
    if (at + 4 > data.size()) {
      return best;
    }
    const std::size_t most = std::min<std::size_t>(258, data.size() - at);
    std::ptrdiff_t from = last_[hash(data, at)];
    for (int i = 0; i < tries && from >= 0; ++i) {
      const auto place = static_cast<std::size_t>(from);
      if (at - place >= window) {
        break;
      }
      std::size_t length = 0;
      while (length < most && data[place + length] == data[at + length]) {
        ++length;
      }
      if (length > best.length) {
        best = {static_cast<std::uint32_t>(length), static_cast<std::uint32_t>(at - place)};
      }
      from = previous_[place % window];
    }
    return best;
  }

  // bits of numbers come lowest first, those of codes highest first
  void put(std::uint32_t bits, int count) {
    for (int i = 0; i < count; ++i) {
      byte_ |= (bits >> i & 1U) << filled_;
      if (++filled_ == 8) {
        bytes_.push_back(static_cast<std::uint8_t>(byte_));
        byte_ = 0;
        filled_ = 0;
      }
    }
  }
  void put_code(std::uint32_t code, int count) {
    for (int i = count - 1; i >= 0; --i) {
      put(code >> i & 1U, 1);
    }
  }
  void put_symbol(std::uint32_t symbol) {
    if (symbol < 144) {
      put_code(0x30 + symbol, 8);
    } else if (symbol < 256) {
      put_code(0x190 + symbol - 144, 9);
    } else if (symbol < 280) {
      put_code(symbol - 256, 7);
    } else {
      put_code(0xC0 + symbol - 280, 8);
    }
  }

  Bytes bytes_;
  std::uint32_t byte_ = 0;
  int filled_ = 0;
  std::vector<std::ptrdiff_t> last_ = std::vector<std::ptrdiff_t>(window, -1);
  std::vector<std::ptrdiff_t> previous_ = std::vector<std::ptrdiff_t>(window, -1);
};

// ---- the file -----------------------------------------------------------------------------------

void add_u32(std::string& text, std::uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) {
    text.push_back(static_cast<char>(value >> shift & 255));
  }
}

std::uint32_t crc_of(std::string_view bytes) {
  std::uint32_t crc = 0xFFFFFFFF;
  for (const char byte : bytes) {
    crc ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc & 1) != 0 ? crc >> 1 ^ 0xEDB88320 : crc >> 1;
    }
  }
  return ~crc;
}

void add_chunk(std::string& file, const std::string& name, std::string_view content) {
  add_u32(file, static_cast<std::uint32_t>(content.size()));
  const std::size_t first = file.size();
  file += name;
  file += content;
  add_u32(file, crc_of(std::string_view(file).substr(first)));
}

std::string zlib_of(const Bytes& data) {
  std::string result = "\x78\x9c";
  const Bytes packed = Deflate().compress(data);
  result.append(packed.begin(), packed.end());
  std::uint32_t low = 1;
  std::uint32_t high = 0;
  for (const std::uint8_t byte : data) {
    low = (low + byte) % 65521;
    high = (high + low) % 65521;
  }
  add_u32(result, high << 16 | low);
  return result;
}

// The colours that there are, numbered; empty when they do not fit into a byte.
std::map<Color, std::uint8_t> palette_of(const Picture& picture) {
  std::map<Color, std::uint8_t> palette;
  for (const Color& color : picture.pixels) {
    if (!palette.contains(color)) {
      if (palette.size() == 256) {
        return {};
      }
      palette.emplace(color, static_cast<std::uint8_t>(palette.size()));
    }
  }
  return palette;
}

}  // namespace

std::string encode_png(const Picture& picture) {
  const std::map<Color, std::uint8_t> palette = palette_of(picture);
  Bytes rows;
  for (int y = 0; y < picture.height_pixels; ++y) {
    rows.push_back(0);  // no filter
    for (int x = 0; x < picture.width_pixels; ++x) {
      const Color& color = picture.at(x, y);
      if (palette.empty()) {
        rows.insert(rows.end(), color.begin(), color.end());
      } else {
        rows.push_back(palette.at(color));
      }
    }
  }
  std::string header;
  add_u32(header, static_cast<std::uint32_t>(picture.width_pixels));
  add_u32(header, static_cast<std::uint32_t>(picture.height_pixels));
  header += {8, static_cast<char>(palette.empty() ? 2 : 3), 0, 0, 0};
  std::string colors(3 * palette.size(), '\0');
  for (const auto& [color, number] : palette) {
    for (std::size_t i = 0; i < 3; ++i) {
      colors[3U * number + i] = static_cast<char>(color[i]);
    }
  }
  std::string file = "\x89PNG\r\n\x1a\n";
  add_chunk(file, "IHDR", header);
  if (!palette.empty()) {
    add_chunk(file, "PLTE", colors);
  }
  add_chunk(file, "IDAT", zlib_of(rows));
  add_chunk(file, "IEND", "");
  return file;
}

}  // namespace rtcg::tools
