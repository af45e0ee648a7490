#include "tests/support/cuda_on_cpu/run_grid.h"

#include <atomic>
#include <chrono>
#include <thread>

#include <gtest/gtest.h>

#include "rtcg/cgen/support/error.h"

namespace rtcg::testing {
namespace {

rtcg_cuda::State* state() {
  static thread_local rtcg_cuda::State own{};
  return &own;
}

const CudaOnCpuSchedule team_of_four{CudaOnCpuSchedule::Order::forward, 0, 0, 4};

// Counts the blocks that have begun, and waits for the fourth.
void meet_four_blocks(void** arguments) {
  auto& begun = *static_cast<std::atomic<int>*>(arguments[0]);
  ++begun;
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (begun < 4 && std::chrono::steady_clock::now() < until) {
    std::this_thread::yield();
  }
}

TEST(RunGrid, RunsBlocksAtOnce) {
  std::atomic<int> begun{0};
  void* arguments[] = {&begun};
  const auto begin = std::chrono::steady_clock::now();
  run_grid({"meet", state, meet_four_blocks, arguments}, {{2, 2, 1}, {1, 1, 1}}, team_of_four);
  EXPECT_EQ(begun, 4);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(60));
}

void leave_some_barriers(void** /*arguments*/) {
  const unsigned block = state()->block.x;
  if ((block == 3 || block == 5) && state()->thread.x == 0) {
    return;
  }
  state()->calls->barrier(7, 0);
}

TEST(RunGrid, ReportsTheFirstBlockThatFails) {
  for (int i = 0; i < 50; ++i) {
    try {
      run_grid({"leave", state, leave_some_barriers, nullptr}, {{8, 1, 1}, {2, 1, 1}},
               team_of_four);
      FAIL() << "nothing was thrown";
    } catch (const InvalidInput& error) {
      EXPECT_EQ(error.code(), "tests.cuda_on_cpu.divergent_barrier");
      EXPECT_NE(error.message().find("block (3, 0, 0)"), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace rtcg::testing
