#include "rtcg/runtime/device/driver_message.h"

#include <algorithm>

#include <fmt/format.h>

namespace rtcg::runtime {

std::string driver_message(const DeviceError& error) {
  const std::string& message = error.message();
  const std::string suffix = fmt::format(": {} returned {}", error.api(), error.status());
  const std::size_t length = message.size() - std::min(message.size(), suffix.size());
  return message.compare(length, std::string::npos, suffix) == 0 ? message.substr(0, length)
                                                                 : message;
}

}  // namespace rtcg::runtime
