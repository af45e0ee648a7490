#include <algorithm>
#include <cmath>
#include <limits>

#include "rtcg/cgen/support/error.h"
#include "tools/draw/axes.h"
#include "tools/draw/picture.h"

namespace rtcg::tools {
namespace {

using detail::Frame;

// distinct in lightness too
constexpr std::array<Color, 9> colors = {{{31, 94, 168},
                                          {214, 96, 30},
                                          {40, 140, 70},
                                          {170, 30, 60},
                                          {110, 70, 160},
                                          {130, 90, 50},
                                          {220, 120, 180},
                                          {90, 90, 90},
                                          {20, 160, 180}}};

struct Bounds {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  void add(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  // with a margin of a twentieth to both sides
  [[nodiscard]] Bounds widened(bool is_logarithmic) const {
    if (is_logarithmic) {
      const double factor = std::max(std::pow(high / low, 0.07), 1.2);
      return {low / factor, high * factor};
    }
    const double room = high > low ? 0.07 * (high - low) : std::max(1e-300, std::abs(high));
    return {low - room, high + room};
  }
};

// The points that can be shown.
std::vector<Spot> shown(const PlotCurve& curve, bool is_logarithmic) {
  std::vector<Spot> spots;
  for (std::size_t i = 0; i < std::min(curve.x.size(), curve.y.size()); ++i) {
    const bool is_fine = std::isfinite(curve.x[i]) && std::isfinite(curve.y[i]) &&
                         (!is_logarithmic || (curve.x[i] > 0 && curve.y[i] > 0));
    if (is_fine) {
      spots.push_back({curve.x[i], curve.y[i]});
    }
  }
  return spots;
}

}  // namespace

Picture draw_plot(const std::vector<PlotCurve>& curves, const PlotOptions& options) {
  Bounds x;
  Bounds y;
  double widest = 0;
  for (const PlotCurve& curve : curves) {
    for (const Spot& spot : shown(curve, options.is_logarithmic)) {
      x.add(spot.x);
      y.add(spot.y);
    }
    widest = std::max(widest, Canvas::text_width(curve.name, detail::letters));
  }
  if (!(x.low <= x.high)) {
    throw InvalidInput("tools.draw_plot.empty", "the plot has no point to show");
  }
  x = x.widened(options.is_logarithmic);
  y = y.widened(options.is_logarithmic);
  const Frame frame{
      80, 56, 440, 360, x.low, x.high, y.low, y.high, options.is_logarithmic, options.x_ticks};
  Canvas canvas(frame.left + frame.width + 60 + static_cast<int>(widest), 56 + 360 + 56);
  canvas.text({canvas.picture().width_pixels / 2.0, 24}, options.title, 12, detail::black,
              TextAnchor::middle);
  detail::draw_axes(canvas, frame, options.x_name, options.y_name, true);
  for (std::size_t i = 0; i < curves.size(); ++i) {
    const Color& color = colors[i % colors.size()];
    std::vector<Spot> spots;
    for (const Spot& spot : shown(curves[i], options.is_logarithmic)) {
      spots.push_back(frame.at(spot.x, spot.y));
    }
    canvas.lines(spots, 2, color);
    for (const Spot& spot : spots) {
      canvas.circle(spot, 4, color);
    }
    const double line = frame.top + 10 + 20.0 * static_cast<double>(i);
    const double left = frame.left + frame.width + 14;
    canvas.lines({{left, line}, {left + 20, line}}, 2, color);
    canvas.circle({left + 10, line}, 4, color);
    canvas.text({left + 28, line + detail::letters / 2}, curves[i].name, detail::letters,
                detail::black);
  }
  return canvas.picture();
}

}  // namespace rtcg::tools
