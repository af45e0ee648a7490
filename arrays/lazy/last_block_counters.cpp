#include <map>
#include <mutex>

#include "rtcg/arrays/lazy/run.h"
#include "rtcg/runtime/device/buffer.h"
#include "rtcg/runtime/device/copy.h"

namespace rtcg::arrays::detail {
namespace {

struct Counters {
  std::mutex mutex;
  // A stream's handle names another stream only once all work of the first is done.
  std::map<std::pair<const runtime::Backend*, void*>, runtime::Buffer<std::uint32_t>> of_stream;
};

}  // namespace

runtime::DeviceAddress last_block_counters_of(runtime::StreamRef stream) {
  // never destroyed: kernels may run until the drivers are gone
  static Counters& all = *new Counters;
  const std::pair<const runtime::Backend*, void*> key(&stream.device().backend(),
                                                      stream.native_handle());
  const std::lock_guard lock(all.mutex);
  auto found = all.of_stream.find(key);
  if (found == all.of_stream.end()) {
    runtime::Buffer<std::uint32_t> counters(stream.device(), last_block_counter_count);
    runtime::fill(stream, counters.ref(), std::uint32_t{0});
    found = all.of_stream.emplace(key, std::move(counters)).first;
  }
  return found->second.address();
}

}  // namespace rtcg::arrays::detail
