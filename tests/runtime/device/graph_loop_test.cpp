#include "rtcg/runtime/device/graph_loop.h"

#include <stdexcept>

#include "rtcg/runtime/device/copy.h"
#include "rtcg/runtime/device/graph.h"
#include "rtcg/runtime/device/program.h"
#include "tests/runtime/support/every_device.h"
#include "tests/support/expect_error.h"
#include "tests/support/judged_devices.h"

namespace rtcg::runtime {
namespace {

// start(left, n): *left = n
// count_down(left, sum): one fewer is left, one more in the sum
// collatz(x, steps, is_above): 3 x + 1 or x / 2, one more step, and whether x is not 1
constexpr Texts loop_kernels = {R"(#include <rtcg/host_kernel.h>
RTCG_PARAMETER_BYTES(start, 2, sizeof(int *), sizeof(int));
RTCG_KERNEL void start(const rtcg_launch *launch, void *const *arguments) {
  (void)launch;
  **(int **)arguments[0] = *(int *)arguments[1];
}
RTCG_PARAMETER_BYTES(count_down, 2, sizeof(int *), sizeof(int *));
RTCG_KERNEL void count_down(const rtcg_launch *launch, void *const *arguments) {
  (void)launch;
  **(int **)arguments[0] -= 1;
  **(int **)arguments[1] += 1;
}
RTCG_PARAMETER_BYTES(collatz, 3, sizeof(int *), sizeof(int *), sizeof(int *));
RTCG_KERNEL void collatz(const rtcg_launch *launch, void *const *arguments) {
  int *const x = *(int **)arguments[0];
  (void)launch;
  *x = *x % 2 == 1 ? 3 * *x + 1 : *x / 2;
  **(int **)arguments[1] += 1;
  **(int **)arguments[2] = *x != 1;
}
)",
                                R"(
kernel void start(global int *left, int n) { *left = n; }
kernel void count_down(global int *left, global int *sum) {
  *left -= 1;
  *sum += 1;
}
kernel void collatz(global int *x, global int *steps, global int *is_above) {
  *x = *x % 2 == 1 ? 3 * *x + 1 : *x / 2;
  *steps += 1;
  *is_above = *x != 1;
}
)",
                                R"(
extern "C" __global__ void start(int *left, int n) { *left = n; }
extern "C" __global__ void count_down(int *left, int *sum) {
  *left -= 1;
  *sum += 1;
}
extern "C" __global__ void collatz(int *x, int *steps, int *is_above) {
  *x = *x % 2 == 1 ? 3 * *x + 1 : *x / 2;
  *steps += 1;
  *is_above = *x != 1;
}
)"};

int collatz_steps(int x) {
  int steps = 0;
  for (; x != 1; ++steps) {
    x = x % 2 == 1 ? 3 * x + 1 : x / 2;
  }
  return steps;
}

class Loops : public OnEveryDevice {
 protected:
  [[nodiscard]] Buffer<int> integer(int value) const {
    return Buffer<int>(device(), std::vector<int>{value});
  }
  [[nodiscard]] bool has_graphs() const { return !is_opencl(); }

  const Program kernels_ = Program::compile(device(), loop_kernels.of(device()), {}, "loops");
  const Function<int*, int> start_ = kernels_.function<int*, int>("start");
  const Function<int*, int*> count_down_ = kernels_.function<int*, int*>("count_down");
  const Function<int*, int*, int*> collatz_ = kernels_.function<int*, int*, int*>("collatz");
};
INSTANTIATE_TEST_SUITE_P(Devices, Loops, testing::ValuesIn(judged_devices()), device_test_name);

TEST_P(Loops, RunAsManyRoundsAsTheConditionHolds) {
  const Stream stream(device());
  const Buffer<int> x = integer(1);
  const Buffer<int> steps = integer(0);
  const Buffer<int> is_above = integer(0);
  const auto work = [&] {
    repeat_while(stream, is_above, [&] { collatz_(stream, {1, 1}, x, steps, is_above); });
  };
  const auto expect_steps = [&](const auto& run) {
    for (const int value : {1, 2, 27, 97}) {
      start_(stream, {1, 1}, x, value);
      start_(stream, {1, 1}, steps, 0);
      start_(stream, {1, 1}, is_above, value != 1 ? 1 : 0);
      run();
      EXPECT_EQ(steps.to_vector(stream).at(0), collatz_steps(value)) << value;
    }
  };
  expect_steps(work);
  if (has_graphs()) {
    const Graph graph = capture(stream, work);
    expect_steps([&] { graph.launch(stream); });
    EXPECT_FALSE(graph.dot().empty());
  }
}

TEST_P(Loops, StandWithinLoopsAndBetweenOtherWork) {
  const Stream stream(device());
  const Buffer<int> outer = integer(0);
  const Buffer<int> inner = integer(0);
  const Buffer<int> rounds = integer(0);
  const Buffer<int> sum = integer(0);
  const auto work = [&] {
    start_(stream, {1, 1}, outer, 3);
    repeat_while(stream, outer, [&] {
      start_(stream, {1, 1}, inner, 4);
      repeat_while(stream, inner, [&] { count_down_(stream, {1, 1}, inner, sum); });
      count_down_(stream, {1, 1}, outer, rounds);
    });
    repeat_while(stream, outer, [&] { count_down_(stream, {1, 1}, outer, sum); });  // no round
    count_down_(stream, {1, 1}, outer, sum);
  };
  work();
  EXPECT_EQ(sum.to_vector(stream).at(0), 13);
  EXPECT_EQ(rounds.to_vector(stream).at(0), 3);
  if (has_graphs()) {
    const Graph graph = capture(stream, work);
    graph.launch(stream);
    graph.launch(stream);
    EXPECT_EQ(sum.to_vector(stream).at(0), 39);
    EXPECT_EQ(rounds.to_vector(stream).at(0), 9);
  }
}

TEST_P(Loops, AreUpdatedWithTheirGraph) {
  if (!has_graphs()) {
    return;
  }
  const Stream stream(device());
  const Buffer<int> left = integer(5);
  const Buffer<int> first = integer(0);
  const Buffer<int> second = integer(0);
  const auto work = [&](const Buffer<int>& sum) {
    repeat_while(stream, left, [&] { count_down_(stream, {1, 1}, left, sum); });
  };
  Graph graph = capture(stream, [&] { work(first); });
  static_cast<void>(graph.update([&] { work(second); }));
  graph.launch(stream);
  EXPECT_EQ(first.to_vector(stream).at(0), 0);
  EXPECT_EQ(second.to_vector(stream).at(0), 5);
  EXPECT_FALSE(graph.update([&] {
    work(first);
    work(first);
  }));
}

TEST_P(Loops, LeaveTheStreamUsableWhereTheirBodyThrows) {
  const Stream stream(device());
  const Buffer<int> left = integer(1);
  const Buffer<int> sum = integer(0);
  const auto work = [&](bool fails) {
    count_down_(stream, {1, 1}, left, sum);
    start_(stream, {1, 1}, left, 2);
    repeat_while(stream, left, [&] {
      count_down_(stream, {1, 1}, left, sum);
      if (fails) {
        throw std::runtime_error("no");
      }
    });
  };
  EXPECT_THROW(work(true), std::runtime_error);
  if (has_graphs()) {
    EXPECT_THROW(static_cast<void>(capture(stream, [&] { work(true); })), std::runtime_error);
    start_(stream, {1, 1}, sum, 0);
    capture(stream, [&] { work(false); }).launch(stream);
    EXPECT_EQ(sum.to_vector(stream).at(0), 3);
  }
}

TEST_P(Loops, AreRefusedWithoutOneIntegerOfTheDevice) {
  const Stream stream(device());
  const Buffer<int> two(device(), std::vector<int>{0, 0});
  EXPECT_ERROR("runtime.graph.bad_condition", repeat_while(stream, two, [] {}));
  repeat_while(stream, two.ref().subrange(1, 1), [] {});
  const auto devices = all_devices();
  for (const Device& other : devices) {
    if (other != device()) {
      const Buffer<int> foreign(other, std::vector<int>{0});
      EXPECT_ERROR("runtime.launch.wrong_device", repeat_while(stream, foreign, [] {}));
    }
  }
}

TEST_P(Loops, ArePartsOfOtherGraphs) {
  if (!has_graphs()) {
    return;
  }
  const Stream stream(device());
  const Buffer<int> left = integer(2);
  const Buffer<int> sum = integer(0);
  const Graph part = capture(stream, [&] {
    repeat_while(stream, left, [&] { count_down_(stream, {1, 1}, left, sum); });
  });
  // between other work, more than once, within a loop, and within a graph that is a part itself
  const Buffer<int> outer = integer(3);
  const Buffer<int> rounds = integer(0);
  const Graph twice = capture(stream, [&] {
    part.launch(stream);
    start_(stream, {1, 1}, left, 5);
    part.launch(stream);
  });
  const Graph whole = capture(stream, [&] {
    start_(stream, {1, 1}, left, 1);
    repeat_while(stream, outer, [&] {
      twice.launch(stream);
      copy_on_device(stream, outer, left);
      count_down_(stream, {1, 1}, outer, rounds);
    });
    count_down_(stream, {1, 1}, outer, rounds);
  });
  whole.launch(stream);
  // 1, 3, 2 are left at the beginnings of the rounds, and 5 in the middle of each
  EXPECT_EQ(sum.to_vector(stream).at(0), 1 + 5 + 3 + 5 + 2 + 5);
  EXPECT_EQ(rounds.to_vector(stream).at(0), 4);
  EXPECT_EQ(outer.to_vector(stream).at(0), -1);
}

}  // namespace
}  // namespace rtcg::runtime
