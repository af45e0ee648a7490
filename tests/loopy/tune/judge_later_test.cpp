// What a search does with candidates that it times before their results can be judged.
#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/tune/tune.h"
#include "tests/loopy/tune/fake_runner.h"

namespace rtcg::loopy {
namespace {

const SlicingStream& judged_slicings() {
  static const SlicingStream stream(
      make_kernel("{[i, j]: 0 <= i, j < 64}", "c[i, j] = 2*a[i, j]", {.default_type = cgen::f32}),
      {});
  return stream;
}

Slicing slicing_at(std::size_t place) {
  return judged_slicings().at(place).slicing;
}

TuneOptions in_order(std::size_t candidates) {
  TuneOptions options;
  options.search = SearchMethod::exhaustive;
  options.max_candidates = candidates;
  options.budget_seconds = 1e9;
  options.compile_threads = 1;
  return options;
}

/// The first candidate takes 10 us and is wrong, all others take 100 us; the judge comes after
/// twenty timings.
struct LateJudge : FakeRunner {
  LateJudge()
      : FakeRunner([](const RankedSlicing& each) {
          return each.slicing == slicing_at(0)   ? 10.0
                 : each.slicing == slicing_at(2) ? 90.0
                                                 : 100.0;
        }) {
    is_wrong = [](const RankedSlicing& each) { return each.slicing == slicing_at(0); };
    has_judge = [this] { return timed.size() >= 4; };
  }
};

TEST(JudgeLater, ReturnsNothingThatWasTimedAndIsWrong) {
  LateJudge runner;
  const TuneResult result = run_search(judged_slicings(), runner, in_order(6));
  ASSERT_EQ(result.tried.size(), 6U);
  EXPECT_EQ(result.best().slicing, slicing_at(2));
  EXPECT_GT(runner.timed.at(to_string(slicing_at(0))), 0) << "before it was judged";
  EXPECT_EQ(result.tried.back().slicing, slicing_at(0));
  EXPECT_EQ(result.tried.back().refusal, "wrong: c[0] is 1, not 2");
  EXPECT_EQ(result.tried.back().microseconds, 0);
}

TEST(JudgeLater, TimesAgainWhatSeemedHopelessNextToAWrongOne) {
  LateJudge runner;
  std::map<std::string, int> before;
  runner.has_judge = [&] {
    before = runner.timed;
    return runner.timed.size() >= 4;
  };
  const TuneResult result = run_search(judged_slicings(), runner, in_order(4));
  const std::string second = to_string(slicing_at(1));
  EXPECT_LE(before.at(second), 2) << "100 us next to 10 us";
  EXPECT_GE(runner.timed.at(second), 3);
  EXPECT_EQ(result.best().slicing, slicing_at(2));
}

// Remembers what it is told.
class Listener : public Search {
 public:
  explicit Listener(std::vector<std::optional<double>>& heard) : heard_(heard) {}
  std::optional<std::size_t> next() override { return next_++; }
  void learn(std::size_t place, std::optional<double> microseconds) override {
    EXPECT_EQ(place, heard_.size());
    heard_.push_back(microseconds);
  }

 private:
  std::vector<std::optional<double>>& heard_;
  std::size_t next_ = 0;
};

TEST(JudgeLater, TeachesTheSearchInItsOrderWhatIsJudged) {
  LateJudge runner;
  std::vector<std::optional<double>> heard;
  runner.has_judge = [&] {
    EXPECT_TRUE(heard.empty());
    return runner.timed.size() >= 4;
  };
  TuneOptions options = in_order(6);
  options.make_search = [&](const SlicingStream&) { return std::make_unique<Listener>(heard); };
  static_cast<void>(run_search(judged_slicings(), runner, options));
  EXPECT_EQ(heard, (std::vector<std::optional<double>>{std::nullopt, 100, 90, 100, 100, 100}));
}

TEST(JudgeLater, LogsWhatIsJudged) {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("rtcg_judge_later_" + std::to_string(::getpid())))
          .string();
  std::filesystem::remove(path);
  LateJudge runner;
  TuneOptions options = in_order(6);
  options.log = path;
  const auto lines = [&] {
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    const std::string all = text.str();
    return std::count(all.begin(), all.end(), '\n');
  };
  std::ptrdiff_t before = 0;
  runner.has_judge = [&] {
    before = std::max(before, lines());
    return runner.timed.size() >= 4;
  };
  static_cast<void>(run_search(judged_slicings(), runner, options, "key"));
  EXPECT_EQ(before, 0);
  LateJudge again;
  again.has_judge = {};
  const TuneResult resumed = run_search(judged_slicings(), again, options, "key");
  EXPECT_EQ(resumed.resumed, 6U);
  EXPECT_EQ(resumed.tried.back().refusal, "wrong: c[0] is 1, not 2");
  std::filesystem::remove(path);
}

TEST(JudgeLater, KeepsToItsBudgetWithoutAJudge) {
  LateJudge runner;
  runner.seconds_of_a_timing = 0.1;
  runner.seconds_of_an_answer = 0.01;
  runner.has_judge = [] { return false; };
  TuneOptions options = in_order(SIZE_MAX);
  options.budget_seconds = 20;
  const TuneResult result = run_search(judged_slicings(), runner, options);
  EXPECT_TRUE(runner.is_judging) << "by what is known";
  EXPECT_EQ(result.best().slicing, slicing_at(2));
  EXPECT_LT(runner.seconds(), 22);
}

/// A judge that is at work until it is told that the time is over, which itself takes its time.
struct EndlessJudge : LateJudge {
  EndlessJudge() {
    seconds_of_a_timing = 0.1;
    seconds_of_an_answer = 0.01;
    has_judge = [] { return false; };
  }
  [[nodiscard]] bool is_judge_at_work() const override { return !is_judging; }
  void judge_by_what_is_known() override {
    // the thread that waits looks at the clock meanwhile
    for (int i = 0; i < 100; ++i) {
      static_cast<void>(is_judge_ready());
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    LateJudge::judge_by_what_is_known();
  }
};

TEST(JudgeLater, DecidesSoonAfterItsBudgetWhereTheJudgeDoesNotEnd) {
  const auto runner = std::make_shared<EndlessJudge>();
  TuneOptions options = in_order(SIZE_MAX);
  options.budget_seconds = 2.5;
  const TuneResult result = run_search(judged_slicings(), runner, options);
  EXPECT_EQ(result.ended_while, "");
  EXPECT_EQ(result.best().slicing, slicing_at(2));
  EXPECT_LT(result.seconds, 9);
}

// The third check finds that the first two were compared with what is wrong.
TEST(JudgeLater, JudgesAgainWhenTheReferenceWasWrong) {
  LateJudge runner;
  runner.has_judge = {};
  runner.is_wrong = [&](const RankedSlicing& each) {
    const bool is_third = each.slicing == slicing_at(2);
    runner.judgement_number = is_third ? 1 : runner.judgement_number;
    return runner.judgement_number == 1 && each.slicing == slicing_at(0);
  };
  const TuneResult result = run_search(judged_slicings(), runner, in_order(4));
  EXPECT_EQ(result.best().slicing, slicing_at(2));
  EXPECT_EQ(result.tried.back().slicing, slicing_at(0));
  EXPECT_EQ(result.tried.back().refusal, "wrong: c[0] is 1, not 2");
}

}  // namespace
}  // namespace rtcg::loopy
