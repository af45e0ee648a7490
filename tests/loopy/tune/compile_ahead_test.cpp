// What happens to compiles that are not wanted any more; on a fake device.
#include "rtcg/loopy/tune/compile_ahead.h"

#include <chrono>
#include <mutex>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "rtcg/loopy/create/make_kernel.h"
#include "tests/loopy/tune/fake_runner.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

const SlicingStream& matmul_slicings() {
  static const SlicingStream stream(
      make_kernel("{[i, j, k]: 0 <= i, j, k < 512}", "c[i, j] = sum(k, a[i, k]*b[k, j])",
                  {.default_type = cgen::f32}),
      {});
  return stream;
}

/// Compiles and launches that last until they are let go, and a clock that the test moves: it
/// stands still until `clock_goes` says that what the test is about has happened; from then on each
/// reading takes 20 ms. So no verdict depends on how busy the machine is.
class SlowRunner : public FakeRunner {
 public:
  explicit SlowRunner(int quick)
      : FakeRunner([this](const RankedSlicing&) {
          ++times;
          return 100.0;
        }) {
    while_compiling = [this, quick](const RankedSlicing&, const std::stop_token& stop) {
      if (prepared_count <= quick) {
        return;
      }
      ++begun;
      wait_until([&] { return is_let_go || (obeys && stop.stop_requested()); });
      stopped += stop.stop_requested() ? 1 : 0;
      ++ended;
    };
  }
  double seconds() const override {
    ++readings;
    if (is_going_ || clock_goes()) {
      is_going_ = true;
      ++ticks_;
    }
    return FakeRunner::seconds() + clock_stands_at + 0.02 * ticks_;
  }
  /// A search that waits for what only the end of the search lets go would never end.
  void wait_until(const std::function<bool()>& is_it) {
    const Clock::time_point begin = Clock::now();
    while (!is_it() && !was_waited_for) {
      std::this_thread::sleep_for(1ms);
      was_waited_for = Clock::now() - begin > 60s;
    }
  }
  bool obeys = false;  ///< ends when it is told to, as worker processes do
  std::function<bool()> clock_goes = [] { return false; };
  double clock_stands_at = 0;
  mutable std::atomic<int> readings = 0;
  std::atomic<bool> is_let_go = false;
  std::atomic<bool> was_waited_for = false;
  std::atomic<int> times = 0;
  std::atomic<int> begun = 0;
  std::atomic<int> ended = 0;
  std::atomic<int> stopped = 0;

 private:
  mutable std::atomic<bool> is_going_ = false;
  mutable std::atomic<int> ticks_ = 0;
};

TuneOptions options_for(double budget_seconds) {
  TuneOptions options;
  options.search = SearchMethod::exhaustive;
  options.budget_seconds = budget_seconds;
  options.compile_threads = 3;
  return options;
}

/// One that runs on the cores that compile.
class CpuRunner : public FakeRunner {
 public:
  CpuRunner()
      : FakeRunner([this](const RankedSlicing&) {
          disturbed += compiling > 0 ? 1 : 0;
          std::this_thread::sleep_for(2ms);
          disturbed += compiling > 0 ? 1 : 0;
          return 100.0;
        }) {
    while_compiling = [this](const RankedSlicing&, const std::stop_token&) {
      ++compiling;
      const Clock::time_point begin = Clock::now();
      do {
        most = std::max(most.load(), compiling.load());
        std::this_thread::sleep_for(5ms);
      } while (most < 2 && Clock::now() - begin < 60s);
      --compiling;
    };
  }
  bool shares_cores() const override { return true; }
  std::atomic<int> compiling = 0;
  std::atomic<int> most = 0;
  std::atomic<int> disturbed = 0;
};

TEST(CompileAhead, ReturnsAtOnceThoughThreadsCompile) {
  const auto runner = std::make_shared<SlowRunner>(4);
  TuneOptions options = options_for(1e9);
  // all threads are busy, and what the quick ones made is being timed
  options.is_cancelled = [each = runner.get()] { return each->begun == 3 && each->times > 0; };
  runner->clock_goes = options.is_cancelled;
  const TuneResult result = run_search(matmul_slicings(), runner, options);
  EXPECT_LT(result.seconds, 1);
  EXPECT_GE(result.tried.size(), 1U) << "what was known";
  EXPECT_EQ(result.best().microseconds, 100);
  EXPECT_EQ(runner->ended, 0) << "they are still at it";
  runner->is_let_go = true;
  while (runner->ended < 3) {
    std::this_thread::sleep_for(1ms);
  }
  EXPECT_EQ(runner->begun, 3) << "what was queued was dropped";
  EXPECT_EQ(runner->stopped, 3) << "they were told";
}

TEST(CompileAhead, KeepsToItsBudgetThoughThreadsCompile) {
  const auto runner = std::make_shared<SlowRunner>(4);
  runner->obeys = true;
  runner->clock_goes = [each = runner.get()] { return each->begun == 3 && each->times > 0; };
  const TuneResult result = run_search(matmul_slicings(), runner, options_for(1));
  EXPECT_LT(result.seconds, 1 + 1.5);
  EXPECT_FALSE(runner->was_waited_for);
  EXPECT_GE(result.tried.size(), 1U);  // those of the quick ones that threads began in order
  EXPECT_LE(result.tried.size(), 4U);
}

TEST(CompileAhead, WaitsForTheFirstResultBeyondTheBudget) {
  const auto runner = std::make_shared<SlowRunner>(0);
  runner->clock_stands_at = 0.5;
  runner->clock_goes = [each = runner.get()] {
    each->is_let_go = each->is_let_go || each->readings > 20;
    return false;
  };
  EXPECT_GE(run_search(matmul_slicings(), runner, options_for(0.05)).tried.size(), 1U);
  EXPECT_GE(run_search(matmul_slicings(), runner, options_for(0)).tried.size(), 1U);
}

/// Whose checks, which are launches, last until they are let go from the `stuck_from`th on.
class StuckRunner : public SlowRunner {
 public:
  explicit StuckRunner(int stuck_from) : SlowRunner(1000000), stuck_from_(stuck_from) {
    clock_goes = [this] { return is_stuck.load(); };
  }
  std::string check(const PreparedCandidate& /*candidate*/) override {
    if (++checked_ >= stuck_from_) {
      is_stuck = true;
      wait_until([this] { return is_let_go.load(); });
    }
    return {};
  }
  std::atomic<bool> is_stuck = false;

 private:
  int stuck_from_;
  std::atomic<int> checked_ = 0;
};

TEST(Attack07, ALaunchIsLeftAtTheEndOfTheBudget) {
  const auto runner = std::make_shared<StuckRunner>(2);
  const TuneResult result = run_search(matmul_slicings(), runner, options_for(2));
  EXPECT_LT(result.seconds, 2 + 2);
  EXPECT_FALSE(runner->was_waited_for);
  EXPECT_EQ(result.tried.size(), 1U) << "what was known";
  EXPECT_EQ(result.finalists, 0U) << "the device was not free";
  EXPECT_EQ(result.best().microseconds, 100);
  EXPECT_TRUE(is_work_left());
  runner->is_let_go = true;
}

TEST(Attack07, ALaunchIsLeftWhenTheSearchIsCancelled) {
  const auto runner = std::make_shared<StuckRunner>(1);
  TuneOptions options = options_for(1e9);
  options.is_cancelled = [&] { return runner->is_stuck.load(); };
  const TuneResult result = run_search(matmul_slicings(), runner, options);
  EXPECT_LT(result.seconds, 1);
  EXPECT_FALSE(runner->was_waited_for);
  EXPECT_ERROR("loopy.tune.nothing_works", static_cast<void>(result.best()));
  runner->is_let_go = true;
}

TEST(Attack07, AFirstResultIsNotWaitedForWithoutEnd) {
  const auto runner = std::make_shared<SlowRunner>(0);
  runner->obeys = true;
  runner->clock_stands_at = 9;
  runner->clock_goes = [] { return true; };
  const TuneResult result = run_search(matmul_slicings(), runner, options_for(0.1));
  EXPECT_GT(result.seconds, 10);
  EXPECT_LT(result.seconds, 12);
  EXPECT_FALSE(runner->was_waited_for);
  EXPECT_ERROR("loopy.tune.nothing_works", static_cast<void>(result.best()));
}

TEST(CompileAhead, KeepsALentRunnerNoLongerThanTheSearch) {
  SlowRunner runner(2);
  runner.obeys = true;
  TuneOptions options = options_for(1e9);
  options.is_cancelled = [&] { return runner.begun > 0; };
  EXPECT_LE(run_search(matmul_slicings(), runner, options).tried.size(), 2U);
  EXPECT_EQ(runner.begun, runner.ended);
}

/// Blocks of 512 threads, some of which are too few for the device.
const SlicingStream& slicings_of_large_blocks() {
  static const SlicingStream stream = [] {
    SlicingConstraints constraints;
    constraints.min_threads = 512;
    return SlicingStream(
        make_kernel("{[i, j, k]: 0 <= i, j, k < 512}", "c[i, j] = sum(k, a[i, k]*b[k, j])",
                    {.default_type = cgen::f32}),
        constraints);
  }();
  return stream;
}

/// Few blocks: their arithmetic alone takes longer than twice the best.
bool is_hopeless(const RankedSlicing& ranked) {
  return ranked.least_seconds * 1e6 > 2 * 20;
}

TEST(CompileAhead, CompilesNothingThatCannotBecomeTheBest) {
  const SlicingStream& stream = slicings_of_large_blocks();
  std::size_t hopeless = 0;
  for (std::size_t i = 0; i < stream.count(); i += 7) {
    hopeless += is_hopeless(stream.at(i)) ? 1 : 0;
    ASSERT_LE(stream.at(i).least_seconds, stream.at(i).predicted_seconds);
  }
  ASSERT_GT(hopeless, 10U);
  ASSERT_FALSE(is_hopeless(stream.at(0)));
  FakeRunner runner([](const RankedSlicing&) { return 20.0; });
  std::mutex mutex;
  std::size_t compiled_hopeless = 0;
  runner.while_compiling = [&](const RankedSlicing& ranked, const std::stop_token&) {
    const std::lock_guard lock(mutex);
    compiled_hopeless += is_hopeless(ranked) ? 1 : 0;
  };
  TuneOptions options = options_for(1e9);
  options.compile_threads = 1;
  std::vector<std::size_t> order = {0};
  for (std::size_t i = 0; order.size() < 21; ++i) {
    if (is_hopeless(stream.at(i))) {
      order.push_back(i);
    }
  }
  options.seeds.clear();
  for (const std::size_t each : order) {
    options.seeds.push_back(stream.at(each).slicing);
  }
  options.max_candidates = order.size();
  const TuneResult result = run_search(stream, runner, options);
  EXPECT_EQ(runner.prepared_count, 1);
  EXPECT_EQ(compiled_hopeless, 0U);
  ASSERT_EQ(result.tried.size(), 21U);
  EXPECT_EQ(result.tried[1].refusal.rfind("not run: takes ", 0), 0U) << result.tried[1].refusal;
}

TEST(CompileAhead, StopsCompilesThatANewBestOneBeats) {
  const SlicingStream& stream = slicings_of_large_blocks();
  std::size_t hopeless = 0;
  while (!is_hopeless(stream.at(hopeless))) {
    ++hopeless;
  }
  // both are compiled at once: the second one ends only when it is told to
  FakeRunner runner([](const RankedSlicing&) { return 20.0; });
  std::atomic<bool> is_compiling = false;
  runner.while_compiling = [&](const RankedSlicing& ranked, const std::stop_token& stop) {
    if (!is_hopeless(ranked)) {
      while (!is_compiling) {
        std::this_thread::sleep_for(1ms);
      }
      return;
    }
    is_compiling = true;
    while (!stop.stop_requested()) {
      std::this_thread::sleep_for(1ms);
    }
  };
  TuneOptions options = options_for(1e9);
  options.compile_threads = 2;
  options.seeds = {stream.at(0).slicing, stream.at(hopeless).slicing};
  options.max_candidates = 2;
  const TuneResult result = run_search(stream, runner, options);
  EXPECT_EQ(runner.prepared_count, 2);
  ASSERT_EQ(result.tried.size(), 2U);
  EXPECT_EQ(result.tried[1].refusal.rfind("not run: takes ", 0), 0U) << result.tried[1].refusal;
}

TEST(CompileAhead, DeliversAnotherFirstWhereTheFirstTakesLongToCompile) {
  const SlicingStream& stream = matmul_slicings();
  const std::string slow = stream.at(0).words;
  std::atomic<int> times = 0;
  FakeRunner runner([&](const RankedSlicing&) {
    ++times;
    return 20.0;
  });
  bool has_waited_in_vain = false;
  runner.while_compiling = [&](const RankedSlicing& ranked, const std::stop_token&) {
    const Clock::time_point begin = Clock::now();
    while (ranked.words == slow && times == 0 && !has_waited_in_vain) {
      std::this_thread::sleep_for(1ms);
      has_waited_in_vain = Clock::now() - begin > 30s;
    }
  };
  TuneOptions options = options_for(1e9);
  options.compile_threads = 2;
  options.max_candidates = 3;
  const TuneResult result = run_search(stream, runner, options);
  EXPECT_EQ(result.tried.size(), 3U);
  EXPECT_FALSE(has_waited_in_vain);
}

TEST(CompileAhead, DeliversOthersWhileTheNextTakesLongToCompile) {
  const SlicingStream& stream = matmul_slicings();
  const std::string slow = stream.at(2).words;
  std::atomic<int> times = 0;
  FakeRunner runner([&](const RankedSlicing&) {
    ++times;
    return 20.0;
  });
  bool has_waited_in_vain = false;
  runner.while_compiling = [&](const RankedSlicing& ranked, const std::stop_token&) {
    const Clock::time_point begin = Clock::now();
    while (ranked.words == slow && times < 6 && !has_waited_in_vain) {
      std::this_thread::sleep_for(1ms);
      has_waited_in_vain = Clock::now() - begin > 30s;
    }
  };
  TuneOptions options = options_for(1e9);
  options.compile_threads = 2;
  options.max_candidates = 7;
  const TuneResult result = run_search(stream, runner, options);
  EXPECT_EQ(result.tried.size(), 7U);
  EXPECT_FALSE(has_waited_in_vain);
}

/// One that is slow compiles at once; those that are predicted to be faster take until the budget
/// is over.
class PromisingRunner : public SlowRunner {
 public:
  explicit PromisingRunner(double slow_us) : SlowRunner(0), slow_us_(slow_us) {
    while_compiling = [this](const RankedSlicing&, const std::stop_token&) {
      if (begun++ == 0) {
        return;
      }
      wait_until([&] { return is_let_go.load(); });
    };
    clock_goes = [this] { return times > 0; };
  }
  double time_us(const PreparedCandidate& candidate, int launches) override {
    FakeRunner::time_us(candidate, launches);
    ++times;
    return is_let_go ? 100 : slow_us_;
  }
  double seconds() const override {
    const double now = SlowRunner::seconds();
    is_over = is_over || now > 1.1;
    return now;
  }
  mutable std::atomic<bool> is_over = false;

 private:
  double slow_us_;
};

TEST(CompileAhead, WaitsForWhatPromisesMuchMoreThanWasFound) {
  const auto runner = std::make_shared<PromisingRunner>(1e5);
  std::thread lets_go([&] {
    runner->wait_until([&] { return runner->is_over.load(); });
    runner->is_let_go = true;
  });
  const TuneResult result = run_search(matmul_slicings(), runner, options_for(1));
  lets_go.join();
  EXPECT_FALSE(runner->was_waited_for);
  EXPECT_EQ(result.best().microseconds, 100);
}

TEST(CompileAhead, DoesNotWaitForWhatPromisesLittle) {
  const auto runner =
      std::make_shared<PromisingRunner>(matmul_slicings().at(0).predicted_seconds * 1e6);
  const TuneResult result = run_search(matmul_slicings(), runner, options_for(1));
  EXPECT_EQ(result.tried.size(), 1U);
  EXPECT_LT(result.seconds, 2);
  runner->is_let_go = true;
}

/// Whose candidates cannot be unloaded while a launch goes on.
struct LoadedRunner : SlowRunner {
  LoadedRunner() : SlowRunner(1000000) {
    clock_goes = [] { return is_running.load(); };
  }
  struct Loaded : Fake {
    const std::atomic<bool>* is_running = nullptr;
    ~Loaded() override {
      while (*is_running) {
        std::this_thread::sleep_for(1ms);
      }
    }
  };
  Prepared prepare(const RankedCandidate& candidate, const std::stop_token& /*stop*/) override {
    auto loaded = std::make_shared<Loaded>();
    loaded->ranked = {candidate, parse_slicing(candidate.words)};
    loaded->program_hash = static_cast<std::uint64_t>(++prepared_count);
    loaded->is_running = &is_running;
    return loaded;
  }
  double time_us(const PreparedCandidate& candidate, int launches) override {
    const double us = SlowRunner::time_us(candidate, launches);
    if (timed.size() > 1) {
      is_running = true;
      wait_until([this] { return is_let_go.load(); });
      is_running = false;
    }
    return us;
  }
  static inline std::atomic<bool> is_running = false;  // outlives candidates
};

// The clock begins when the second candidate is launched, so that the budget ends meanwhile.
TEST(CompileAhead, UnloadsNothingWhileALaunchThatWasLeftGoesOn) {
  const auto runner = std::make_shared<LoadedRunner>();
  const TuneResult result = run_search(matmul_slicings(), runner, options_for(0.3));
  EXPECT_LT(result.seconds, 0.3 + 2);
  EXPECT_FALSE(runner->was_waited_for);
  EXPECT_EQ(result.tried.size(), 1U);
  EXPECT_TRUE(LoadedRunner::is_running) << "run_search waited for it";
  runner->is_let_go = true;
}

TEST(CompileAhead, LetsNothingBeCompiledWhileAProcessorRunsACandidate) {
  CpuRunner runner;
  TuneOptions options;
  options.search = SearchMethod::exhaustive;
  options.budget_seconds = 1e9;
  options.compile_threads = 3;
  options.max_candidates = 20;
  const TuneResult result = run_search(matmul_slicings(), runner, options);
  EXPECT_EQ(result.tried.size(), 20U);
  EXPECT_EQ(runner.prepared_count, 20);
  EXPECT_EQ(runner.disturbed, 0);
  EXPECT_GE(runner.most, 2) << "but several are compiled at a time";
}

}  // namespace
}  // namespace rtcg::loopy
