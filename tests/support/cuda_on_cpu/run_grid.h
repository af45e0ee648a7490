#pragma once

#include <string>

#include "tests/support/cuda_on_cpu/cuda_on_cpu.h"
#include "tests/support/cuda_on_cpu/run_block.h"

namespace rtcg::testing {

/// One kernel of a compiled text, ready to run.
struct GridCall {
  std::string kernel;
  rtcg_cuda::State* (*state)();  ///< of the calling thread of the CPU
  void (*call)(void**);          ///< runs one thread of a block
  void** arguments;
};

/// Runs all blocks of a launch, `schedule.team` at once, taking them up in the order that the
/// schedule says.
///
/// When blocks fail, the first of them in that order is reported, whatever their number and timing.
/// @throws InvalidInput  tests.cuda_on_cpu.bad_launch, tests.cuda_on_cpu.divergent_barrier,
///                       tests.cuda_on_cpu.out_of_bounds
void run_grid(const GridCall& grid, const CudaOnCpuLaunch& launch,
              const CudaOnCpuSchedule& schedule);

}  // namespace rtcg::testing
