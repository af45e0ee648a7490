#pragma once

#include <string>

#include "rtcg/distributed/group/group.h"

namespace rtcg::distributed {

/// Why NCCL cannot be used; empty: it can. It is looked for as `libnccl.so.2`, or as RTCG_LIBNCCL.
[[nodiscard]] const std::string& why_no_nccl();

/// The same ranks, whose messages between devices go by NCCL: GPU to GPU, also between machines.
/// Those of the host go as before. Each rank needs a GPU of CUDA of its own. All ranks call it.
///
/// A rank that does not come leaves the others waiting on their streams, where no time-out ends
/// them: processes are then ended by their launcher.
///
/// @throws Unsupported   distributed.nccl.not_found; distributed.nccl.device: a rank without a GPU
/// @throws DeviceError   distributed.nccl.call_failed: as where two ranks have one GPU
[[nodiscard]] Group nccl_group(const Group& group);

/// nccl_group where all ranks have found NCCL and each has a GPU of its own; otherwise the same
/// group. All ranks call it.
[[nodiscard]] Group with_nccl_if_found(const Group& group);

}  // namespace rtcg::distributed
