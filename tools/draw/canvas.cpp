#include "tools/draw/canvas.h"

#include <algorithm>
#include <cmath>

namespace rtcg::tools {
namespace {

// Characters from '!' to '~': places as two digits, strokes between blanks or bars.
constexpr std::array<std::string_view, 94> glyphs = {
    "18 14|12 12", "16 18|36 38", "12 18|32 38|04 44|06 46",
    "47 38 18 07 06 15 35 44 43 32 12 03|29 21", "02 48|08 18 17 07 08|32 42 43 33 32",
    "42 07 18 28 27 04 03 12 22 44", "16 18", "28 17 13 22", "08 17 13 02", "23 27|04 46|06 44",
    "05 45|23 27", "13 12 01", "05 35", "12 12", "02 48",
    // 0 to 9; the zero is narrower than the letter
    "12 03 07 18 28 37 33 22 12", "07 28 22|12 32", "07 18 38 47 46 02 42",
    "07 18 38 47 46 35 15|35 44 43 32 12 03", "32 38 04 44", "48 08 05 35 44 43 32 12 03",
    "47 38 18 07 03 12 32 43 44 35 15 04", "08 48 12",
    "15 06 07 18 38 47 46 35 15 04 03 12 32 43 44 35", "03 12 32 43 47 38 18 07 06 15 35 46",
    "13 13|16 16", "16 16|13 12 01", "47 05 43", "04 44|06 46", "07 45 03",
    "07 18 38 47 46 25 24|22 22", "46 35 24 33 45 47 38 18 07 03 12 42",
    // A to Z
    "02 28 42|14 34", "02 08 38 47 46 35 05|35 44 43 32 02", "47 38 18 07 03 12 32 43",
    "02 08 28 46 44 22 02", "48 08 02 42|05 35", "48 08 02|05 35", "47 38 18 07 03 12 32 43 45 25",
    "02 08|42 48|05 45", "02 22|12 18|08 28", "38 33 22 12 03", "02 08|48 05|15 42", "08 02 42",
    "02 08 25 48 42", "02 08 42 48", "12 03 07 18 38 47 43 32 12", "02 08 38 47 46 35 05",
    "12 03 07 18 38 47 43 32 12|24 42", "02 08 38 47 46 35 05|25 42",
    "47 38 18 07 06 15 35 44 43 32 12 03", "08 48|28 22", "08 03 12 32 43 48", "08 22 48",
    "08 12 26 32 48", "02 48|08 42", "08 25 48|25 22", "08 48 02 42", "28 08 02 22", "08 42",
    "08 28 22 02", "06 28 46", "01 41", "08 16",
    // a to z
    "46 42|45 36 16 05 03 12 32 43", "08 02|03 12 32 43 45 36 16 05", "45 36 16 05 03 12 32 43",
    "48 42|45 36 16 05 03 12 32 43", "04 44 45 36 16 05 03 12 32 43", "38 28 17 12|06 26",
    "46 41 30 10 01|45 36 16 05 03 12 32 43", "08 02|05 16 36 45 42", "06 02|08 08",
    "26 21 10 00|28 28", "08 02|36 04|15 32", "08 03 12", "06 02|05 16 25 22|25 36 45 42",
    "06 02|05 16 36 45 42", "12 03 05 16 36 45 43 32 12", "06 00|05 16 36 45 43 32 12 03",
    "46 40|45 36 16 05 03 12 32 43", "06 02|05 16 36", "45 36 16 05 14 34 43 32 12 03",
    "18 13 22 32|06 36", "06 03 12 32 43|46 42", "06 22 46", "06 12 25 32 46", "02 46|06 42",
    "06 22|46 10 00", "06 46 02 42", "28 17 16 05 14 13 22", "08 01", "08 17 16 25 14 13 02",
    "04 15 34 45"};

constexpr double grid_of_capitals = 6;  // grid lines that a capital letter is high
constexpr double gap = 1.9;             // between letters, in grid lines

double advance_of(char character) {
  int width = 0;
  for (const auto& stroke : detail::strokes_of(character)) {
    for (const auto& [x, y] : stroke) {
      width = std::max(width, x);
    }
  }
  return character == ' ' ? 3.5 : width + gap;
}

double distance_to_segment(const Spot& at, const Spot& from, const Spot& to) {
  const double dx = to.x - from.x;
  const double dy = to.y - from.y;
  const double square = dx * dx + dy * dy;
  const double along =
      square > 0 ? std::clamp(((at.x - from.x) * dx + (at.y - from.y) * dy) / square, 0.0, 1.0) : 0;
  return std::hypot(at.x - from.x - along * dx, at.y - from.y - along * dy);
}

}  // namespace

std::vector<std::vector<std::pair<int, int>>> detail::strokes_of(char character) {
  std::vector<std::vector<std::pair<int, int>>> strokes;
  if (character < '!' || character > '~') {
    return strokes;
  }
  const std::string_view glyph = glyphs[static_cast<std::size_t>(character - '!')];
  for (std::size_t i = 0; i < glyph.size(); i += 3) {
    if (i == 0 || glyph[i - 1] == '|') {
      strokes.emplace_back();
    }
    strokes.back().emplace_back(glyph[i] - '0', glyph[i + 1] - '0');
  }
  return strokes;
}

Canvas::Canvas(int width_pixels, int height_pixels) {
  picture_.width_pixels = width_pixels;
  picture_.height_pixels = height_pixels;
  picture_.pixels.assign(
      static_cast<std::size_t>(width_pixels) * static_cast<std::size_t>(height_pixels),
      {255, 255, 255});
}

void Canvas::set(int x, int y, const Color& color) {
  if (x >= 0 && y >= 0 && x < picture_.width_pixels && y < picture_.height_pixels) {
    picture_.at(x, y) = color;
  }
}

void Canvas::fill(int left, int top, int right, int bottom, const Color& color) {
  for (int y = top; y < bottom; ++y) {
    for (int x = left; x < right; ++x) {
      set(x, y, color);
    }
  }
}

void Canvas::blend(int x, int y, double share, const Color& color) {
  // in few steps, so that a picture keeps few colours
  const double part = std::round(std::clamp(share, 0.0, 1.0) * 6) / 6;
  if (part <= 0 || x < 0 || y < 0 || x >= picture_.width_pixels || y >= picture_.height_pixels) {
    return;
  }
  Color& below = picture_.at(x, y);
  for (std::size_t i = 0; i < 3; ++i) {
    below[i] = static_cast<std::uint8_t>(std::lround(below[i] + part * (color[i] - below[i])));
  }
}

// Colours the pixels whose middle has a negative distance, half those where it is about 0.
template <class Distance>
void Canvas::shape(double left, double top, double right, double bottom, const Color& color,
                   Distance&& distance) {
  for (int y = static_cast<int>(std::floor(top)) - 1; y <= static_cast<int>(bottom) + 1; ++y) {
    for (int x = static_cast<int>(std::floor(left)) - 1; x <= static_cast<int>(right) + 1; ++x) {
      blend(x, y, 0.5 - distance(Spot{x + 0.5, y + 0.5}), color);
    }
  }
}

void Canvas::lines(const std::vector<Spot>& spots, double width_pixels, const Color& color) {
  const double reach = width_pixels / 2;
  // all at once, so that the joints are not drawn twice
  Spot low{1e300, 1e300};
  Spot high{-1e300, -1e300};
  for (const Spot& spot : spots) {
    low = {std::min(low.x, spot.x), std::min(low.y, spot.y)};
    high = {std::max(high.x, spot.x), std::max(high.y, spot.y)};
  }
  if (spots.empty()) {
    return;
  }
  std::vector<double> nearest;
  const int left = static_cast<int>(std::floor(low.x - reach)) - 1;
  const int top = static_cast<int>(std::floor(low.y - reach)) - 1;
  const int columns = static_cast<int>(high.x + reach) + 2 - left;
  const int rows = static_cast<int>(high.y + reach) + 2 - top;
  nearest.assign(static_cast<std::size_t>(columns) * static_cast<std::size_t>(rows), 1e300);
  for (std::size_t i = 0; i < std::max<std::size_t>(1, spots.size() - 1); ++i) {
    const Spot& from = spots[i];
    const Spot& to = spots[std::min(i + 1, spots.size() - 1)];
    const int first_x = static_cast<int>(std::floor(std::min(from.x, to.x) - reach)) - 1;
    const int last_x = static_cast<int>(std::max(from.x, to.x) + reach) + 1;
    const int first_y = static_cast<int>(std::floor(std::min(from.y, to.y) - reach)) - 1;
    const int last_y = static_cast<int>(std::max(from.y, to.y) + reach) + 1;
    for (int y = first_y; y <= last_y; ++y) {
      for (int x = first_x; x <= last_x; ++x) {
        double& known =
            nearest[static_cast<std::size_t>(y - top) * static_cast<std::size_t>(columns) +
                    static_cast<std::size_t>(x - left)];
        known = std::min(known, distance_to_segment({x + 0.5, y + 0.5}, from, to));
      }
    }
  }
  for (int y = 0; y < rows; ++y) {
    for (int x = 0; x < columns; ++x) {
      blend(left + x, top + y,
            0.5 + reach -
                nearest[static_cast<std::size_t>(y) * static_cast<std::size_t>(columns) +
                        static_cast<std::size_t>(x)],
            color);
    }
  }
}

void Canvas::circle(const Spot& centre, double radius_pixels, const Color& color) {
  shape(centre.x - radius_pixels, centre.y - radius_pixels, centre.x + radius_pixels,
        centre.y + radius_pixels, color, [&](const Spot& at) {
          return std::hypot(at.x - centre.x, at.y - centre.y) - radius_pixels;
        });
}

double Canvas::text_width(std::string_view words, double height_pixels) {
  double width = 0;
  for (const char character : words) {
    width += advance_of(character);
  }
  return (width - gap) * height_pixels / grid_of_capitals;
}

void Canvas::text(const Spot& base, std::string_view words, double height_pixels,
                  const Color& color, TextAnchor anchor) {
  const double scale = height_pixels / grid_of_capitals;
  const double width = text_width(words, height_pixels);
  double x = base.x - (anchor == TextAnchor::start ? 0
                       : anchor == TextAnchor::end ? width
                                                   : width / 2);
  for (const char character : words) {
    for (const auto& stroke : detail::strokes_of(character)) {
      std::vector<Spot> spots;
      for (const auto& [column, row] : stroke) {
        spots.push_back({x + column * scale, base.y - (row - 2) * scale});
      }
      lines(spots, std::max(1.1, height_pixels / 7.5), color);
    }
    x += advance_of(character) * scale;
  }
}

}  // namespace rtcg::tools
