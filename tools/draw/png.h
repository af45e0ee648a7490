#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace rtcg::tools {

/// Red, green and blue, from 0 to 255.
using Color = std::array<std::uint8_t, 3>;

/// A grid of colours, row by row from the top.
struct Picture {
  int width_pixels = 0;
  int height_pixels = 0;
  std::vector<Color> pixels{};

  [[nodiscard]] Color& at(int x, int y) {
    return pixels[static_cast<std::size_t>(y) * static_cast<std::size_t>(width_pixels) +
                  static_cast<std::size_t>(x)];
  }
  [[nodiscard]] const Color& at(int x, int y) const {
    return pixels[static_cast<std::size_t>(y) * static_cast<std::size_t>(width_pixels) +
                  static_cast<std::size_t>(x)];
  }
};

/// The bytes of a PNG file; one byte for each pixel if there are at most 256 colours. Needs no
/// library, so programs that draw have no further dependency.
///
/// @source ISO/IEC 15948 (PNG), RFC 1950 and RFC 1951 (zlib, deflate)
[[nodiscard]] std::string encode_png(const Picture& picture);

}  // namespace rtcg::tools
