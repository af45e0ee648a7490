#pragma once
// Internal header: it is not installed.

#include <string>

#include "rtcg/cgen/support/error.h"

namespace rtcg::runtime {

/// The error's message without what the driver returned: for an error with more words around it,
/// since every DeviceError says that itself.
[[nodiscard]] std::string driver_message(const DeviceError& error);

}  // namespace rtcg::runtime
