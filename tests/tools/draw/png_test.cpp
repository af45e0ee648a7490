#include "tools/draw/png.h"

#include <fstream>
#include <random>

#include <gtest/gtest.h>

#include "tests/support/compile_text.h"

namespace rtcg::tools {
namespace {

// Reads a PNG file by Python's own zlib, checks all sums, and prints size, kind and pixels.
constexpr const char* reader = R"(
import struct, sys, zlib
data = open(sys.argv[1], 'rb').read()
assert data[:8] == b'\x89PNG\r\n\x1a\n'
at, chunks = 8, {}
while at < len(data):
    size, name = struct.unpack('>I4s', data[at:at + 8])
    content = data[at + 8:at + 8 + size]
    assert struct.unpack('>I', data[at + 8 + size:at + 12 + size])[0] == zlib.crc32(name + content)
    chunks[name] = content
    at += 12 + size
assert b'IEND' in chunks
width, height, depth, kind, a, b, c = struct.unpack('>IIBBBBB', chunks[b'IHDR'])
assert (depth, a, b, c) == (8, 0, 0, 0)
rows = zlib.decompress(chunks[b'IDAT'])
step = 1 + width * (3 if kind == 2 else 1)
assert len(rows) == height * step
sys.stdout.write('%d %d %d\n' % (width, height, kind))
for y in range(height):
    row = rows[y * step:(y + 1) * step]
    assert row[0] == 0
    if kind == 3:
        row = b' ' + b''.join(chunks[b'PLTE'][3 * i:3 * i + 3] for i in row[1:])
    sys.stdout.write(row[1:].hex() + '\n')
)";

std::string read_back(const Picture& picture) {
  const rtcg::testing::ScratchFolder folder;
  const std::string png = (folder.path() / "picture.png").string();
  const std::string script = (folder.path() / "read.py").string();
  std::ofstream(png, std::ios::binary) << encode_png(picture);
  std::ofstream(script) << reader;
  return rtcg::testing::run_command("python3 " + script + " " + png).output;
}

std::string expected(const Picture& picture, int kind) {
  std::string text = std::to_string(picture.width_pixels) + " " +
                     std::to_string(picture.height_pixels) + " " + std::to_string(kind) + "\n";
  for (int y = 0; y < picture.height_pixels; ++y) {
    for (int x = 0; x < picture.width_pixels; ++x) {
      for (const std::uint8_t part : picture.at(x, y)) {
        text += "0123456789abcdef"[part >> 4];
        text += "0123456789abcdef"[part & 15];
      }
    }
    text += "\n";
  }
  return text;
}

Picture painted(int width, int height, Color (*color)(int x, int y)) {
  Picture picture{width, height, std::vector<Color>(static_cast<std::size_t>(width * height))};
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      picture.at(x, y) = color(x, y);
    }
  }
  return picture;
}

TEST(Png, IsReadBackByAnIndependentReader) {
  const Picture few = painted(301, 113, [](int x, int y) -> Color {
    return {static_cast<std::uint8_t>((x + y) / 8 % 16), 7, static_cast<std::uint8_t>(y / 40)};
  });
  EXPECT_EQ(read_back(few), expected(few, 3));
  const Picture many = painted(64, 40, [](int x, int y) -> Color {
    return {static_cast<std::uint8_t>(4 * x), static_cast<std::uint8_t>(6 * y),
            static_cast<std::uint8_t>(x * y)};
  });
  EXPECT_EQ(read_back(many), expected(many, 2));
  const Picture one = painted(1, 1, [](int, int) -> Color { return {1, 2, 255}; });
  EXPECT_EQ(read_back(one), expected(one, 3));
}

// Long runs, matches at the window's far end, and bytes without any match.
TEST(Png, PacksWhatRepeatsAndKeepsWhatDoesNot) {
  const Picture plain = painted(500, 500, [](int, int) -> Color { return {255, 255, 255}; });
  EXPECT_EQ(read_back(plain), expected(plain, 3));
  EXPECT_LT(encode_png(plain).size(), 2000U);
  std::mt19937 random(5);
  Picture noise = plain;
  for (Color& color : noise.pixels) {
    color = {static_cast<std::uint8_t>(random()), static_cast<std::uint8_t>(random()), 0};
  }
  EXPECT_EQ(read_back(noise), expected(noise, 2));
}

}  // namespace
}  // namespace rtcg::tools
