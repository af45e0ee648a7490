#include "rtcg/runtime/device/device_name.h"

#include <charconv>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"

namespace rtcg::runtime {

std::string_view to_string(BackendKind kind) {
  switch (kind) {
    case BackendKind::host:
      return "host";
    case BackendKind::opencl:
      return "opencl";
    case BackendKind::cuda:
      return "cuda";
  }
  return "unknown";
}

std::string to_string(const DeviceName& name) {
  if (name.kind == BackendKind::host) {
    return "host";
  }
  return fmt::format("{}:{}", to_string(name.kind), name.index);
}

DeviceName parse_device_name(std::string_view text) {
  const auto refuse = [&]() -> InvalidInput {
    return {
        "runtime.device.bad_name",
        fmt::format("'{}' names no device: write host, or opencl or cuda and a number from 0 on, "
                    "such as cuda:0",
                    text)};
  };
  const std::size_t colon = text.find(':');
  const std::string_view backend = text.substr(0, colon);
  DeviceName name;
  if (backend == "cuda") {
    name.kind = BackendKind::cuda;
  } else if (backend == "opencl") {
    name.kind = BackendKind::opencl;
  } else if (backend != "host" || colon != std::string_view::npos) {
    throw refuse();
  }
  if (colon != std::string_view::npos) {
    const std::string_view digits = text.substr(colon + 1);
    const char* end = digits.data() + digits.size();
    const auto [stop, status] = std::from_chars(digits.data(), end, name.index);
    if (digits.empty() || status != std::errc() || stop != end || name.index < 0) {
      throw refuse();
    }
  }
  return name;
}

}  // namespace rtcg::runtime
