#include "rtcg/runtime/device/device_name.h"

#include <charconv>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"

namespace rtcg::runtime {
namespace {

constexpr std::string_view numa_word = "numa";

/// A number from 0 on that is the whole text.
std::optional<int> read_number(std::string_view digits) {
  int number = 0;
  const char* end = digits.data() + digits.size();
  const auto [stop, status] = std::from_chars(digits.data(), end, number);
  if (digits.empty() || status != std::errc() || stop != end || number < 0) {
    return std::nullopt;
  }
  return number;
}

/// `1/4`, `0/numa`.
std::optional<DevicePart> read_part(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) {
    return std::nullopt;
  }
  const std::optional<int> index = read_number(text.substr(0, slash));
  const std::string_view parts = text.substr(slash + 1);
  const std::optional<int> count =
      parts == numa_word ? DevicePart::by_numa_node : read_number(parts);
  if (!index || !count || (parts != numa_word && *index >= *count)) {
    return std::nullopt;
  }
  return DevicePart{*index, *count};
}

}  // namespace

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
  std::string text = fmt::format("{}:{}", to_string(name.kind), name.index);
  if (name.part) {
    const bool is_by_node = name.part->count == DevicePart::by_numa_node;
    text += fmt::format(".{}/{}", name.part->index,
                        is_by_node ? std::string(numa_word) : std::to_string(name.part->count));
  }
  return text;
}

DeviceName parse_device_name(std::string_view text) {
  const auto refuse = [&]() -> InvalidInput {
    return {
        "runtime.device.bad_name",
        fmt::format("'{}' names no device: write host, or opencl or cuda and a number from 0 on, "
                    "such as cuda:0, and for a part opencl:0.1/4",
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
    std::string_view digits = text.substr(colon + 1);
    if (const std::size_t dot = digits.find('.'); dot != std::string_view::npos) {
      name.part = read_part(digits.substr(dot + 1));
      if (!name.part) {
        throw refuse();
      }
      digits = digits.substr(0, dot);
    }
    const std::optional<int> index = read_number(digits);
    if (!index) {
      throw refuse();
    }
    name.index = *index;
  }
  return name;
}

}  // namespace rtcg::runtime
