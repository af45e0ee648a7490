// The search on a device and a clock that are none.
#include <csignal>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/tune/tune.h"
#include "tests/loopy/tune/fake_runner.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

const SlicingStream& searched_slicings() {
  static const SlicingStream stream(
      make_kernel("{[i, j, k]: 0 <= i, j, k < 512}", "c[i, j] = sum(k, a[i, k]*b[k, j])",
                  {.default_type = cgen::f32}),
      {});
  return stream;
}

TuneOptions options_for(SearchMethod method, std::size_t candidates) {
  TuneOptions options;
  options.search = method;
  options.max_candidates = candidates;
  options.budget_seconds = 1e9;
  options.compile_threads = 1;
  return options;
}

std::vector<std::string> slicings_of(const TuneResult& result) {
  std::vector<std::string> slicings;
  for (const TunedSlicing& each : result.tried) {
    slicings.push_back(to_string(each.slicing));
  }
  return slicings;
}

double least_of_all() {
  static const double least = [] {
    double best = 1e300;
    for (std::size_t i = 0; i < searched_slicings().count(); ++i) {
      best = std::min(best, valley_us(searched_slicings().at(i)));
    }
    return best;
  }();
  return least;
}

class LogFile : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = (std::filesystem::temp_directory_path() /
             ("rtcg_log_" + std::to_string(::getpid()) + "_" +
              ::testing::UnitTest::GetInstance()->current_test_info()->name()))
                .string();
    std::filesystem::remove(path_);
  }
  void TearDown() override { std::filesystem::remove(path_); }
  std::string path_;
};

TEST(RunSearch, KeepsToItsBudget) {
  FakeRunner runner(valley_us);
  runner.seconds_of_a_timing = 1;
  TuneOptions options = options_for(SearchMethod::exhaustive, SIZE_MAX);
  options.budget_seconds = 60;
  const TuneResult result = run_search(searched_slicings(), runner, options);
  EXPECT_GT(result.tried.size(), 5U);
  EXPECT_LT(result.tried.size(), 60U);
  // the last candidate, and the final round's first turn
  EXPECT_LT(runner.seconds(), 60 + 11 + 5 * 10);
}

// The times of the model's choices, in the order in which it makes them.
FakeRunner::Formula in_order(const std::function<double(std::size_t)>& microseconds) {
  return [microseconds](const RankedSlicing& each) {
    return microseconds(*searched_slicings().find(each.slicing));
  };
}

TEST(RunSearch, StopsWhenLittleIsGained) {
  // from 205 us down to 105 us in 20 steps, and no further
  const auto falling = [](std::size_t place) {
    return 205.0 - 5 * static_cast<double>(std::min<std::size_t>(place, 20));
  };
  TuneOptions options = options_for(SearchMethod::exhaustive, 500);
  options.min_expected_gain = 0.01;
  FakeRunner runner(in_order(falling));
  const TuneResult result = run_search(searched_slicings(), runner, options);
  // the earlier half of 41 ends with the best one
  EXPECT_EQ(result.tried.size(), 41U);
  EXPECT_EQ(result.expected_gain, 0);
  options.min_expected_gain = 0.2;
  FakeRunner again(in_order(falling));
  // 130 us after the earlier half of the first 32
  const TuneResult sooner = run_search(searched_slicings(), again, options);
  EXPECT_EQ(sooner.tried.size(), 32U);
  EXPECT_EQ(sooner.expected_gain, 1 - 105.0 / 130);
}

TEST(RunSearch, GoesOnAsLongAsItGains) {
  TuneOptions options = options_for(SearchMethod::exhaustive, 100);
  options.min_expected_gain = 0.3;
  // each twice as many are half as slow
  FakeRunner gaining(
      in_order([](std::size_t place) { return 1e4 / static_cast<double>(place + 1); }));
  const TuneResult result = run_search(searched_slicings(), gaining, options);
  EXPECT_EQ(result.tried.size(), 100U);
  EXPECT_NEAR(result.expected_gain, 0.5, 0.01);
  // few say nothing, and what is refused is no gain either
  FakeRunner same([](const RankedSlicing&) { return 100.0; });
  EXPECT_EQ(run_search(searched_slicings(), same, options).tried.size(), 32U);
  EXPECT_EQ(run_search(searched_slicings(), same, options_for(SearchMethod::exhaustive, 100))
                .tried.size(),
            100U)
      << "unless it is asked for";
  FakeRunner wrong([](const RankedSlicing&) { return 100.0; });
  wrong.is_wrong = [](const RankedSlicing& each) {
    return *searched_slicings().find(each.slicing) < 50;
  };
  EXPECT_EQ(run_search(searched_slicings(), wrong, options).tried.size(), 100U);
}

TEST_F(LogFile, StopsAtTheSameGainWhenItGoesOn) {
  TuneOptions options = options_for(SearchMethod::guided, 2000);
  options.min_expected_gain = 0.05;
  options.log = path_;
  FakeRunner whole(valley_us);
  const TuneResult expected = run_search(searched_slicings(), whole, options, "key");
  EXPECT_LT(expected.tried.size(), 2000U);
  FakeRunner none(valley_us);
  const TuneResult resumed = run_search(searched_slicings(), none, options, "key");
  EXPECT_EQ(resumed.resumed, expected.tried.size());
  EXPECT_EQ(slicings_of(resumed), slicings_of(expected));
}

TEST(RunSearch, TriesInTheOrderOfTheModel) {
  FakeRunner runner([](const RankedSlicing& each) { return each.predicted_seconds * 1e6; });
  const TuneResult result =
      run_search(searched_slicings(), runner, options_for(SearchMethod::exhaustive, 20));
  ASSERT_EQ(result.tried.size(), 20U);
  for (std::size_t i = 0; i < 20; ++i) {
    EXPECT_EQ(runner.timed.count(to_string(searched_slicings().at(i).slicing)), 1U);
  }
  EXPECT_EQ(result.best().slicing, searched_slicings().at(0).slicing);
}

TEST(RunSearch, GivesUpEarlyOnWhatIsSlow) {
  const std::string slow = to_string(searched_slicings().at(3).slicing);
  const std::string medium = to_string(searched_slicings().at(4).slicing);
  FakeRunner runner([&](const RankedSlicing& each) {
    const std::string text = to_string(each.slicing);
    return text == slow ? 1000.0 : text == medium ? 200.0 : 100.0;
  });
  const TuneResult result =
      run_search(searched_slicings(), runner, options_for(SearchMethod::exhaustive, 6));
  EXPECT_EQ(runner.timed.at(slow), 1);
  EXPECT_EQ(runner.timed.at(medium), 4);
  EXPECT_GE(runner.timed.at(to_string(searched_slicings().at(5).slicing)), 9);
  EXPECT_EQ(to_string(result.tried.back().slicing), slow);
}

TEST(RunSearch, TimesLongLaunchesOnce) {
  FakeRunner runner([](const RankedSlicing&) { return 1.5e6; });
  TuneOptions options = options_for(SearchMethod::exhaustive, 100);
  options.budget_seconds = 10;
  const TuneResult result = run_search(searched_slicings(), runner, options);
  EXPECT_GE(result.tried.size(), 3U) << "of 1.5 s each";
  EXPECT_EQ(result.best().microseconds, 1.5e6);
}

TEST(RunSearch, LetsNobodyWinWhoIsWrongOrSpills) {
  FakeRunner runner([](const RankedSlicing&) { return 50.0; });
  const Slicing wrong = searched_slicings().at(0).slicing;
  const Slicing spilling = searched_slicings().at(1).slicing;
  runner.is_wrong = [&](const RankedSlicing& each) { return each.slicing == wrong; };
  runner.spilled_bytes = [&](const RankedSlicing& each) {
    return static_cast<std::size_t>(each.slicing == spilling ? 4000 : 0);
  };
  const TuneResult result =
      run_search(searched_slicings(), runner, options_for(SearchMethod::exhaustive, 3));
  EXPECT_EQ(result.best().slicing, searched_slicings().at(2).slicing);
  EXPECT_EQ(runner.timed.count(to_string(wrong)), 0U);
  EXPECT_EQ(runner.timed.count(to_string(spilling)), 0U);
  EXPECT_EQ(result.tried[1].refusal, "wrong: c[0] is 1, not 2");
  EXPECT_EQ(result.tried[2].refusal, "spills 4000 bytes of registers");
}

TEST(RunSearch, TimesEqualProgramsOnce) {
  FakeRunner runner([](const RankedSlicing&) { return 50.0; });
  runner.program_hash = [](const RankedSlicing&) { return std::uint64_t{7}; };
  runner.is_wrong = [](const RankedSlicing&) { return true; };
  const TuneResult wrong =
      run_search(searched_slicings(), runner, options_for(SearchMethod::exhaustive, 4));
  EXPECT_EQ(wrong.tried.back().refusal, "the same program as another that is wrong");
  runner.is_wrong = {};
  const TuneResult fine =
      run_search(searched_slicings(), runner, options_for(SearchMethod::exhaustive, 4));
  // all are known to be as fast; the final round looks at them
  EXPECT_EQ(fine.ties, 4U);
  EXPECT_EQ(fine.tried.back().microseconds, 50);
}

TEST(RunSearch, SaysWhoIsTied) {
  std::mt19937_64 random(3);
  FakeRunner noisy([&](const RankedSlicing&) { return 100.0 + static_cast<double>(random() % 9); });
  EXPECT_GT(run_search(searched_slicings(), noisy, options_for(SearchMethod::exhaustive, 8)).ties,
            2U);
  FakeRunner clear([&](const RankedSlicing& each) {
    return each.predicted_seconds == searched_slicings().at(0).predicted_seconds ? 100.0 : 110.0;
  });
  EXPECT_LE(run_search(searched_slicings(), clear, options_for(SearchMethod::exhaustive, 8)).ties,
            7U);
}

TEST(RunSearch, FindsTheValleyByEvolution) {
  constexpr std::size_t budget = 1000;
  FakeRunner runner(valley_us);
  const TuneResult result =
      run_search(searched_slicings(), runner, options_for(SearchMethod::evolutionary, budget));
  ASSERT_GT(searched_slicings().count(), 50 * budget);
  EXPECT_EQ(result.tried.size(), budget);
  EXPECT_EQ(std::set<std::string>([&] {
              const auto all = slicings_of(result);
              return std::set<std::string>(all.begin(), all.end());
            }())
                .size(),
            budget);
  EXPECT_LE(result.best().microseconds, 1.05 * least_of_all());
}

TEST(RunSearch, FindsTheValleyByGuidedSteps) {
  FakeRunner runner(valley_us);
  const TuneResult result =
      run_search(searched_slicings(), runner, options_for(SearchMethod::guided, 800));
  EXPECT_LE(result.best().microseconds, 1.05 * least_of_all());
}

TEST(RunSearch, DoesTheSameForTheSameSeed) {
  for (const SearchMethod method : {SearchMethod::guided, SearchMethod::random,
                                    SearchMethod::exhaustive, SearchMethod::evolutionary}) {
    const auto tried = [&](std::uint64_t seed) {
      FakeRunner runner(valley_us);
      TuneOptions options = options_for(method, 100);
      options.seed = seed;
      return slicings_of(run_search(searched_slicings(), runner, options));
    };
    EXPECT_EQ(tried(1), tried(1));
    if (method == SearchMethod::random || method == SearchMethod::evolutionary) {
      EXPECT_NE(tried(1), tried(2));
    }
  }
}

TEST(RunSearch, BeginsWithItsSeeds) {
  FakeRunner runner(valley_us);
  TuneOptions options = options_for(SearchMethod::exhaustive, 5);
  const Slicing last = searched_slicings().at(searched_slicings().count() - 1).slicing;
  options.seeds = {searched_slicings().at(77).slicing, parse_slicing("i: g.0"), last,
                   searched_slicings().at(1).slicing};
  const TuneResult result = run_search(searched_slicings(), runner, options);
  for (const std::size_t place :
       std::vector<std::size_t>{77, searched_slicings().count() - 1, 1, 0, 2}) {
    EXPECT_EQ(runner.timed.count(to_string(searched_slicings().at(place).slicing)), 1U) << place;
  }
  EXPECT_EQ(runner.timed.size(), 5U);
}

TEST(RunSearch, SparesLongLosersTheCheck) {
  const Slicing slow = searched_slicings().at(2).slicing;
  FakeRunner runner([&](const RankedSlicing& each) { return each.slicing == slow ? 9e3 : 2e3; });
  int checks = 0;
  runner.is_wrong = [&](const RankedSlicing&) {
    ++checks;
    return false;
  };
  const TuneResult result =
      run_search(searched_slicings(), runner, options_for(SearchMethod::exhaustive, 4));
  EXPECT_EQ(checks, 3);
  EXPECT_EQ(runner.timed.at(to_string(slow)), 1);
  EXPECT_EQ(result.tried.back().slicing, slow);
}

TEST(RunSearch, EndsWhenAllAreTried) {
  const SlicingStream small(
      make_kernel("{[i]: 0 <= i < 64}", "c[i] = 2*a[i]", {.default_type = cgen::f32}), {});
  for (const SearchMethod method : {SearchMethod::guided, SearchMethod::random,
                                    SearchMethod::exhaustive, SearchMethod::evolutionary}) {
    FakeRunner runner([](const RankedSlicing&) { return 1.0; });
    const auto tried = slicings_of(run_search(small, runner, options_for(method, SIZE_MAX)));
    EXPECT_EQ(tried.size(), small.count());
    EXPECT_EQ(std::set<std::string>(tried.begin(), tried.end()).size(), small.count());
  }
}

// Every tenth of the model's choices, until three in a row are slower than the best.
class EveryTenth : public Search {
 public:
  explicit EveryTenth(const SlicingStream& stream) : stream_(stream) {}
  std::optional<std::size_t> next() override {
    const std::size_t place = 10 * given_++;
    return slower_ < 3 && place < stream_.count() ? std::optional(place) : std::nullopt;
  }
  void learn(std::size_t /*place*/, std::optional<double> microseconds) override {
    slower_ = microseconds && (best_ == 0 || *microseconds <= best_) ? 0 : slower_ + 1;
    best_ = slower_ == 0 ? *microseconds : best_;
  }

 private:
  const SlicingStream& stream_;
  std::size_t given_ = 0;
  int slower_ = 0;
  double best_ = 0;
};

TEST(RunSearch, TakesASearchOfTheCaller) {
  FakeRunner runner([](const RankedSlicing& each) { return each.predicted_seconds * 1e6; });
  TuneOptions options = options_for(SearchMethod::guided, SIZE_MAX);
  options.make_search = [](const SlicingStream& stream) {
    return std::make_unique<EveryTenth>(stream);
  };
  const TuneResult result = run_search(searched_slicings(), runner, options);
  ASSERT_GE(result.tried.size(), 4U);
  EXPECT_LT(result.tried.size(), 40U);
  EXPECT_EQ(result.best().slicing, searched_slicings().at(0).slicing);
  EXPECT_EQ(result.tried[1].slicing, searched_slicings().at(10).slicing);
}

TEST_F(LogFile, GoesOnWhereASearchWasStopped) {
  for (const SearchMethod method :
       {SearchMethod::guided, SearchMethod::random, SearchMethod::evolutionary}) {
    std::filesystem::remove(path_);
    FakeRunner whole(valley_us);
    const TuneResult expected = run_search(searched_slicings(), whole, options_for(method, 60));
    TuneOptions options = options_for(method, 60);
    options.log = path_;
    bool is_enough = false;
    options.report = [&](const TuneProgress& progress) { is_enough = progress.tried == 25; };
    options.is_cancelled = [&] { return is_enough; };
    FakeRunner first(valley_us);
    const TuneResult stopped = run_search(searched_slicings(), first, options, "key");
    EXPECT_EQ(stopped.tried.size(), 25U);
    EXPECT_EQ(stopped.resumed, 0U);
    options.report = {};
    options.is_cancelled = {};
    FakeRunner second(valley_us);
    const TuneResult resumed = run_search(searched_slicings(), second, options, "key");
    EXPECT_EQ(resumed.resumed, 25U);
    EXPECT_EQ(slicings_of(resumed), slicings_of(expected));
    // besides the new ones only contenders of the final round are compiled
    EXPECT_LE(second.prepared_count, 35 + 8);
    FakeRunner other(valley_us);
    EXPECT_EQ(run_search(searched_slicings(), other, options, "another key").resumed, 0U);
  }
}

TEST_F(LogFile, RemembersRefusalsAndPassesOverTornLines) {
  FakeRunner runner([](const RankedSlicing&) { return 50.0; });
  runner.is_wrong = [](const RankedSlicing& each) {
    return each.slicing == searched_slicings().at(1).slicing;
  };
  TuneOptions options = options_for(SearchMethod::exhaustive, 3);
  options.log = path_;
  EXPECT_EQ(run_search(searched_slicings(), runner, options, "key").resumed, 0U);
  std::ofstream(path_, std::ios::app) << "{\"schema\": 1, \"key\": \"key\", \"sli";
  options.max_candidates = 5;
  FakeRunner again([](const RankedSlicing&) { return 50.0; });
  const TuneResult result = run_search(searched_slicings(), again, options, "key");
  EXPECT_EQ(result.resumed, 3U);
  EXPECT_EQ(result.tried.back().refusal, "wrong: c[0] is 1, not 2");
  FakeRunner third([](const RankedSlicing&) { return 50.0; });
  EXPECT_EQ(run_search(searched_slicings(), third, options, "key").resumed, 5U);
}

std::uintmax_t bytes_of(const std::string& path) {
  std::error_code ignored;
  const std::uintmax_t bytes = std::filesystem::file_size(path, ignored);
  return ignored ? 0 : bytes;
}

TEST_F(LogFile, SurvivesProcessesKilledAtAnyMoment) {
  TuneOptions options = options_for(SearchMethod::random, 40);
  options.log = path_;
  std::mt19937_64 random(11);
  ASSERT_GT(searched_slicings().count(), 40U);  // made before the forks, which share it
  for (int round = 0; round < 6; ++round) {
    const pid_t child = ::fork();
    if (child == 0) {
      FakeRunner slow([](const RankedSlicing& each) {
        ::usleep(100);
        return valley_us(each);
      });
      static_cast<void>(run_search(searched_slicings(), slow, options, "key"));
      ::_exit(0);
    }
    ASSERT_GT(child, 0);
    const std::uintmax_t before = bytes_of(path_);
    for (int waits = 0; waits < 20000 && bytes_of(path_) == before; ++waits) {
      ::usleep(500);
    }
    ::usleep(static_cast<unsigned>(random() % 4000));
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
  }
  FakeRunner last(valley_us);
  const TuneResult result = run_search(searched_slicings(), last, options, "key");
  FakeRunner whole(valley_us);
  EXPECT_EQ(slicings_of(result), slicings_of(run_search(searched_slicings(), whole,
                                                        options_for(SearchMethod::random, 40))));
  EXPECT_GT(result.resumed, 0U);
}

TEST_F(LogFile, LeavesFilesOfOthersAlone) {
  FakeRunner runner(valley_us);
  TuneOptions options = options_for(SearchMethod::exhaustive, 1);
  options.log = path_;
  std::ofstream(path_) << "my notes";
  EXPECT_ERROR("loopy.tune.foreign_file", run_search(searched_slicings(), runner, options, "key"));
  EXPECT_EQ(runner.prepared_count, 0) << "refused before anything is compiled";
}

TEST_F(LogFile, TellsWhenItCannotBeWritten) {
  FakeRunner runner(valley_us);
  TuneOptions options = options_for(SearchMethod::exhaustive, 1);
  options.log = "/proc/no/such/file";
  EXPECT_ERROR("loopy.tune.unwritable_log",
               run_search(searched_slicings(), runner, options, "key"));
}

TEST(RunSearch, StopsWhenItIsToldTo) {
  FakeRunner runner(valley_us);
  TuneOptions options = options_for(SearchMethod::guided, SIZE_MAX);
  bool is_enough = false;
  options.report = [&](const TuneProgress& progress) { is_enough = progress.tried == 7; };
  options.is_cancelled = [&] { return is_enough; };
  EXPECT_EQ(run_search(searched_slicings(), runner, options).tried.size(), 7U);
}

}  // namespace
}  // namespace rtcg::loopy
