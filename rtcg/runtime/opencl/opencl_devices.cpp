// The door to this back end.
#include <algorithm>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/runtime/device/backend.h"
#include "rtcg/runtime/opencl/opencl_backend.h"

namespace rtcg::runtime {
namespace {

using opencl::Api;

constexpr cl_int no_platform_status = -1001;  // CL_PLATFORM_NOT_FOUND_KHR, of the loader

struct FoundDevice {
  cl_device_id id;
  int rank;
};

int rank_of(cl_device_type type) {
  if ((type & CL_DEVICE_TYPE_GPU) != 0) {
    return 0;
  }
  return (type & CL_DEVICE_TYPE_CPU) != 0 ? 2 : 1;
}

std::vector<FoundDevice> devices_of(const Api& api, cl_platform_id platform) {
  cl_uint count = 0;
  // a platform whose hardware is not there is no error
  if (api.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &count) != CL_SUCCESS) {
    return {};
  }
  std::vector<cl_device_id> ids(count);
  api.clGetDeviceIDs.must("list devices", platform, CL_DEVICE_TYPE_ALL, count, ids.data(), nullptr);
  std::vector<FoundDevice> found;
  for (const cl_device_id id : ids) {
    cl_device_type type = 0;
    api.clGetDeviceInfo.must("ask for a device's type", id, CL_DEVICE_TYPE, sizeof(type), &type,
                             nullptr);
    found.push_back({id, rank_of(type)});
  }
  return found;
}

BackendDevices find_devices() {
  const Api& api = Api::instance();
  if (!api.why_unavailable().empty()) {
    return {{}, api.why_unavailable()};
  }
  cl_uint count = 0;
  const cl_int status = api.clGetPlatformIDs(0, nullptr, &count);
  if (status == no_platform_status || (status == CL_SUCCESS && count == 0)) {
    return {{},
            "the OpenCL loader knows no platform: install a driver, for the CPU package "
            "pocl-opencl-icd"};
  }
  if (status != CL_SUCCESS) {
    return {{}, fmt::format("clGetPlatformIDs gave {}", opencl::status_name(status))};
  }
  std::vector<cl_platform_id> platforms(count);
  api.clGetPlatformIDs.must("list platforms", count, platforms.data(), nullptr);
  std::vector<FoundDevice> found;
  for (const cl_platform_id platform : platforms) {
    const std::vector<FoundDevice> more = devices_of(api, platform);
    found.insert(found.end(), more.begin(), more.end());
  }
  if (found.empty()) {
    return {{}, "no OpenCL platform has a device: the CPU is one with package pocl-opencl-icd"};
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& left, const auto& right) { return left.rank < right.rank; });
  BackendDevices devices;
  for (const FoundDevice& device : found) {
    // Never destroyed: the driver may be gone before the last object that would be.
    devices.devices.push_back(
        new opencl::OpenClBackend(api, device.id, static_cast<int>(devices.devices.size())));
  }
  return devices;
}

BackendDevices find_devices_or_say_why() {
  try {
    return find_devices();
  } catch (const Error& error) {
    return {{}, error.what()};
  }
}

}  // namespace

const BackendDevices& opencl_devices() {
  static const auto* const found = new BackendDevices(find_devices_or_say_why());
  return *found;
}

}  // namespace rtcg::runtime
