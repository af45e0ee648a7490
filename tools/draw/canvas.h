#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "tools/draw/png.h"

namespace rtcg::tools {

/// A place on a canvas, in pixels from its upper left corner.
struct Spot {
  double x = 0;
  double y = 0;
};

enum class TextAnchor { start, middle, end };

/// A white picture to draw on: lines with smooth edges, and text of lines.
class Canvas {
 public:
  Canvas(int width_pixels, int height_pixels);

  void fill(int left, int top, int right, int bottom, const Color& color);
  void set(int x, int y, const Color& color);
  /// Lines with round ends from each spot to the next.
  void lines(const std::vector<Spot>& spots, double width_pixels, const Color& color);
  void circle(const Spot& centre, double radius_pixels, const Color& color);
  /// One line of text; characters other than those of ASCII are left out.
  ///
  /// @param base  of the text, at its left end, middle or right end
  /// @param height_pixels  of capital letters
  void text(const Spot& base, std::string_view words, double height_pixels, const Color& color,
            TextAnchor anchor = TextAnchor::start);
  [[nodiscard]] static double text_width(std::string_view words, double height_pixels);

  [[nodiscard]] const Picture& picture() const noexcept { return picture_; }

 private:
  void blend(int x, int y, double share, const Color& color);
  template <class Distance>
  void shape(double left, double top, double right, double bottom, const Color& color,
             Distance&& distance);

  Picture picture_;
};

namespace detail {
/// The strokes of a character, each of places on a grid: capitals reach from 2 to 8 upward, small
/// letters to 6, some below 2. All are 4 wide or less.
[[nodiscard]] std::vector<std::vector<std::pair<int, int>>> strokes_of(char character);
}  // namespace detail

}  // namespace rtcg::tools
