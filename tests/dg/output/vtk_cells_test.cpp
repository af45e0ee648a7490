#include "rtcg/dg/output/vtk_cells.h"

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "rtcg/dg/reference/modes.h"

namespace rtcg::dg {
namespace {

std::string text_of(int dimension, int order) {
  std::string text;
  for (const std::array<int, 3>& place : lagrange_points(dimension, order)) {
    text.push_back(text.empty() ? '|' : ' ');
    for (int axis = 0; axis < dimension; ++axis) {
      text += std::to_string(place[static_cast<std::size_t>(axis)]);
    }
  }
  return text;
}

// What ToBarycentricIndex of VTK 9's vtkLagrangeTriangle and vtkLagrangeTetra
// says.
TEST(VtkCells, PointsStandInTheOrderOfVtk) {
  EXPECT_EQ(text_of(1, 3), "|0 3 1 2");
  EXPECT_EQ(text_of(2, 5), "|00 50 05 10 20 30 40 41 32 23 14 04 03 02 01 11 31 13 21 22 12");
  EXPECT_EQ(text_of(3, 5),
            "|000 500 050 005 100 200 300 400 410 320 230 140 040 030 020 010 "
            "001 002 003 004 401 "
            "302 203 104 041 032 023 014 101 301 103 201 202 102 131 113 311 "
            "122 212 221 011 013 "
            "031 012 022 021 110 130 310 120 220 210 111 211 121 112");
}

TEST(VtkCells, EveryPlaceOfTheGridIsThereOnce) {
  for (int dimension = 1; dimension <= 3; ++dimension) {
    for (int order = 1; order <= 9; ++order) {
      auto places = lagrange_points(dimension, order);
      EXPECT_EQ(places.size(), count_modes(dimension, order));
      std::sort(places.begin(), places.end());
      EXPECT_EQ(std::adjacent_find(places.begin(), places.end()), places.end());
      for (const std::array<int, 3>& place : places) {
        EXPECT_GE(*std::min_element(place.begin(), place.end()), 0);
        EXPECT_LE(place[0] + place[1] + place[2], order);
      }
    }
  }
}

}  // namespace
}  // namespace rtcg::dg
