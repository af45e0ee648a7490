#include "tools/draw/axes.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace rtcg::tools::detail {

std::vector<double> ticks(double low, double high, int count) {
  const double rough = (high - low) / std::max(1, count);
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  double step = power;
  for (const double factor : {1.0, 2.0, 5.0, 10.0}) {
    step = factor * power;
    if (step >= rough) {
      break;
    }
  }
  std::vector<double> result;
  const double slack = 1e-9 * (high - low);
  for (double i = std::ceil((low - slack) / step); i * step <= high + slack; ++i) {
    result.push_back(i == 0 ? 0 : i * step);  // no -0
  }
  return result;
}

std::vector<double> logarithmic_ticks(double low, double high) {
  std::vector<double> result;
  const double first = std::ceil(std::log10(low) - 1e-9);
  const double last = std::floor(std::log10(high) + 1e-9);
  const double step = std::max(1.0, std::ceil((last - first) / 8));
  for (double exponent = first; exponent <= last; exponent += step) {
    result.push_back(std::pow(10.0, exponent));
  }
  if (result.size() < 2) {
    result.clear();
    for (double exponent = first - 1; exponent <= last + 1; ++exponent) {
      for (const double factor : {1.0, 2.0, 5.0}) {
        const double value = factor * std::pow(10.0, exponent);
        if (value >= low * (1 - 1e-9) && value <= high * (1 + 1e-9)) {
          result.push_back(value);
        }
      }
    }
  }
  return result;
}

std::string tick_text(double value) {
  const double size = std::abs(value);
  return size != 0 && (size < 1e-3 || size >= 1e5) ? fmt::format("{:.3g}", value)
                                                   : fmt::format("{:.4g}", value);
}

Spot Frame::at(double x, double y) const {
  const auto part = [&](double value, double low, double high) {
    return is_logarithmic ? std::log(value / low) / std::log(high / low)
                          : (value - low) / (high - low);
  };
  return {left + width * part(x, x_low, x_high), top + height * (1 - part(y, y_low, y_high))};
}

void draw_axes(Canvas& canvas, const Frame& frame, const std::string& x_name,
               const std::string& y_name, bool has_grid) {
  const auto ticks_of = [&](double low, double high, int pixels) {
    return frame.is_logarithmic ? logarithmic_ticks(low, high)
                                : ticks(low, high, std::max(2, pixels / 75));
  };
  const double right = frame.left + frame.width;
  const double bottom = frame.top + frame.height;
  for (const double x :
       frame.x_ticks.empty() ? ticks_of(frame.x_low, frame.x_high, frame.width) : frame.x_ticks) {
    const double at = frame.at(x, frame.y_low).x;
    if (has_grid) {
      canvas.lines({{at, static_cast<double>(frame.top)}, {at, bottom}}, 1, grey);
    }
    canvas.lines({{at, bottom}, {at, bottom + 5}}, 1, black);
    canvas.text({at, bottom + 9 + letters}, tick_text(x), letters, black, TextAnchor::middle);
  }
  for (const double y : ticks_of(frame.y_low, frame.y_high, frame.height)) {
    const double at = frame.at(frame.x_low, y).y;
    if (has_grid) {
      canvas.lines({{static_cast<double>(frame.left), at}, {right, at}}, 1, grey);
    }
    canvas.lines({{frame.left - 5.0, at}, {static_cast<double>(frame.left), at}}, 1, black);
    canvas.text({frame.left - 9.0, at + letters / 2}, tick_text(y), letters, black,
                TextAnchor::end);
  }
  const double l = frame.left - 0.5;
  const double t = frame.top - 0.5;
  canvas.lines({{l, t}, {right + 0.5, t}, {right + 0.5, bottom + 0.5}, {l, bottom + 0.5}, {l, t}},
               1, black);
  canvas.text({frame.left + frame.width / 2.0, bottom + 18 + 2 * letters + 2}, x_name, letters + 1,
              black, TextAnchor::middle);
  // next to the uppermost numbers, where there is room for a word
  canvas.text({frame.left - 9.0, frame.top - 12.0}, y_name, letters + 1, black, TextAnchor::end);
}

}  // namespace rtcg::tools::detail
