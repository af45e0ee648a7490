#include "rtcg/runtime/device/split_device.h"

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"

namespace rtcg::runtime {
namespace {

std::vector<Device> parts_of(Device device, int count) {
  const DeviceInfo& info = device.info();
  auto* const able = dynamic_cast<SplitBackend*>(&device.backend());
  if (able == nullptr || info.id.part) {
    throw Unsupported("runtime.device.cannot_split",
                      fmt::format("'{}' cannot be split: {}", to_string(info.id),
                                  able == nullptr ? "devices of OpenCL can"
                                                  : "it is a part itself; split the whole device"));
  }
  std::vector<Device> parts;
  for (Backend* const each : able->split(count)) {
    parts.emplace_back(*each);
  }
  return parts;
}

}  // namespace

std::vector<Device> split_device(Device device, int count) {
  if (count < 1 || count > device.info().multiprocessors) {
    throw InvalidInput(
        "runtime.device.bad_part_count",
        fmt::format("'{}' cannot have {} parts: it has {} compute units, and a part has one or "
                    "more",
                    to_string(device.info().id), count, device.info().multiprocessors));
  }
  return parts_of(device, count);
}

std::vector<Device> split_by_numa_node(Device device) {
  return parts_of(device, DevicePart::by_numa_node);
}

}  // namespace rtcg::runtime
