#pragma once

#include "rtcg/runtime/device/event.h"
#include "rtcg/runtime/device/stream.h"

namespace rtcg::runtime {

/// Mean time on the device, in milliseconds, of the work of one call of `submit` on `stream`.
///
/// @param submit       puts work on `stream`; called `repetitions` times
/// @param repetitions  > 0
/// @cost  waits for the work
template <class Callable>
[[nodiscard]] double time_ms(StreamRef stream, Callable&& submit, int repetitions = 1) {
  const Event begin = stream.record();
  for (int i = 0; i < repetitions; ++i) {
    submit();
  }
  const Event end = stream.record();
  return elapsed_ms(begin, end) / repetitions;
}

}  // namespace rtcg::runtime
