// What the cost model has to know of a device.
#include <algorithm>

#include "rtcg/cgen/support/integer.h"
#include "rtcg/loopy/tune/machine_figures.h"
#include "rtcg/loopy/tune/tune.h"

namespace rtcg::loopy {
namespace {

/// What OpenCL reports of a device. It does not report the rate of memory: 16 bytes in each clock
/// of each multiprocessor, as GPUs of the last years have, and processors not quite.
void use_opencl_figures(const runtime::DeviceInfo& info, MachineModel& model) {
  constexpr double bytes_per_clock = 16;
  if (info.multiprocessors > 0 && info.clock_khz > 0) {
    model.multiprocessors = info.multiprocessors;
    model.clock_hz = info.clock_khz * 1e3;
    model.memory_bytes_per_second = bytes_per_clock * model.multiprocessors * model.clock_hz;
  }
  if (info.shared_bytes_per_block > 0) {
    model.shared_bytes = static_cast<std::int64_t>(info.shared_bytes_per_block);
    model.shared_bytes_per_multiprocessor = model.shared_bytes;
  }
}

}  // namespace

MachineModel machine_model(const runtime::Device& device) {
  return machine_model(device.info());
}

MachineModel machine_model(const runtime::DeviceInfo& info) {
  MachineModel model;
  model.architecture = info.id.kind == runtime::BackendKind::cuda ? info.target : std::string();
  if (info.id.kind != runtime::BackendKind::cuda) {
    model.has_async_copies = false;
    model.is_cpu = info.is_cpu;
    if (model.is_cpu && info.multiprocessors > 0) {
      model.multiprocessors = info.multiprocessors;
      model.clock_hz = 3e9;
    }
    if (info.id.kind == runtime::BackendKind::opencl) {
      model.has_device_fences = false;
      use_opencl_figures(info, model);
    }
    return model;
  }
  model.f64_flops_per_clock = share_of_f64(info.target) * model.flops_per_clock;
  model.multiprocessors = info.multiprocessors;
  model.clock_hz = info.clock_khz * 1e3;
  if (info.memory_clock_khz > 0 && info.memory_bus_bits > 0) {
    // two transfers per clock
    model.memory_bytes_per_second =
        reached_share_of_bandwidth * 2e3 * info.memory_clock_khz * info.memory_bus_bits / 8;
  }
  model.shared_bytes = static_cast<std::int64_t>(
      std::max(info.shared_bytes_per_block, info.shared_bytes_per_block_opt_in));
  model.shared_bytes_per_multiprocessor =
      static_cast<std::int64_t>(info.shared_bytes_per_multiprocessor);
  model.threads_per_multiprocessor = info.max_threads_per_multiprocessor;
  model.registers_per_multiprocessor = info.registers_per_multiprocessor;
  return model;
}

double occupancy(const TunedCandidate& tuned, const MachineModel& machine) {
  if (!tuned.resources.registers || tuned.threads <= 0) {
    return 0;
  }
  const auto blocks_of = [](std::int64_t all, std::int64_t one) {
    return one <= 0 ? INT64_MAX : all / one;
  };
  constexpr std::int64_t most_blocks = 32;
  const std::int64_t warps = ceil_divide(tuned.threads, machine.warp_lanes);
  // registers are given out by warps, 256 at a time; 1 KiB of each block's shared memory is taken
  const std::int64_t registers_of_warp =
      round_up(std::int64_t{*tuned.resources.registers} * machine.warp_lanes, 256);
  const auto shared = static_cast<std::int64_t>(tuned.resources.shared_bytes.value_or(0)) + 1024;
  const std::int64_t blocks = std::min(
      {most_blocks, blocks_of(machine.threads_per_multiprocessor, warps * machine.warp_lanes),
       blocks_of(machine.registers_per_multiprocessor, registers_of_warp * warps),
       blocks_of(machine.shared_bytes_per_multiprocessor, shared)});
  return static_cast<double>(blocks * warps * machine.warp_lanes) /
         machine.threads_per_multiprocessor;
}

}  // namespace rtcg::loopy
