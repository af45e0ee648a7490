// The door to this back end.
#include "rtcg/runtime/device/backend.h"

#if RTCG_HAS_CUDA_HEADERS
#include <unistd.h>

#include <fmt/format.h>

#include "rtcg/runtime/cuda/cuda_backend.h"
#endif

namespace rtcg::runtime {

#if RTCG_HAS_CUDA_HEADERS
namespace {

struct Found {
  BackendDevices devices;
  pid_t process = 0;
};

std::string describe_status(CUresult status) {
  const std::string name = cuda::status_name(status);
  if (status == CUDA_ERROR_NO_DEVICE) {
    return fmt::format(
        "cuInit gave {}: the driver sees no GPU (CUDA_VISIBLE_DEVICES hides those "
        "it does not list)",
        name);
  }
  if (status == CUDA_ERROR_STUB_LIBRARY) {
    return fmt::format("cuInit gave {}: this libcuda is the toolkit's stub, not a driver", name);
  }
  return fmt::format("cuInit gave {}", name);
}

BackendDevices find_devices() {
  const cuda::DriverApi& driver = cuda::DriverApi::instance();
  if (!driver.why_unavailable().empty()) {
    return {{}, driver.why_unavailable()};
  }
  if (const CUresult status = driver.cuInit(0); status != CUDA_SUCCESS) {
    return {{}, describe_status(status)};
  }
  int count = 0;
  driver.cuDeviceGetCount.must("count the devices", &count);
  if (count == 0) {
    return {{}, "the driver sees no GPU (CUDA_VISIBLE_DEVICES hides those it does not list)"};
  }
  BackendDevices found;
  for (int index = 0; index < count; ++index) {
    // Never destroyed: the driver may be gone before the last object that would be.
    found.devices.push_back(new cuda::CudaBackend(driver, index));
  }
  return found;
}

Found find_devices_of_this_process() {
  try {
    return {find_devices(), ::getpid()};
  } catch (const Error& error) {
    return {{{}, error.what()}, ::getpid()};
  }
}

}  // namespace

const BackendDevices& cuda_devices() {
  static const auto* const found = new Found(find_devices_of_this_process());
  if (found->process == ::getpid() || found->devices.devices.empty()) {
    return found->devices;
  }
  static const auto* const forked =
      new BackendDevices{{},
                         "this process was forked from one that had used CUDA, which the driver "
                         "does not support: fork earlier, or start a new program"};
  return *forked;
}

#else

const BackendDevices& cuda_devices() {
  static const auto* const none = new BackendDevices{
      {}, "rtcg was built without the CUDA headers: install the CUDA toolkit and build it again"};
  return *none;
}

#endif

}  // namespace rtcg::runtime
