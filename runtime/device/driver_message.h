#pragma once
// Internal header: it is not installed.

#include <string>

#include "rtcg/cgen/support/error.h"

namespace rtcg::runtime {

/// The error's message without the driver's status: for use inside the message of another
/// DeviceError, which adds the status itself.
[[nodiscard]] std::string driver_message(const DeviceError& error);

}  // namespace rtcg::runtime
