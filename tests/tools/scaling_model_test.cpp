#include "tools/scaling_model.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace rtcg::tools {
namespace {

// 1 us a stage and 1 us for each thousand elements; faces of 1000 bytes.
ScalingModel model() {
  ScalingModel result;
  result.stages = {{1000, 2}, {6000, 7}, {600'000, 601}};
  result.bytes_of_face = 1000;
  result.inside = {4, 100};
  result.between = {10, 20};
  return result;
}

TEST(ScalingModel, CutsBoxesWithTheLeastSurface) {
  EXPECT_EQ(best_grid({40, 40, 40}, 8), (std::array<int, 3>{2, 2, 2}));
  EXPECT_EQ(best_grid({400, 10, 10}, 4), (std::array<int, 3>{4, 1, 1}));
  EXPECT_EQ(best_grid({40, 40, 40}, 1), (std::array<int, 3>{1, 1, 1}));
  const std::array<int, 3> most = best_grid({1, 1, 1}, 65536);
  EXPECT_EQ(most[0] * most[1] * most[2], 65536);
  EXPECT_LE(*std::max_element(most.begin(), most.end()), 64);
}

TEST(ScalingModel, IsOnALineBetweenMeasuredStages) {
  EXPECT_DOUBLE_EQ(model().stage_us(1000), 2);
  EXPECT_DOUBLE_EQ(model().stage_us(3000), 4);
  EXPECT_DOUBLE_EQ(model().stage_us(300'000), 301);
  EXPECT_DOUBLE_EQ(model().stage_us(1'200'000), 1201);  // beyond the last
  EXPECT_DOUBLE_EQ(model().stage_us(0), 1);             // and before the first: the launch
  ScalingModel one = model();
  one.stages.resize(1);
  EXPECT_DOUBLE_EQ(one.stage_us(500), 1);
}

TEST(ScalingModel, HidesMessagesBehindElementsInside) {
  // 100 x 10 x 10 cells: two parts of 30,000 elements, 200 faces between them
  const double messages = 4 + 200 * 1000 / 100e3;
  EXPECT_DOUBLE_EQ(model().stage_us({100, 10, 10}, 1), 61);
  ASSERT_LT(messages, model().stage_us(30'000 - 200));
  EXPECT_DOUBLE_EQ(model().stage_us({100, 10, 10}, 2),
                   model().stage_us(30'000 - 200) + model().stage_us(200));
  // with a slow link they decide
  ScalingModel slow = model();
  slow.inside = {500, 100};
  EXPECT_DOUBLE_EQ(slow.stage_us({100, 10, 10}, 2), 502 + model().stage_us(200));
  // and so does a slow host
  slow.host_us = 2000;
  EXPECT_DOUBLE_EQ(slow.stage_us({100, 10, 10}, 2), 2000);
  EXPECT_DOUBLE_EQ(slow.stage_us({100, 10, 10}, 1), 61);
}

TEST(ScalingModel, CrossesToOtherMachinesAtTheirEnds) {
  ScalingModel pairs = model();
  pairs.devices_of_machine = 2;
  // four parts in a row: one neighbour within the machine, one beyond
  const double inside = 4 + 200 * 1000 / 100e3;
  const double between = 10 + 200 * 1000 / 20e3;
  pairs.stages = {{1, 1e-9}, {2, 2e-9}};  // elements take no time
  EXPECT_NEAR(pairs.stage_us({40, 10, 10}, 4), between, 1e-3);
  pairs.devices_of_machine = 4;
  EXPECT_NEAR(pairs.stage_us({40, 10, 10}, 4), 4 + 400 * 1000 / 100e3, 1e-3);
  EXPECT_NEAR(pairs.stage_us({20, 10, 10}, 2), inside, 1e-3);
}

}  // namespace
}  // namespace rtcg::tools
