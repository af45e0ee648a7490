#include "rtcg/cgen/support/integer.h"

#include <cstdint>

#include <gtest/gtest.h>

#include "rtcg/cgen/support/text_hash.h"

namespace rtcg {
namespace {

TEST(CeilDivide, RoundsUp) {
  EXPECT_EQ(ceil_divide(0, 4), 0);
  EXPECT_EQ(ceil_divide(1, 4), 1);
  EXPECT_EQ(ceil_divide(8, 4), 2);
  EXPECT_EQ(ceil_divide(std::int64_t{1} << 40, 3), 366'503'875'926);
}

TEST(RoundUp, GivesAMultiple) {
  EXPECT_EQ(round_up(0, 16), 0);
  EXPECT_EQ(round_up(17, 16), 32);
  EXPECT_EQ(round_up(std::uint64_t{32}, 16U), 32U);
}

// Stored keys of wisdom and packs depend on it.
TEST(TextHash, IsFnv1a) {
  EXPECT_EQ(text_hash(""), 0xcbf29ce484222325U);
  EXPECT_EQ(text_hash("a"), 0xaf63dc4c8601ec8cU);
  EXPECT_EQ(text_hash("foobar"), 0x85944171f73967e8U);
}

}  // namespace
}  // namespace rtcg
