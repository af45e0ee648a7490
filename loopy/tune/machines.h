#pragma once

#include <string>
#include <vector>

#include "rtcg/loopy/slice/enumerate_slicings.h"
#include "rtcg/runtime/compile/compile_request.h"

namespace rtcg::loopy {

/// A GPU that kernels are sliced for in its absence.
struct Machine {
  std::string name{};    ///< `h200`
  std::string device{};  ///< `NVIDIA H200 SXM`
  MachineModel model{};  ///< model.architecture is `sm_90`
};

/// The machines of a file, then those of rtcg (loopy/tune/machines.json) with other names.
///
/// A file is a JSON object with a list `machines`. Each has `name`, `device`, `target` (`sm_90`),
/// `multiprocessors`, `clock_mhz`, `memory_gb_per_second` (nominal), `flops_per_clock` (f32, of a
/// multiprocessor), `shared_kib_per_block`, `shared_kib_per_multiprocessor`,
/// `threads_per_multiprocessor` and `has_async_copies`.
///
/// @param path  empty: none
/// @throws InvalidInput  loopy.machines.unreadable, loopy.machines.bad_entry
[[nodiscard]] std::vector<Machine> known_machines(const std::string& path = {});

/// The machine of a name, or the first one of an architecture: `h200`, `cuda:sm_90`.
///
/// @throws InvalidInput  loopy.machines.unknown, and what known_machines throws
[[nodiscard]] Machine find_machine(const std::string& name, const std::string& path = {});

/// A slicing as compiled for a machine that is absent.
struct CompiledSlicing {
  RankedSlicing ranked{};
  /// Of the kernel with the most registers, where there are several.
  runtime::KernelResources resources{};
  double occupancy = 0;   ///< see occupancy(); 0: not known
  std::string text{};     ///< its CUDA C++
  std::string refusal{};  ///< why it is out: it spills, or does not compile; otherwise empty
};

/// Compiles the slicings that the model ranks first for a machine, until `count` of them neither
/// spill nor fail: the first without a refusal is the model's choice. Nothing is run or checked.
///
/// Where NVRTC has no such architecture, the first `count` are not compiled: their resources are
/// unknown.
/// @param constraints  constraints.machine is ignored
/// @throws Unsupported   loopy.tune.nothing_works
/// @throws InvalidInput  what SlicingStream throws
[[nodiscard]] std::vector<CompiledSlicing> slice_for(const Kernel& kernel, const Machine& machine,
                                                     SlicingConstraints constraints,
                                                     std::size_t count = 1);

}  // namespace rtcg::loopy
