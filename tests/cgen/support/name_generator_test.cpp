#include "rtcg/cgen/support/name_generator.h"

#include <gtest/gtest.h>

namespace rtcg {
namespace {

TEST(NameGenerator, NumbersTakenNames) {
  NameGenerator names;
  names.reserve("tile");
  EXPECT_EQ(names.make("tile"), "tile_1");
  EXPECT_EQ(names.make("tile"), "tile_2");
  EXPECT_EQ(names.make("acc"), "acc");
}

TEST(NameGenerator, SkipsNumberedNamesOfTheUser) {
  NameGenerator names;
  names.reserve("x");
  names.reserve("x_1");
  EXPECT_EQ(names.make("x"), "x_2");
  EXPECT_TRUE(names.is_taken("x_2"));
  EXPECT_FALSE(names.reserve("x_2"));
}

TEST(NameGenerator, TurnsAnyTextIntoAnIdentifier) {
  NameGenerator names;
  EXPECT_EQ(names.make("a[i] + 1"), "a_i____1");
  EXPECT_EQ(names.make("3d"), "_3d");
  EXPECT_EQ(names.make(""), "_");
  EXPECT_TRUE(is_identifier("_3d"));
  EXPECT_FALSE(is_identifier("3d"));
  EXPECT_FALSE(is_identifier(""));
  EXPECT_FALSE(is_identifier("a b"));
}

}  // namespace
}  // namespace rtcg
