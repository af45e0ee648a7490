#pragma once
// Internal header: it is not installed.

#include <exception>

#include "rtcg/runtime/device/stream.h"

namespace rtcg::runtime::detail {

/// Has the next synchronize() of the stream throw the error: what its work needed did not come.
void fail_stream(StreamRef stream, std::exception_ptr error);

}  // namespace rtcg::runtime::detail
