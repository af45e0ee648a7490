#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "tests/support/cuda_on_cpu/fiber.h"
#include "tests/support/cuda_on_cpu/include/rtcg_cuda_state.h"

namespace rtcg::testing {

/// In which order threads and blocks take their turns, and what shared memory holds at the start.
struct CudaOnCpuSchedule {
  enum class Order { forward, reverse, random };
  Order order = Order::forward;
  std::uint32_t seed = 0;
  unsigned char poison = 0;
  /// How many blocks run at once, each on a thread of the CPU. One gives the same result each time,
  /// races or not; several show updates that get lost, which no order of whole blocks does.
  unsigned team = 1;
};

/// Fills `order` with a permutation of 0 .. size - 1; the next one when the order is random.
void next_order(const CudaOnCpuSchedule& schedule, std::uint32_t* random,
                std::vector<std::size_t>* order);

/// Runs all threads of the block that `state` names, until all have finished.
///
/// @param call  runs the kernel for one thread
/// @throws InvalidInput  tests.cuda_on_cpu.divergent_barrier
void run_block(rtcg_cuda::State& state, void (*call)(void**), void** arguments,
               const CudaOnCpuSchedule& schedule, FiberStacks& stacks);

}  // namespace rtcg::testing
