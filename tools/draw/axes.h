#pragma once

#include <string>
#include <vector>

#include "tools/draw/canvas.h"

// A frame with ticks, which pictures of slices and plots share.

namespace rtcg::tools::detail {

inline constexpr Color black = {0, 0, 0};
inline constexpr Color grey = {225, 225, 225};
inline constexpr double letters = 9;  ///< height of capitals on axes, in pixels

/// Round numbers within [low, high], about `count` of them.
[[nodiscard]] std::vector<double> ticks(double low, double high, int count);
/// Powers of ten within [low, high] if the range has two or more, otherwise round numbers.
[[nodiscard]] std::vector<double> logarithmic_ticks(double low, double high);
/// `0.25`, `1e-07`.
[[nodiscard]] std::string tick_text(double value);

/// A rectangle of a canvas that shows ranges of two quantities.
struct Frame {
  int left = 0;
  int top = 0;
  int width = 0;
  int height = 0;
  double x_low = 0;
  double x_high = 1;
  double y_low = 0;
  double y_high = 1;
  bool is_logarithmic = false;
  std::vector<double> x_ticks{};  ///< default: round numbers

  [[nodiscard]] Spot at(double x, double y) const;
};

/// Ticks with numbers and the names of both axes around the frame, and its border.
///
/// @param has_grid  with lines at the ticks
void draw_axes(Canvas& canvas, const Frame& frame, const std::string& x_name,
               const std::string& y_name, bool has_grid);

}  // namespace rtcg::tools::detail
