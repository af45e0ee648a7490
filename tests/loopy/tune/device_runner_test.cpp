#include "rtcg/loopy/tune/device_runner.h"

#include <future>
#include <thread>

#include <gtest/gtest.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

TEST(DeviceRunner, ComparesItsReferenceWithTheDescription) {
  const auto sum_up_to = [](const char* end) {
    return make_kernel("{[i, k]: 0 <= i < 100 and 0 <= k < " + std::string(end) + "}",
                       "b[i] = sum(k, a[i, k])", {.arguments = "a: f32[100, 50]; b: f32[100]"});
  };
  DeviceRunner runner(sum_up_to("50"), runtime::Device::host(), {});
  runner.set_reference(Executor(sum_up_to("50"), runtime::Device::host()));
  EXPECT_ERROR("loopy.compare_with_reference.wrong_numbers",
               runner.set_reference(Executor(sum_up_to("49"), runtime::Device::host())));
}

TEST(DeviceRunner, TakesACandidateForItsReference) {
  const Kernel kernel =
      make_kernel("{[i, k]: 0 <= i < 100000 and 0 <= k < 50}", "b[i] = sum(k, a[i, k])",
                  {.arguments = "a: f32[100000, 50]; b: f32[100000]"});
  DeviceRunner runner(kernel, runtime::Device::host(), {});
  runner.begin_with({}, {});
  while (!runner.is_judge_ready()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_TRUE(runner.is_sampled());
  const auto check = [&](const std::string& words) {
    return runner.check(*runner.prepare({words}, {}));
  };
  EXPECT_EQ(check("i: g.0 l.0*32"), "");
  EXPECT_EQ(check("i: g.0 l.0*64; k: for for*10"), "");
  EXPECT_EQ(runner.judgement(), 0);
}

TEST(DeviceRunner, AsksForSmallSizesWhereNothingIsInterpreted) {
  const Kernel kernel =
      make_kernel("{[i]: 0 <= i < 1000}", "... c \"${b[i]} = 2*${a[i]};\" {writes=b}",
                  {.arguments = "a, b: f32[1000]"});
  DeviceRunner runner(kernel, runtime::Device::host(), {});
  std::vector<std::string> asked;
  runner.begin_with({}, [&](const Slicing& slicing) -> std::string {
    asked.push_back(to_string(slicing));
    return asked.size() == 1 ? "wrong for small sizes" : "";
  });
  runner.judge_by_what_is_known();
  const auto check = [&](const std::string& words) {
    return runner.check(*runner.prepare({words}, {}));
  };
  EXPECT_EQ(check("i: g.0 l.0*32"), "wrong for small sizes");
  EXPECT_EQ(check("i: g.0 l.0*64"), "");
  EXPECT_EQ(check("i: g.0 l.0*128"), "");
  EXPECT_EQ(asked, (std::vector<std::string>{"i: g.0 l.0*32", "i: g.0 l.0*64"}));
}

/// As one for a GPU, whose candidates run while processors compile and judge.
struct RunnerBesideProcessors : DeviceRunner {
  using DeviceRunner::DeviceRunner;
  [[nodiscard]] bool shares_cores() const override { return false; }
};

Kernel doubled_in_c() {
  return make_kernel("{[i]: 0 <= i < 1000}", "... c \"${b[i]} = 2*${a[i]};\" {writes=b}",
                     {.arguments = "a, b: f32[1000]"});
}

void wait_for_judge(DeviceRunner& runner) {
  while (!runner.is_judge_ready()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

TEST(DeviceRunner, JudgesByTheFirstCandidateWhileOthersAreTimed) {
  RunnerBesideProcessors runner(doubled_in_c(), runtime::Device::host(), {});
  std::promise<void> is_checked;
  std::vector<std::string> asked;
  runner.begin_with(
      {}, [&, future = is_checked.get_future().share()](const Slicing& slicing) -> std::string {
        asked.push_back(to_string(slicing));
        future.wait();
        return "";
      });
  EXPECT_FALSE(runner.is_judge_ready()) << "no candidate yet";
  const auto first = runner.prepare({"i: g.0 l.0*32"}, {});
  const auto second = runner.prepare({"i: g.0 l.0*64"}, {});
  EXPECT_GT(runner.time_us(*second, 1), 0);
  while (!runner.is_judge_at_work()) {
    EXPECT_FALSE(runner.is_judge_ready());
  }
  EXPECT_FALSE(runner.is_judge_ready());
  EXPECT_GT(runner.time_us(*first, 1), 0);
  is_checked.set_value();
  wait_for_judge(runner);
  EXPECT_FALSE(runner.is_judge_at_work());
  EXPECT_EQ(runner.check(*second), "");
  EXPECT_EQ(runner.check(*first), "");
  EXPECT_EQ(asked, std::vector<std::string>{"i: g.0 l.0*32"});
}

TEST(DeviceRunner, LooksForAnotherReferenceWhereTheFirstCandidateIsWrong) {
  RunnerBesideProcessors runner(doubled_in_c(), runtime::Device::host(), {});
  runner.begin_with({}, [&](const Slicing& slicing) -> std::string {
    return to_string(slicing) == "i: g.0 l.0*32" ? "wrong for small sizes" : "";
  });
  const auto first = runner.prepare({"i: g.0 l.0*32"}, {});
  wait_for_judge(runner);
  EXPECT_EQ(runner.check(*first), "wrong for small sizes");
  EXPECT_EQ(runner.check(*runner.prepare({"i: g.0 l.0*64"}, {})), "");
  RunnerBesideProcessors other(doubled_in_c(), runtime::Device::host(), {});
  other.begin_with({}, [](const Slicing&) { return std::string(); });
  EXPECT_THROW(static_cast<void>(other.prepare({"q: g.0 l.0*32"}, {})), Error);
  wait_for_judge(other);
  EXPECT_EQ(other.check(*other.prepare({"i: g.0 l.0*64"}, {})), "");
}

TEST(DeviceRunner, DecidesByWhatIsKnownWithoutAFirstCandidate) {
  RunnerBesideProcessors runner(doubled_in_c(), runtime::Device::host(), {});
  runner.begin_with({}, {});
  runner.judge_by_what_is_known();
  EXPECT_EQ(runner.check(*runner.prepare({"i: g.0 l.0*64"}, {})), "");
}

// The interpreter alone looks at the clock at once; what settles bounds may take long.
TEST(DeviceRunner, JudgesSmallSizesWhereBoundsAreNotSettledInTime) {
  constexpr int count = 1 << 24;
  const Kernel kernel = make_kernel("{[i]: 0 <= i < " + std::to_string(count) + "}",
                                    "... c \"${b[i]} = 2*${a[i]};\" {writes=b}",
                                    {.arguments = "a, b: f32[" + std::to_string(count) + "]"});
  RunnerBesideProcessors runner(kernel, runtime::Device::host(), {});
  std::atomic<int> asked = 0;
  runner.begin_with({}, [&](const Slicing&) {
    ++asked;
    return std::string();
  });
  const auto first = runner.prepare({"i: g.0 for*4096 l.0*32"}, {});
  EXPECT_GT(runner.time_us(*first, 1), 0);
  while (!runner.is_judge_at_work() && !runner.is_judge_ready()) {
  }
  runner.judge_by_what_is_known();
  EXPECT_EQ(runner.check(*first), "");
  EXPECT_GE(asked, 1);
}

// A run takes a quarter of the budget, or more: a few of its iterations are timed.
TEST(DeviceRunner, TimesSomeIterationsOfALongLoop) {
  const auto steps = [](const std::string& count) {
    return make_kernel("{[t, i, j]: 0 <= t < " + count + " and 0 <= i, j < 64}",
                       "for t\n  v[i] = 0.5*u[i]\n  ... gbarrier\n  u[j] = v[j]\nend",
                       {.arguments = "u, v: f32[64]"});
  };
  const std::string words = "i: g.0 l.0*32; j: g.0 l.0*32";
  TuneOptions options;
  options.budget_seconds = 0.5;
  DeviceRunner runner(steps("1000000"), runtime::Device::host(), options);
  std::vector<std::string> asked;
  runner.begin_with({}, [&](const Slicing& slicing) -> std::string {
    asked.push_back(to_string(slicing));
    return "";
  });
  const auto prepared = runner.prepare({words}, {});
  const double us = runner.time_us(*prepared, 1);
  EXPECT_LT(runner.timed_share(), 0.5);
  EXPECT_GT(us * 1e-6, 0.05 * 0.5);
  runner.judge_by_what_is_known();
  EXPECT_EQ(runner.check(*prepared), "");
  EXPECT_EQ(asked, std::vector<std::string>{words});
  options.budget_seconds = 5;
  DeviceRunner whole(steps("3"), runtime::Device::host(), options);
  static_cast<void>(whole.time_us(*whole.prepare({words}, {}), 1));
  EXPECT_EQ(whole.timed_share(), 1);
}

}  // namespace
}  // namespace rtcg::loopy
