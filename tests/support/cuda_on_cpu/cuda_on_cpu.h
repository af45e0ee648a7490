#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace rtcg::testing {

/// The shape of one launch.
struct CudaOnCpuLaunch {
  unsigned grid[3] = {1, 1, 1};
  unsigned block[3] = {1, 1, 1};
  unsigned shared_bytes = 0;
  /// Whether all blocks run at once, each on a thread of the CPU, and can wait for each other; at
  /// most 64.
  bool is_cooperative = false;
};

/// Memory that a kernel gets by pointer.
struct BufferRef {
  void* data;
  std::size_t bytes;
};

/// A CUDA C++ text, compiled by the host's C++ compiler and run on the CPU: one fiber a thread, one
/// thread of the CPU a block.
///
/// Kernels are `extern "C"`. `extern __shared__` arrays, static shared memory outside of
/// templates, warp operations, atomics, vector types, __half and __nv_bfloat16 are there; streams,
/// cooperative groups and launches from kernels are not; rtcg's own barrier of the grid is. Texture and surface objects are those of
/// the host's images. Any number of texts may live at
/// once; launches must come from one thread at a time.
class CudaOnCpu {
 public:
  explicit CudaOnCpu(std::string cuda_source);
  ~CudaOnCpu();
  CudaOnCpu(const CudaOnCpu&) = delete;
  CudaOnCpu& operator=(const CudaOnCpu&) = delete;

  /// Runs a kernel once on the memory that the arguments point to, blocks and threads in order, one
  /// block after another.
  ///
  /// @param argument_values  the address of each argument's value, as cuLaunchKernel takes them
  /// @throws CompileFailure  runtime.host_compiler.refused, with the log
  /// @throws InvalidInput    tests.cuda_on_cpu.unknown_kernel, tests.cuda_on_cpu.argument_count,
  ///                         tests.cuda_on_cpu.bad_launch, tests.cuda_on_cpu.divergent_barrier,
  ///                         tests.cuda_on_cpu.out_of_bounds (after dynamic shared memory)
  void launch(const std::string& kernel, const CudaOnCpuLaunch& launch,
              const std::vector<void*>& argument_values);

  /// Runs a kernel in several orders of threads and blocks, with several contents of shared memory,
  /// each time on the same initial buffers, which then hold the result. In two runs the blocks come
  /// one after another, so that what these find they find each time; in two several run at once, so
  /// that updates which are not atomic may get lost.
  ///
  /// The kernel gets copies of `buffers` with canaries around: pointers into them are replaced,
  /// also within struct arguments. A sum by floating-point atomics depends on the order, and is
  /// reported as a race.
  ///
  /// @throws InvalidInput  as `launch`; tests.cuda_on_cpu.race: two orders gave other bytes;
  ///                       tests.cuda_on_cpu.out_of_bounds: a canary was overwritten
  void run_checked(const std::string& kernel, const CudaOnCpuLaunch& launch,
                   const std::vector<void*>& argument_values,
                   const std::vector<BufferRef>& buffers);

 private:
  struct Program;
  std::unique_ptr<Program> program_;
};

}  // namespace rtcg::testing
