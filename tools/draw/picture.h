#pragma once

#include <optional>
#include <string>
#include <vector>

#include "rtcg/dg/operators/discretization.h"
#include "tools/draw/png.h"

namespace rtcg::tools {

struct SliceOptions {
  std::size_t field = 0;
  std::string title{};
  /// Of three dimensions those but this one are shown, through `position`; default: the middle.
  std::size_t axis = 2;
  std::optional<double> position{};
  int size_pixels = 480;  ///< of the longer side of the domain
};

/// A field as colours over a plane through the domain, with axes and a colour bar; in one dimension
/// as a curve. Colours run from blue over white (0) to red if the field has both signs, otherwise
/// from dark to light. Polynomials are evaluated at every pixel.
///
/// @throws InvalidInput  tools.draw_slice.bad_field, tools.draw_slice.bad_axis,
///                       tools.draw_slice.outside: the plane misses the domain
[[nodiscard]] Picture draw_slice(const dg::Discretization& on, const dg::State& state,
                                 const SliceOptions& options = {});

struct PlotCurve {
  std::string name{};
  std::vector<double> x{};
  std::vector<double> y{};
};

struct PlotOptions {
  std::string title{};
  std::string x_name{};
  std::string y_name{};
  bool is_logarithmic = true;     ///< both axes
  std::vector<double> x_ticks{};  ///< default: round numbers
};

/// Curves with marks, axes and a legend. Points that a logarithm cannot show are left out.
///
/// @throws InvalidInput  tools.draw_plot.empty: no point to show
[[nodiscard]] Picture draw_plot(const std::vector<PlotCurve>& curves, const PlotOptions& options);

}  // namespace rtcg::tools
