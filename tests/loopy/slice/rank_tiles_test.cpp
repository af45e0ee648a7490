#include "rtcg/loopy/slice/rank_tiles.h"

#include <atomic>
#include <limits>
#include <memory>

#include <gtest/gtest.h>

#include "rtcg/loopy/create/make_kernel.h"

namespace rtcg::loopy::detail {
namespace {

constexpr std::uint16_t tile_count = 1000;

SlicingProblem product() {
  return read_slicing_problem(
      make_kernel("{[i, j, k]: 0 <= i, j, k < 4096}", "c[i, j] = sum(k, a[i, k]*b[k, j])",
                  {.default_type = cgen::f32}),
      {}, {}, MachineModel{});
}

/// Tiles with more and more strided rows; the slowest ones come first. Each has two choices, and as
/// many are looked at as `choices_of_tile` says.
class FakeEnumerator final : public TileEnumerator {
 public:
  FakeEnumerator(const SlicingProblem& problem, const MachineModel& machine,
                 std::size_t choices_of_tile, std::atomic<int>& looked_at)
      : cost_(problem, machine),
        choices_(problem, cost_),
        choices_of_tile_(choices_of_tile),
        looked_at_(looked_at) {}

  [[nodiscard]] std::vector<ResultTile> tiles() override {
    std::vector<ResultTile> result;
    for (std::uint16_t i = 0; i < tile_count; ++i) {
      const auto rows = static_cast<std::uint16_t>(i % 2 == 0 ? tile_count - i : i + 1);
      result.push_back({{1, 32, 1}, {rows, 1, 1}, 0});
    }
    return result;
  }
  [[nodiscard]] const TileChoices& choices(const ResultTile& tile, std::size_t place,
                                           float too_slow) override {
    ++looked_at_;
    choices_.begin(place, too_slow);
    SlicingChoice choice;
    choice.fast = tile.fast;
    choice.slow = tile.slow;
    for (std::size_t i = 0; i < choices_of_tile_; ++i) {
      if (!choices_.is_too_slow(choice) && i < 2) {
        choices_.add(choice, 0, i == 1);
      }
    }
    return choices_;
  }
  [[nodiscard]] float estimated_seconds(const ResultTile& tile) override {
    SlicingChoice choice;
    choice.fast = tile.fast;
    choice.slow = tile.slow;
    return static_cast<float>(cost_.seconds(choice, 0));
  }

 private:
  SlicingCost cost_;
  TileChoices choices_;
  std::size_t choices_of_tile_;
  std::atomic<int>& looked_at_;
};

struct Ranked {
  std::vector<RankedChoice> choices{};
  int tiles = 0;  ///< that were looked at
};

Ranked rank(std::size_t choices_of_tile, unsigned threads,
            std::size_t most_slicings = SIZE_MAX / 4) {
  SlicingProblem problem = product();
  problem.bounds.most_slicings = most_slicings;
  const MachineModel machine;
  std::atomic<int> looked_at = 0;
  std::vector<RankedChoice> choices = ranked_choices(
      problem, machine,
      [&] {
        return std::make_unique<FakeEnumerator>(problem, machine, choices_of_tile, looked_at);
      },
      threads);
  return {std::move(choices), looked_at};
}

void expect_equal(const Ranked& a, const Ranked& b) {
  ASSERT_EQ(a.choices.size(), b.choices.size());
  for (std::size_t i = 0; i < a.choices.size(); ++i) {
    ASSERT_EQ(a.choices[i].choice, b.choices[i].choice) << i;
    ASSERT_EQ(a.choices[i].seconds, b.choices[i].seconds) << i;
  }
}

TEST(RankTiles, RanksAllChoicesWhereTheyAreFew) {
  const Ranked ranked = rank(3, 1);
  EXPECT_EQ(ranked.choices.size(), 3 * tile_count);
  for (std::size_t i = 1; i < ranked.choices.size(); ++i) {
    EXPECT_LE(ranked.choices[i - 1].seconds, ranked.choices[i].seconds);
  }
}

TEST(RankTiles, GivesTheSameForAnyNumberOfThreads) {
  for (const std::size_t choices_of_tile : {3, 100, 3000}) {
    for (const std::size_t most : {std::size_t{500}, std::size_t{1} << 40}) {
      expect_equal(rank(choices_of_tile, 1, most), rank(choices_of_tile, 4, most));
    }
  }
}

TEST(RankTiles, LooksAtTheBestTilesOnlyWhereChoicesAreMany) {
  const Ranked all = rank(3, 1);
  const Ranked best = rank(3000, 1);
  EXPECT_LT(best.tiles, tile_count / 2);
  ASSERT_GE(best.choices.size(), 500U);
  for (std::size_t i = 0; i < 300; ++i) {
    EXPECT_EQ(best.choices[i].choice, all.choices[i].choice) << i;
  }
}

}  // namespace
}  // namespace rtcg::loopy::detail
