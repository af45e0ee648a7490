#pragma once
// Internal header: it is not installed.

#include <cstddef>
#include <optional>

#include "rtcg/loopy/tune/search.h"
#include "rtcg/runtime/device/buffer.h"
#include "rtcg/runtime/device/copy.h"
#include "rtcg/runtime/device/stream.h"
#include "rtcg/runtime/observe/timer.h"

namespace rtcg::loopy {

/// Times launches with caches as a search wants them.
class LaunchTimer {
 public:
  LaunchTimer(runtime::Device device, CacheState cache) {
    if (cache == CacheState::cold) {
      const std::size_t cache_bytes = device.info().l2_cache_bytes;
      scrubbed_.emplace(device, cache_bytes > 0 ? 2 * cache_bytes : std::size_t{128} << 20);
    }
  }

  /// Mean of so many launches; `launch` submits one to the stream.
  template <class Launch>
  [[nodiscard]] double time_us(const runtime::Stream& stream, const Launch& launch, int launches) {
    if (!scrubbed_) {
      return runtime::time_ms(stream, launch, launches) * 1e3;
    }
    double sum_ms = 0;
    for (int i = 0; i < launches; ++i) {
      runtime::fill(stream, *scrubbed_, static_cast<std::byte>(i));
      sum_ms += runtime::time_ms(stream, launch);
    }
    return sum_ms * 1e3 / launches;
  }

 private:
  /// Written between launches that are to find nothing in the cache.
  std::optional<runtime::Buffer<std::byte>> scrubbed_{};
};

}  // namespace rtcg::loopy
