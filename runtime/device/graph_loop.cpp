#include "rtcg/runtime/device/graph_loop.h"

#include <span>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/runtime/device/copy.h"
#include "rtcg/runtime/device/graph.h"

namespace rtcg::runtime {

void repeat_while(StreamRef stream, BufferRef<const int> condition,
                  const std::function<void()>& body) {
  const Device device = stream.device();
  if (condition.device() != device) {
    throw InvalidInput(
        "runtime.launch.wrong_device",
        fmt::format("the condition of a loop is memory of '{}' and the stream is of "
                    "'{}': they have to be of one device",
                    to_string(condition.device().info().id), to_string(device.info().id)));
  }
  if (condition.count() != 1) {
    throw InvalidInput("runtime.graph.bad_condition",
                       fmt::format("the condition of a loop has {} elements: give one integer, "
                                   "such as condition.subrange(0, 1)",
                                   condition.count()));
  }
  if (detail::is_captured(stream)) {
    // what has no loops has no captures either
    dynamic_cast<GraphLoopBackend&>(device.backend())
        .repeat_while(stream.native_handle(), condition.address(), body);
    return;
  }
  for (int value = 0;;) {
    copy_to_host(stream, condition, std::span(&value, 1));
    stream.synchronize();
    if (value == 0) {
      return;
    }
    body();
  }
}

}  // namespace rtcg::runtime
