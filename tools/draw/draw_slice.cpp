#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "tools/draw/axes.h"
#include "tools/draw/picture.h"

namespace rtcg::tools {
namespace {

using detail::Frame;
using dg::Discretization;
using dg::Mesh;
using dg::Point;
using dg::ReferenceElement;
using dg::ReferencePoint;
using dg::State;

constexpr double outside = std::numeric_limits<double>::quiet_NaN();
constexpr int color_steps = 180;  // with the shades of letters fewer than 256
constexpr Color curve_color = {31, 94, 168};

// ---- colours ------------------------------------------------------------------------------------

struct Stop {
  double place;
  Color color;
};

// Lightness grows evenly along the first, and to both sides falls along the second.
const std::vector<Stop>& stops_of(bool has_both_signs) {
  static const std::vector<Stop> rising = {{0, {28, 16, 68}},     {0.2, {52, 62, 138}},
                                           {0.4, {36, 118, 142}}, {0.6, {44, 166, 122}},
                                           {0.8, {142, 208, 74}}, {1, {250, 232, 50}}};
  static const std::vector<Stop> both = {{0, {12, 44, 132}},      {0.25, {70, 132, 196}},
                                         {0.45, {206, 225, 242}}, {0.5, {247, 247, 247}},
                                         {0.55, {250, 219, 203}}, {0.75, {214, 96, 77}},
                                         {1, {128, 10, 38}}};
  return has_both_signs ? both : rising;
}

struct ColorScale {
  double low = 0;
  double high = 1;
  bool has_both_signs = false;

  [[nodiscard]] Color of(double value) const {
    const double exact = std::clamp((value - low) / (high - low), 0.0, 1.0);
    const double part = std::round(exact * (color_steps - 1)) / (color_steps - 1);
    const std::vector<Stop>& stops = stops_of(has_both_signs);
    std::size_t next = 1;
    while (next + 1 < stops.size() && part > stops[next].place) {
      ++next;
    }
    const Stop& from = stops[next - 1];
    const double share = (part - from.place) / (stops[next].place - from.place);
    Color color{};
    for (std::size_t i = 0; i < 3; ++i) {
      color[i] = static_cast<std::uint8_t>(
          std::lround(from.color[i] + share * (stops[next].color[i] - from.color[i])));
    }
    return color;
  }
};

// From the least to the largest number, wider where they are the same; around 0 where the smaller
// of both signs is a tenth of the larger at least.
ColorScale scale_of(const std::vector<double>& values) {
  ColorScale scale{std::numeric_limits<double>::infinity(),
                   -std::numeric_limits<double>::infinity(), false};
  for (const double value : values) {
    if (std::isfinite(value)) {
      scale.low = std::min(scale.low, value);
      scale.high = std::max(scale.high, value);
    }
  }
  const double size = std::max({std::abs(scale.low), std::abs(scale.high), 1e-300});
  if (!std::isfinite(size)) {
    return {};
  }
  if (std::min(-scale.low, scale.high) > 0.1 * size) {
    return {-size, size, true};
  }
  if (scale.high - scale.low < 1e-6 * size) {
    return {scale.low - size / 2, scale.high + size / 2, false};
  }
  return scale;
}

// ---- values -------------------------------------------------------------------------------------

// Polynomials of an element by powers of the reference coordinates, which are quick to evaluate.
class Polynomials {
 public:
  explicit Polynomials(const ReferenceElement& element) {
    const auto count = static_cast<Eigen::Index>(element.node_count());
    for (int i = 0; i <= element.order; ++i) {
      for (int j = 0; j <= (element.dimension > 1 ? element.order - i : 0); ++j) {
        for (int k = 0; k <= (element.dimension > 2 ? element.order - i - j : 0); ++k) {
          powers_.push_back({i, j, k});
        }
      }
    }
    Eigen::MatrixXd values(count, count);
    for (Eigen::Index node = 0; node < count; ++node) {
      const std::vector<double> row = products(element.nodes[static_cast<std::size_t>(node)]);
      values.row(node) = Eigen::Map<const Eigen::RowVectorXd>(row.data(), count);
    }
    to_powers_ = values.partialPivLu().inverse();
  }

  void set(const double* nodal_values) {
    coefficients_ = to_powers_ * Eigen::Map<const Eigen::VectorXd>(nodal_values, to_powers_.cols());
  }
  [[nodiscard]] double at(const ReferencePoint& point) const {
    const std::vector<double> row = products(point);
    double sum = 0;
    for (std::size_t i = 0; i < row.size(); ++i) {
      sum += coefficients_[static_cast<Eigen::Index>(i)] * row[i];
    }
    return sum;
  }

 private:
  [[nodiscard]] std::vector<double> products(const ReferencePoint& point) const {
    std::array<std::array<double, dg::highest_order + 1>, 3> power{};
    for (std::size_t axis = 0; axis < 3; ++axis) {
      power[axis][0] = 1;
      for (std::size_t i = 1; i < power[axis].size(); ++i) {
        power[axis][i] = power[axis][i - 1] * point[axis];
      }
    }
    std::vector<double> row;
    row.reserve(powers_.size());
    for (const std::array<int, 3>& each : powers_) {
      row.push_back(power[0][static_cast<std::size_t>(each[0])] *
                    power[1][static_cast<std::size_t>(each[1])] *
                    power[2][static_cast<std::size_t>(each[2])]);
    }
    return row;
  }

  std::vector<std::array<int, 3>> powers_;
  Eigen::MatrixXd to_powers_;
  Eigen::VectorXd coefficients_;
};

struct Extent {
  Point low{};
  Point high{};
};

Extent extent_of(const Mesh& mesh) {
  Extent extent;
  extent.low.fill(std::numeric_limits<double>::infinity());
  extent.high.fill(-std::numeric_limits<double>::infinity());
  for (const Point& vertex : mesh.vertices) {
    for (std::size_t axis = 0; axis < 3; ++axis) {
      extent.low[axis] = std::min(extent.low[axis], vertex[axis]);
      extent.high[axis] = std::max(extent.high[axis], vertex[axis]);
    }
  }
  return extent;
}

// A field at the pixels of a plane.
class SliceGrid {
 public:
  SliceGrid(const Discretization& on, const State& state, std::size_t field,
            std::array<std::size_t, 2> axes, const Point& plane, const Frame& frame)
      : on_(on),
        state_(state),
        field_(field),
        axes_(axes),
        plane_(plane),
        frame_(frame),
        polynomials_(on.element),
        values_(static_cast<std::size_t>(frame.width) * static_cast<std::size_t>(frame.height),
                outside) {}

  std::vector<double> compute() {
    for (std::size_t element = 0; element < on_.element_count(); ++element) {
      add(element);
    }
    return std::move(values_);
  }

 private:
  [[nodiscard]] const Point& corner(std::size_t element, std::size_t number) const {
    return on_.mesh.vertices[static_cast<std::size_t>(on_.mesh.elements[element][number])];
  }

  void add(std::size_t element) {
    Extent around;
    around.low = around.high = corner(element, 0);
    for (std::size_t i = 1; i < on_.mesh.face_count(); ++i) {
      for (std::size_t axis = 0; axis < 3; ++axis) {
        around.low[axis] = std::min(around.low[axis], corner(element, i)[axis]);
        around.high[axis] = std::max(around.high[axis], corner(element, i)[axis]);
      }
    }
    for (std::size_t axis = 0; axis < on_.factors.dimension; ++axis) {
      const bool is_shown = axis == axes_[0] || axis == axes_[1];
      if (!is_shown && (around.low[axis] > plane_[axis] || around.high[axis] < plane_[axis])) {
        return;
      }
    }
    const Spot from = frame_.at(around.low[axes_[0]], around.high[axes_[1]]);
    const Spot to = frame_.at(around.high[axes_[0]], around.low[axes_[1]]);
    bool is_set = false;
    for (int y = pixel(from.y - frame_.top, frame_.height);
         y <= pixel(to.y - frame_.top, frame_.height); ++y) {
      for (int x = pixel(from.x - frame_.left, frame_.width);
           x <= pixel(to.x - frame_.left, frame_.width); ++x) {
        double& value =
            values_[static_cast<std::size_t>(y) * static_cast<std::size_t>(frame_.width) +
                    static_cast<std::size_t>(x)];
        ReferencePoint at{};
        if (!std::isnan(value) || !is_inside(element, point_of(x, y), at)) {
          continue;
        }
        if (!is_set) {
          polynomials_.set(&state_.values[(field_ * state_.elements + element) * state_.nodes]);
          is_set = true;
        }
        value = polynomials_.at(at);
      }
    }
  }

  static int pixel(double place, int count) {
    return std::clamp(static_cast<int>(std::floor(place)), 0, count - 1);
  }

  [[nodiscard]] Point point_of(int x, int y) const {
    Point point = plane_;
    point[axes_[0]] = frame_.x_low + (frame_.x_high - frame_.x_low) * (x + 0.5) / frame_.width;
    point[axes_[1]] = frame_.y_high - (frame_.y_high - frame_.y_low) * (y + 0.5) / frame_.height;
    return point;
  }

  // Also finds the place in the reference element.
  [[nodiscard]] bool is_inside(std::size_t element, const Point& point, ReferencePoint& at) const {
    constexpr double slack = 1e-9;
    const std::size_t dimension = on_.factors.dimension;
    double sum = 0;
    for (std::size_t j = 0; j < dimension; ++j) {
      at[j] = -1;
      for (std::size_t i = 0; i < dimension; ++i) {
        at[j] += on_.factors.metric[(element * dimension + j) * dimension + i] *
                 (point[i] - corner(element, 0)[i]);
      }
      if (at[j] < -1 - slack) {
        return false;
      }
      sum += at[j] + 1;
    }
    return sum <= 2 + slack;
  }

  const Discretization& on_;
  const State& state_;
  std::size_t field_;
  std::array<std::size_t, 2> axes_;
  Point plane_;
  Frame frame_;
  Polynomials polynomials_;
  std::vector<double> values_;
};

// ---- pictures -----------------------------------------------------------------------------------

constexpr int left_margin = 70;
constexpr int top_margin = 48;
constexpr int bottom_margin = 56;

void draw_title(Canvas& canvas, const std::string& title) {
  double height = 12;
  const double room = canvas.picture().width_pixels - 24;
  height = std::min(height, height * room / std::max(1.0, Canvas::text_width(title, height)));
  canvas.text({canvas.picture().width_pixels / 2.0, 24}, title, height, detail::black,
              TextAnchor::middle);
}

void draw_color_bar(Canvas& canvas, const Frame& plot, const ColorScale& scale) {
  const int left = plot.left + plot.width + 24;
  const int width = 18;
  for (int y = 0; y < plot.height; ++y) {
    const double value = scale.high - (scale.high - scale.low) * (y + 0.5) / plot.height;
    canvas.fill(left, plot.top + y, left + width, plot.top + y + 1, scale.of(value));
  }
  const double l = left - 0.5;
  const double r = left + width + 0.5;
  const double t = plot.top - 0.5;
  const double b = plot.top + plot.height + 0.5;
  canvas.lines({{l, t}, {r, t}, {r, b}, {l, b}, {l, t}}, 1, detail::black);
  for (const double tick : detail::ticks(scale.low, scale.high, 6)) {
    const double y = plot.top + plot.height * (scale.high - tick) / (scale.high - scale.low);
    canvas.lines({{r, y}, {r + 4, y}}, 1, detail::black);
    canvas.text({r + 8, y + detail::letters / 2}, detail::tick_text(tick), detail::letters,
                detail::black);
  }
}

Picture draw_curve(const Discretization& on, const State& state, const SliceOptions& options) {
  constexpr int samples = 16;  // an element
  Polynomials polynomials(on.element);
  const Extent extent = extent_of(on.mesh);
  std::vector<std::vector<Spot>> pieces;
  std::vector<double> values;
  for (std::size_t element = 0; element < on.element_count(); ++element) {
    polynomials.set(&state.values[(options.field * state.elements + element) * state.nodes]);
    const auto& corners = on.mesh.elements[element];
    const double from = on.mesh.vertices[static_cast<std::size_t>(corners[0])][0];
    const double to = on.mesh.vertices[static_cast<std::size_t>(corners[1])][0];
    pieces.emplace_back();
    for (int i = 0; i <= samples; ++i) {
      const double part = static_cast<double>(i) / samples;
      values.push_back(polynomials.at({2 * part - 1, 0, 0}));
      pieces.back().push_back({from + part * (to - from), values.back()});
    }
  }
  const ColorScale range = scale_of(values);
  const double room = 0.05 * (range.high - range.low);
  Frame frame{left_margin,   top_margin,     options.size_pixels, options.size_pixels * 5 / 8,
              extent.low[0], extent.high[0], range.low - room,    range.high + room};
  Canvas canvas(left_margin + frame.width + 30, top_margin + frame.height + bottom_margin);
  draw_title(canvas, options.title);
  detail::draw_axes(canvas, frame, "x", "", true);
  for (std::vector<Spot>& piece : pieces) {
    for (Spot& spot : piece) {
      spot = frame.at(spot.x, std::isfinite(spot.y) ? spot.y : frame.y_low);
    }
    canvas.lines(piece, 2, curve_color);
  }
  return canvas.picture();
}

void check(const Discretization& on, const State& state, const SliceOptions& options) {
  check_state(on, state, state.fields, "the state to draw");
  if (options.field >= state.fields) {
    throw InvalidInput("tools.draw_slice.bad_field",
                       fmt::format("there is no field {}: there are {}, counted from 0",
                                   options.field, state.fields));
  }
  if (options.axis >= 3) {
    throw InvalidInput(
        "tools.draw_slice.bad_axis",
        fmt::format("there is no axis {} to slice across: write 0, 1 or 2", options.axis));
  }
  if (on.mesh.dimension == 3 && options.position) {
    const Extent extent = extent_of(on.mesh);
    if (!(*options.position >= extent.low[options.axis] &&
          *options.position <= extent.high[options.axis])) {
      throw InvalidInput("tools.draw_slice.outside",
                         fmt::format("the domain extends from {} to {} along {}, "
                                     "which excludes {}",
                                     extent.low[options.axis], extent.high[options.axis],
                                     "xyz"[options.axis], *options.position));
    }
  }
}

}  // namespace

Picture draw_slice(const Discretization& on, const State& state, const SliceOptions& options) {
  check(on, state, options);
  if (on.mesh.dimension == 1) {
    return draw_curve(on, state, options);
  }
  const Extent extent = extent_of(on.mesh);
  std::array<std::size_t, 2> axes = {0, 1};
  Point plane{};
  if (on.mesh.dimension == 3) {
    axes = {options.axis == 0 ? 1U : 0U, options.axis == 2 ? 1U : 2U};
    const double middle = 0.5 * (extent.low[options.axis] + extent.high[options.axis]);
    plane[options.axis] = options.position.value_or(middle);
  }
  const double width = extent.high[axes[0]] - extent.low[axes[0]];
  const double height = extent.high[axes[1]] - extent.low[axes[1]];
  const double scale = options.size_pixels / std::max(width, height);
  const Frame frame{left_margin,
                    top_margin,
                    std::max(80, static_cast<int>(std::lround(width * scale))),
                    std::max(80, static_cast<int>(std::lround(height * scale))),
                    extent.low[axes[0]],
                    extent.high[axes[0]],
                    extent.low[axes[1]],
                    extent.high[axes[1]]};
  const std::vector<double> values =
      SliceGrid(on, state, options.field, axes, plane, frame).compute();
  const ColorScale colors = scale_of(values);
  Canvas canvas(left_margin + frame.width + 120, top_margin + frame.height + bottom_margin);
  for (int y = 0; y < frame.height; ++y) {
    for (int x = 0; x < frame.width; ++x) {
      const double value =
          values[static_cast<std::size_t>(y) * static_cast<std::size_t>(frame.width) +
                 static_cast<std::size_t>(x)];
      if (!std::isnan(value)) {
        canvas.set(frame.left + x, frame.top + y, colors.of(value));
      }
    }
  }
  draw_title(canvas, options.title);
  detail::draw_axes(canvas, frame, std::string(1, "xyz"[axes[0]]), std::string(1, "xyz"[axes[1]]),
                    false);
  draw_color_bar(canvas, frame, colors);
  return canvas.picture();
}

}  // namespace rtcg::tools
