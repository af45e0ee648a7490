#include "tools/draw/canvas.h"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

namespace rtcg::tools {
namespace {

constexpr Color black = {0, 0, 0};
constexpr Color white = {255, 255, 255};

long long count_dark(const Picture& picture) {
  return std::count_if(picture.pixels.begin(), picture.pixels.end(),
                       [](const Color& color) { return color[0] < 128; });
}

TEST(Canvas, DrawsLinesOfTheirWidthAndCirclesOfTheirArea) {
  Canvas canvas(100, 50);
  canvas.lines({{10, 20}, {90, 20}}, 4, black);
  EXPECT_EQ(canvas.picture().at(50, 18), black);
  EXPECT_EQ(canvas.picture().at(50, 21), black);
  EXPECT_EQ(canvas.picture().at(50, 15), white);
  EXPECT_EQ(canvas.picture().at(50, 24), white);
  Canvas disc(100, 100);
  disc.circle({50, 50}, 20, black);
  EXPECT_NEAR(static_cast<double>(count_dark(disc.picture())), 3.14159 * 400, 40);
}

TEST(Canvas, KeepsWithinItsEdges) {
  Canvas canvas(20, 20);
  canvas.lines({{-50, -50}, {80, 60}}, 3, black);
  canvas.fill(-5, 18, 50, 50, black);
  canvas.text({-20, 30}, "outside", 30, black);
  EXPECT_EQ(canvas.picture().pixels.size(), 400U);
  EXPECT_EQ(canvas.picture().at(0, 19), black);
}

TEST(Canvas, HasADifferentShapeForEveryCharacter) {
  std::set<std::vector<std::vector<std::pair<int, int>>>> shapes;
  for (char character = '!'; character <= '~'; ++character) {
    const auto strokes = detail::strokes_of(character);
    EXPECT_FALSE(strokes.empty()) << character;
    for (const auto& stroke : strokes) {
      for (const auto& [x, y] : stroke) {
        EXPECT_TRUE(x >= 0 && x <= 4 && y >= 0 && y <= 9) << character;
      }
    }
    EXPECT_TRUE(shapes.insert(strokes).second) << character;
  }
  EXPECT_TRUE(detail::strokes_of(' ').empty());
  EXPECT_TRUE(detail::strokes_of('\xe4').empty());
}

TEST(Canvas, SetsTextAtItsAnchor) {
  const double width = Canvas::text_width("energy", 12);
  EXPECT_GT(width, 40);
  EXPECT_LT(width, 80);
  const auto dark_columns = [](TextAnchor anchor) {
    Canvas canvas(200, 40);
    canvas.text({100, 30}, "energy", 12, black, anchor);
    std::pair<int, int> columns = {200, -1};
    for (int x = 0; x < 200; ++x) {
      for (int y = 0; y < 40; ++y) {
        if (canvas.picture().at(x, y)[0] < 128) {
          columns = {std::min(columns.first, x), std::max(columns.second, x)};
        }
      }
    }
    return columns;
  };
  EXPECT_NEAR(dark_columns(TextAnchor::start).first, 100, 2);
  EXPECT_NEAR(dark_columns(TextAnchor::end).second, 100, 2);
  EXPECT_NEAR(dark_columns(TextAnchor::middle).first, 100 - width / 2, 2);
  EXPECT_NEAR(dark_columns(TextAnchor::middle).second, 100 + width / 2, 2);
}

}  // namespace
}  // namespace rtcg::tools
