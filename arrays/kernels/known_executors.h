#pragma once
// Internal header: it is not installed.

#include <tuple>

#include "rtcg/arrays/core/made_once.h"
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
    return known_.of({&device.backend(), key}, [&] { return loopy::Executor(make(), device); });
  }

 private:
  MadeOnce<std::tuple<const runtime::Backend*, Key>, loopy::Executor> known_{};
};

}  // namespace rtcg::arrays::detail
