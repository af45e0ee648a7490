#include "rtcg/runtime/observe/timer.h"

#include <chrono>

#include "tests/runtime/support/test_kernels.h"
#include "tests/support/judged_devices.h"

namespace rtcg::runtime {
namespace {

using Timer = OnEveryDevice;
INSTANTIATE_TEST_SUITE_P(Devices, Timer, testing::ValuesIn(rtcg::runtime::judged_devices()),
                         device_test_name);

TEST_P(Timer, GivesTheMeanOfAllRepetitions) {
  const Stream stream(device());
  const Buffer<unsigned> x(device(), std::vector<unsigned>{1});
  const auto chain = program().function<unsigned*, int>("slow_chain");
  int calls = 0;
  const auto begin = std::chrono::steady_clock::now();
  const double mean_ms = time_ms(
      stream,
      [&] {
        ++calls;
        chain(stream, {1, 1}, x, 1000000);
      },
      4);
  const std::chrono::duration<double, std::milli> all = std::chrono::steady_clock::now() - begin;
  EXPECT_EQ(calls, 4);
  EXPECT_GT(mean_ms, 0);
  EXPECT_LE(4 * mean_ms, all.count() * 1.01);  // 1 %: two clocks
}

}  // namespace
}  // namespace rtcg::runtime
