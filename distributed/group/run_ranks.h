#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "rtcg/distributed/exchange/waiting.h"
#include "rtcg/distributed/group/group.h"

namespace rtcg::distributed {

struct GroupOptions {
  /// How long a rank waits for another one until its call fails.
  double timeout_seconds = 60;
  Waiting waiting = Waiting::measured;
};

/// Runs `work` on one thread for each rank, and returns when all have ended. Rank i has device i;
/// several may have the same one. Messages between devices of CUDA, or within one device, are
/// copies on their streams; all others go through memory of the host.
///
///     run_ranks({Device::find("cuda:0"), Device::find("cuda:1")}, [](const Group& group) { ... });
///
/// @throws InvalidInput  distributed.run_ranks.no_devices; distributed.group.bad_timeout
/// @throws  what the first rank to fail threw, with its rank in the message. The calls of the other
///          ranks then throw distributed.group.rank_failed
void run_ranks(const std::vector<runtime::Device>& devices,
               const std::function<void(const Group&)>& work, const GroupOptions& options = {});

/// The devices of a list of names: `cuda:0,cuda:1`.
///
/// @throws  as Device::find
[[nodiscard]] std::vector<runtime::Device> devices_of(std::string_view names);

}  // namespace rtcg::distributed
