#pragma once

#include <array>
#include <string>

#include "tests/support/cuda_on_cpu/cuda_on_cpu.h"
#include "tests/support/cuda_on_cpu/include/rtcg_cuda_cluster_calls.h"
#include "tests/support/cuda_on_cpu/run_block.h"

namespace rtcg::testing {

/// One kernel of a compiled text, ready to run.
struct GridCall {
  std::string kernel;
  rtcg_cuda::State* (*state)();  ///< of the calling thread of the CPU
  void (*call)(void**);          ///< runs one thread of a block
  void** arguments;
  /// Blocks of a cluster: they run at once, and the grid consists of whole clusters.
  std::array<unsigned, 3> cluster = {1, 1, 1};
};

/// For texts with clusters: they answer for the block that the calling thread of the CPU runs.
[[nodiscard]] const rtcg_cuda::ClusterCalls& cluster_calls();

/// Runs all blocks of a launch, `schedule.team` at once, taking them up in the order that the
/// schedule says.
///
/// When blocks fail, the first of them in that order is reported, whatever their number and timing.
/// @throws InvalidInput  tests.cuda_on_cpu.bad_launch, tests.cuda_on_cpu.divergent_barrier,
///                       tests.cuda_on_cpu.out_of_bounds
void run_grid(const GridCall& grid, const CudaOnCpuLaunch& launch,
              const CudaOnCpuSchedule& schedule);

}  // namespace rtcg::testing
