// Who wins on a machine that others use, too; on a clock that is none.
#include "rtcg/loopy/tune/final_round.h"

#include <random>

#include <gtest/gtest.h>

#include "tests/loopy/tune/fake_runner.h"

namespace rtcg::loopy {
namespace {

std::size_t place_of(const std::string& words) {
  return std::stoul(words.substr(words.find('*') + 1)) - 1;
}

/// Candidates that take so long, named by their place in the number of threads.
class Contest {
 public:
  explicit Contest(std::vector<double> us)
      : us_(std::move(us)), runner_([this](const RankedSlicing& ranked) {
          return us_[place_of(ranked.words)] * (1 + 0.02 * noise());
        }) {}

  /// The places from the first on, as many as are tied.
  std::vector<std::size_t> run() {
    std::vector<Candidate> fine;
    std::vector<TunedCandidate> refused;
    for (std::size_t i = 0; i < us_.size(); ++i) {
      RankedCandidate ranked;
      ranked.words = "i: g.0 l.0*" + std::to_string(i + 1);
      Candidate candidate;
      candidate.tuned.words = ranked.words;
      candidate.prepared = runner_.prepare(ranked, {});
      candidate.tuned.microseconds = runner_.time_us(*candidate.prepared, 1);
      candidate.least_us = us_[i];
      fine.push_back(std::move(candidate));
    }
    const std::size_t ties = FinalRound{runner_}(fine, refused).ties;
    std::vector<std::size_t> first;
    for (std::size_t i = 0; i < ties; ++i) {
      first.push_back(place_of(fine[i].tuned.words));
    }
    times_us.clear();
    for (const Candidate& each : fine) {
      times_us.push_back(each.tuned.microseconds);
    }
    return first;
  }

  /// In [-1, 1), for each launch anew.
  double noise() { return static_cast<double>(random_() % 2000) / 1000 - 1; }

  std::vector<double> times_us{};
  FakeRunner& runner() { return runner_; }
  std::mt19937_64& random() { return random_; }

 private:
  std::vector<double> us_;
  std::mt19937_64 random_{5};
  FakeRunner runner_;
};

TEST(FinalRound, FindsTheFastestInTheNoise) {
  for (int run = 0; run < 50; ++run) {
    Contest contest({104, 100, 108});
    contest.random().seed(static_cast<std::uint64_t>(run));
    EXPECT_EQ(contest.run(), std::vector<std::size_t>{1}) << run;
    EXPECT_TRUE(std::is_sorted(contest.times_us.begin(), contest.times_us.end()));
    EXPECT_NEAR(contest.times_us[1] / contest.times_us[0], 1.04, 0.02);
  }
}

// Another program runs at a third of all moments, for as long as several rounds or less than one.
TEST(FinalRound, IsNotMisledByBursts) {
  for (const double burst_seconds : {0.0002, 0.0005, 0.001, 0.004, 0.02}) {
    for (std::uint64_t run = 0; run < 25; ++run) {
      Contest contest({104, 100, 108});
      contest.random().seed(run);
      contest.runner().slowdown = [&](double seconds) {
        std::mt19937_64 moment(static_cast<std::uint64_t>(seconds / burst_seconds) + 1000000 * run);
        return moment() % 3 == 0 ? 2.5 + 0.3 * contest.noise() : 1.0;
      };
      EXPECT_EQ(contest.run().front(), 1U) << burst_seconds << " " << run;
    }
  }
}

TEST(FinalRound, IsNotMisledByAChipThatWarmsUp) {
  Contest contest({102, 100});
  contest.runner().slowdown = [](double seconds) { return 1 + 5 * seconds; };
  EXPECT_EQ(contest.run(), std::vector<std::size_t>{1});
}

TEST(FinalRound, CallsTiesTies) {
  int tied = 0;
  for (int run = 0; run < 40; ++run) {
    Contest contest({100, 100, 112});
    contest.random().seed(static_cast<std::uint64_t>(run));
    const std::vector<std::size_t> first = contest.run();
    tied += first.size() == 2 ? 1 : 0;
    EXPECT_LE(first.size(), 2U);
  }
  EXPECT_GE(tied, 28) << "of 40";
  Contest equal({100, 100});
  equal.runner().slowdown = [&](double) { return 1.0; };
  EXPECT_EQ(equal.run().size(), 2U);
}

// Another program may have been running during the one round that there was time for.
TEST(Attack07, FewRoundsDecideNothing) {
  Contest contest({100, 100});
  contest.runner().seconds_of_a_timing = 0.6;
  int timings = 0;
  contest.runner().slowdown = [&](double) { return ++timings % 2 == 0 ? 1.0 : 1.15; };
  EXPECT_EQ(contest.run().size(), 2U);
}

TuneResult tied(std::vector<std::pair<const char*, double>> slicings, std::size_t ties) {
  TuneResult result;
  for (const auto& [slicing, predicted_us] : slicings) {
    TunedSlicing each;
    each.slicing = parse_slicing(slicing);
    each.predicted_us = predicted_us;
    each.microseconds = 10;
    result.tried.push_back(each);
  }
  result.ties = ties;
  result.finalists = slicings.size();
  return result;
}

TEST(Attack07, ChanceReplacesNoWisdom) {
  const TuneResult result =
      tied({{"i: g.0 l.0*32", 5}, {"i: g.0 l.0*64", 4}, {"i: g.0 l.0*16", 6}, {"i: g.0", 1}}, 3);
  const auto remembered = [&](const std::optional<Slicing>& known) {
    return to_string(result.to_remember(known).slicing);
  };
  EXPECT_EQ(remembered(parse_slicing("i: g.0 l.0*16")), "i: g.0 l.0*16") << "as fast as the first";
  EXPECT_EQ(remembered(std::nullopt), "i: g.0 l.0*64") << "the model's choice of the three";
  EXPECT_EQ(remembered(parse_slicing("i: g.0")), "i: g.0 l.0*64") << "it is slower";
}

TEST(FinalRound, KeepsToItsTime) {
  Contest contest({100, 101});
  contest.runner().seconds_of_a_timing = 0.4;
  static_cast<void>(contest.run());
  EXPECT_LT(contest.runner().seconds(), 2 * 0.4 + 1 + 2 * 0.4 + 0.1);
}

}  // namespace
}  // namespace rtcg::loopy
