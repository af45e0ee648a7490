#pragma once
// Internal header: it is not installed.

#include <map>
#include <mutex>
#include <tuple>

#include "rtcg/loopy/execute/executor.h"

namespace rtcg::arrays::detail {

/// Compiled kernels of one family by device and key, each made once. Any thread may use it. Objects
/// are never destroyed, `static auto& known = *new KnownExecutors<DType>;`, because drivers may be
/// unloaded before.
template <class Key>
class KnownExecutors {
 public:
  /// @param make  gives the kernel of a key that is new
  template <class Make>
  const loopy::Executor& of(runtime::Device device, const Key& key, const Make& make) {
    const std::lock_guard lock(mutex_);
    auto found = known_.find({&device.backend(), key});
    if (found == known_.end()) {
      found =
          known_.emplace(std::tuple(&device.backend(), key), loopy::Executor(make(), device)).first;
    }
    return found->second;
  }

 private:
  std::mutex mutex_{};
  std::map<std::tuple<const runtime::Backend*, Key>, loopy::Executor> known_{};
};

}  // namespace rtcg::arrays::detail
