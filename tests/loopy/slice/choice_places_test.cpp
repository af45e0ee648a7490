#include "rtcg/loopy/slice/choice_places.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace rtcg::loopy::detail {
namespace {

/// Choices that differ in lengths, answers, plans and copies; some combinations are left out.
std::vector<RankedChoice> some_choices() {
  std::vector<RankedChoice> ranked;
  std::uint32_t number = 0;
  for (const std::uint16_t items : {1, 2, 3, 8}) {
    for (const std::uint16_t threads : {16, 32, 40}) {
      for (const std::uint16_t depth : {0, 4, 16}) {
        for (const std::uint8_t fetched : {0, 1, 3}) {
          for (const std::uint8_t kept : {0, 4}) {
            for (const std::uint8_t in_thread : {0, 1}) {
              for (const std::uint8_t stages : {1, 2, 4}) {
                for (const bool is_vector : {false, true}) {
                  SlicingChoice choice;
                  choice.fast = {1, threads, items};
                  choice.depth = depth;
                  choice.fetched = fetched;
                  choice.kept = kept;
                  choice.in_thread = in_thread;
                  choice.stages = stages;
                  choice.is_vector = is_vector;
                  choice.layouts[0] = static_cast<std::uint8_t>(number % 3);
                  if (++number % 7 != 0) {
                    ranked.push_back({1.0F, 0, number, choice});
                  }
                }
              }
            }
          }
        }
      }
    }
  }
  return ranked;
}

TEST(ChoicePlaces, FindsWhatIsRankedAndNothingElse) {
  const std::vector<RankedChoice> ranked = some_choices();
  const ChoicePlaces places(ranked);
  for (std::size_t i = 0; i < ranked.size(); ++i) {
    ASSERT_EQ(places.find(ranked[i].choice), i);
    SlicingChoice other = ranked[i].choice;
    other.slow = {1, 1, 2};
    ASSERT_FALSE(places.find(other).has_value());
  }
  const std::vector<RankedChoice> none;
  EXPECT_FALSE(ChoicePlaces(none).find({}).has_value());
}

TEST(ChoicePlaces, HasTheNeighboursThatALookAtAllFinds) {
  const std::vector<RankedChoice> ranked = some_choices();
  const ChoicePlaces places(ranked);
  for (std::size_t i = 0; i < ranked.size(); i += 37) {
    std::vector<std::size_t> expected;
    for (std::size_t k = 0; k < ranked.size(); ++k) {
      if (k != i && are_neighbours(ranked[i].choice, ranked[k].choice)) {
        expected.push_back(k);
      }
    }
    ASSERT_FALSE(expected.empty());
    ASSERT_EQ(places.neighbours(i), expected);
  }
}

}  // namespace
}  // namespace rtcg::loopy::detail
