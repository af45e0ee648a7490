#include "rtcg/distributed/arrays/blocks.h"

#include <algorithm>

#include "tests/support/expect_error.h"

namespace rtcg::distributed {
namespace {

TEST(Blocks, CoverEachPlaceOnceInWholeGrains) {
  for (const std::int64_t length : {0LL, 1LL, 5LL, 4096LL, 4097LL, 100'000LL, 3'000'000'007LL}) {
    for (int ranks = 1; ranks <= 9; ++ranks) {
      const Blocks blocks(length, ranks);
      EXPECT_EQ(blocks.begin(0), 0);
      EXPECT_EQ(blocks.end(ranks - 1), length);
      std::int64_t least = blocks.grains();
      std::int64_t most = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        EXPECT_EQ(blocks.begin(rank + 1), blocks.end(rank));
        EXPECT_TRUE(blocks.begin(rank) % blocks.grain() == 0 || blocks.begin(rank) == length);
        least = std::min(least, blocks.grain_count(rank));
        most = std::max(most, blocks.grain_count(rank));
        for (const std::int64_t place : {blocks.begin(rank), blocks.end(rank) - 1}) {
          if (blocks.count(rank) > 0) {
            EXPECT_EQ(blocks.rank_of(place), rank) << place << " of " << length;
          }
        }
      }
      EXPECT_LE(most - least, 1);
    }
  }
}

TEST(Blocks, HaveGrainsThatDependOnTheLengthAlone) {
  EXPECT_EQ(Blocks(4096, 3).grain(), 1);
  EXPECT_EQ(Blocks(4097, 3).grain(), 2);
  EXPECT_EQ(Blocks(1'000'000, 3).grain(), 256);
  EXPECT_EQ(Blocks(1'000'000, 7).grains(), 3907);
}

TEST(Blocks, RefuseLengthsThatDoNotExist) {
  EXPECT_ERROR("distributed.blocks.bad_length", Blocks(-1, 2));
  EXPECT_ERROR("distributed.blocks.bad_length", Blocks(1, 0));
}

}  // namespace
}  // namespace rtcg::distributed
