#pragma once

#include <functional>

#include "rtcg/runtime/device/buffer.h"
#include "rtcg/runtime/device/stream.h"

namespace rtcg::runtime {

/// What a back end offers whose graphs have loops; found by a cast of Backend.
class GraphLoopBackend {
 public:
  virtual ~GraphLoopBackend() = default;
  /// Within the capture of a stream.
  virtual void repeat_while(Backend::Stream stream, DeviceAddress condition,
                            const std::function<void()>& body) = 0;
};

/// Repeats work as long as an integer in memory of the device is not 0. It is read before each
/// round; a body that never clears it never ends.
///
///     const Graph solve = capture(stream, [&] {
///       start(stream, {1, 1}, residual, is_unsolved);
///       repeat_while(stream, is_unsolved, [&] { iterate(stream, ..., is_unsolved); });
///     });
///     solve.launch(stream);  // as many rounds as it takes, without the host
///
/// Within a capture `body` is called once, and the loop becomes part of the graph: a conditional
/// node of CUDA, a task of the host. Its rounds have kernels, copies and fills on the device, and
/// loops; no calls of the host. Work of other streams has to end before the loop begins, and within
/// its body. A CUDA graph with a loop that is launched within another capture is copied node by
/// node, and `update` always replaces it. Outside of a capture `body` is called for each round.
///
/// @param condition  one integer; outlives the graph
/// @throws InvalidInput  runtime.launch.wrong_device; runtime.graph.bad_condition: it has not
///                       one element
/// @throws Unsupported   runtime.cuda.missing_function: a driver before CUDA 12.3
/// @throws  what `body` throws
/// @cost   outside of a capture each round copies the integer to the host, and waits
void repeat_while(StreamRef stream, BufferRef<const int> condition,
                  const std::function<void()>& body);

}  // namespace rtcg::runtime
