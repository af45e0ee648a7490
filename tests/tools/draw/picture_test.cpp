#include "tools/draw/picture.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <gtest/gtest.h>

#include "tests/dg/mesh/box_examples.h"
#include "tests/support/expect_error.h"
#include "tools/draw/axes.h"

namespace rtcg::tools {
namespace {

using dg::Discretization;
using dg::Mesh;
using dg::Point;
using dg::State;

Discretization on_box(int dimension, int order, double perturbation = 0) {
  return discretize(make_box_mesh(dg::testing::box(dimension, 3, perturbation)), order);
}

// Where the domain begins in a picture of it.
constexpr int left = 70;
constexpr int top = 48;

TEST(DrawSlice, ShowsTheSignByTheColour) {
  for (const int dimension : {2, 3}) {
    const Discretization on = on_box(dimension, 2, 0.2);
    const State state = interpolate(on, 2, [](const Point& x) {
      return std::vector<double>{1, x[0] * x[0] - x[1]};
    });
    SliceOptions options;
    options.field = 1;
    options.title = "sign";
    options.size_pixels = 200;
    const Picture picture = draw_slice(on, state, options);
    for (int y = 2; y < 198; y += 7) {
      for (int x = 2; x < 198; x += 7) {
        const double at_x = (x + 0.5) / 200;
        const double value = at_x * at_x - (1 - (y + 0.5) / 200);
        const Color& color = picture.at(left + x, top + y);
        if (std::abs(value) > 0.05) {
          EXPECT_EQ(color[0] > color[2], value > 0) << x << " " << y;
        }
      }
    }
  }
}

TEST(DrawSlice, CutsWhereItIsTold) {
  const Discretization on = on_box(3, 1);
  const State state =
      interpolate(on, 1, [](const Point& x) { return std::vector<double>{x[0] - 0.5}; });
  SliceOptions options;
  options.axis = 0;
  options.size_pixels = 100;
  options.position = 0.9;
  const Picture high = draw_slice(on, state, options);
  options.position = 0.1;
  const Picture low = draw_slice(on, state, options);
  // one value over the plane
  EXPECT_EQ(high.at(left + 10, top + 10), high.at(left + 90, top + 80));
  EXPECT_NE(high.pixels, low.pixels);
}

TEST(DrawSlice, NeedsFewColours) {
  const Discretization on = on_box(2, 4);
  const State state = interpolate(
      on, 1, [](const Point& x) { return std::vector<double>{std::sin(7 * x[0]) * x[1]}; });
  SliceOptions options;
  options.title = "sin(7x) y: 0123456789";
  const Picture picture = draw_slice(on, state, options);
  EXPECT_LE(std::set<Color>(picture.pixels.begin(), picture.pixels.end()).size(), 256U);
  EXPECT_LT(encode_png(picture).size(), 100000U);
}

TEST(DrawSlice, DrawsACurveInOneDimension) {
  const Discretization on = on_box(1, 3);
  const State state =
      interpolate(on, 1, [](const Point& x) { return std::vector<double>{x[0] * x[0]}; });
  const Picture picture = draw_slice(on, state);
  // the curve rises: its pixel in each column is higher up than before
  int last = picture.height_pixels;
  for (const int x : {50, 150, 250, 350, 450}) {
    int y = 0;
    while (y < picture.height_pixels &&
           picture.at(left + x, y)[2] < picture.at(left + x, y)[0] + 60) {
      ++y;
    }
    EXPECT_LT(y, last);
    last = y;
  }
}

TEST(DrawSlice, TakesConstantAndInfiniteFields) {
  const Discretization on = on_box(2, 1);
  State state(1, on);
  EXPECT_GT(encode_png(draw_slice(on, state)).size(), 500U);
  std::fill(state.values.begin(), state.values.end(), INFINITY);
  EXPECT_GT(encode_png(draw_slice(on, state)).size(), 500U);
  const Discretization line = on_box(1, 1);
  State torn(1, line);
  torn.values[0] = NAN;
  EXPECT_GT(encode_png(draw_slice(line, torn)).size(), 500U);
}

TEST(DrawSlice, RefusesWhatIsNotThere) {
  const Discretization on = on_box(3, 1);
  SliceOptions options;
  options.field = 1;
  EXPECT_ERROR("tools.draw_slice.bad_field", draw_slice(on, State(1, on), options));
  options = {};
  options.axis = 3;
  EXPECT_ERROR("tools.draw_slice.bad_axis", draw_slice(on, State(1, on), options));
  options = {};
  options.position = 1.5;
  EXPECT_ERROR("tools.draw_slice.outside", draw_slice(on, State(1, on), options));
}

TEST(DrawPlot, ShowsWhatItCan) {
  const PlotOptions options{"errors", "cells", "error"};
  const Picture both =
      draw_plot({{"a", {4, 8, 16}, {1e-1, 1e-2, 1e-3}}, {"b", {4, 8}, {1, 0}}}, options);
  const std::set<Color> colors(both.pixels.begin(), both.pixels.end());
  EXPECT_TRUE(colors.contains(Color{31, 94, 168}));
  EXPECT_TRUE(colors.contains(Color{214, 96, 30}));
  EXPECT_ERROR("tools.draw_plot.empty", draw_plot({{"a", {1, 2}, {0, -1}}}, options));
  EXPECT_ERROR("tools.draw_plot.empty", draw_plot({}, options));
}

TEST(Ticks, AreRoundNumbersWithinTheRange) {
  EXPECT_EQ(detail::ticks(0, 1, 5), (std::vector<double>{0, 0.2, 0.4, 0.6000000000000001, 0.8, 1}));
  EXPECT_EQ(detail::ticks(-7, 12, 4), (std::vector<double>{-5, 0, 5, 10}));
  EXPECT_EQ(detail::logarithmic_ticks(0.05, 20), (std::vector<double>{0.1, 1, 10}));
  EXPECT_EQ(detail::logarithmic_ticks(3, 18), (std::vector<double>{5, 10}));
  EXPECT_EQ(detail::tick_text(0), "0");
  EXPECT_EQ(detail::tick_text(0.25), "0.25");
  EXPECT_EQ(detail::tick_text(2e-7), "2e-07");
}

}  // namespace
}  // namespace rtcg::tools
