#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "rtcg/distributed/group/run_ranks.h"
#include "rtcg/runtime/host/host_backend.h"
#include "tests/support/judged_devices.h"

// Devices for ranks as threads: everywhere several ranks share one, on machines with several GPUs
// each has its own.

namespace rtcg::distributed::testing {

struct DeviceSet {
  std::string name;
  std::vector<runtime::Device> devices;  ///< ranks take them in turns

  [[nodiscard]] std::vector<runtime::Device> of_ranks(int ranks) const {
    std::vector<runtime::Device> result;
    for (int rank = 0; rank < ranks; ++rank) {
      result.push_back(devices[static_cast<std::size_t>(rank) % devices.size()]);
    }
    return result;
  }
};

inline std::vector<runtime::Device> judged_of(runtime::BackendKind kind) {
  std::vector<runtime::Device> found;
  for (const runtime::Device& device : runtime::judged_devices()) {
    if (device.info().id.kind == kind) {
      found.push_back(device);
    }
  }
  return found;
}

/// All devices of each kind, and all of them together.
inline const std::vector<DeviceSet>& device_sets() {
  static const std::vector<DeviceSet> sets = [] {
    std::vector<DeviceSet> result;
    for (const runtime::BackendKind kind :
         {runtime::BackendKind::host, runtime::BackendKind::opencl, runtime::BackendKind::cuda}) {
      const std::vector<runtime::Device> found = judged_of(kind);
      if (!found.empty()) {
        result.push_back({std::string(to_string(kind)), found});
      }
    }
    if (result.size() > 1) {
      result.push_back({"all kinds", runtime::judged_devices()});
    }
    return result;
  }();
  return sets;
}

/// Runs ranks whose hosts wait for messages, and then, where each has a device of its own, ranks
/// whose devices do.
inline void run_both_ways(const std::vector<runtime::Device>& devices,
                          const std::function<void(const Group&)>& work) {
  run_ranks(devices, work, {.waiting = Waiting::hosts});
  for (std::size_t i = 0; i < devices.size(); ++i) {
    if (std::find(devices.begin(), devices.begin() + static_cast<std::ptrdiff_t>(i), devices[i]) !=
        devices.begin() + static_cast<std::ptrdiff_t>(i)) {
      return;
    }
  }
  if (devices.size() > 1) {
    run_ranks(devices, work, {.waiting = Waiting::devices});
  }
}

/// Devices on the processor that are different ones to the ranks, as GPUs are. They live as long as
/// the process.
inline std::vector<runtime::Device> host_devices_apart(int ranks) {
  static std::deque<runtime::HostBackend>& made = *new std::deque<runtime::HostBackend>;
  std::vector<runtime::Device> result;
  for (std::size_t rank = 0; rank < static_cast<std::size_t>(ranks); ++rank) {
    if (made.size() == rank) {
      made.emplace_back();
    }
    result.emplace_back(made[rank]);
  }
  return result;
}

/// Ranks as threads that share the processor.
inline void on_host(int ranks, const std::function<void(const Group&)>& work) {
  run_ranks(std::vector<runtime::Device>(static_cast<std::size_t>(ranks), runtime::Device::host()),
            work);
}

/// Where REQUIRE_GPUS=n is set, a machine with fewer GPUs of CUDA is a failure.
inline void expect_required_gpus() {
  if (const char* required = std::getenv("REQUIRE_GPUS")) {
    EXPECT_GE(judged_of(runtime::BackendKind::cuda).size(),
              static_cast<std::size_t>(std::atoi(required)))
        << runtime::why_no_devices(runtime::BackendKind::cuda);
  }
}

}  // namespace rtcg::distributed::testing
