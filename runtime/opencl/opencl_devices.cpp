// The door to this back end.
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <poll.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/runtime/compile/environment.h"
#include "rtcg/runtime/device/backend.h"
#include "rtcg/runtime/device/opencl_gpus.h"
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
  // a platform without its hardware is not an error
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

// The drivers that the loader will find; empty if it has another setting or keeps its list
// elsewhere.
std::vector<std::string> installed_drivers() {
  for (const char* variable : {"OCL_ICD_VENDORS", "OCL_ICD_FILENAMES", "RTCG_LIBOPENCL"}) {
    if (!environment(variable).empty()) {
      return {};
    }
  }
  std::vector<std::string> drivers;
  std::error_code failed;
  std::filesystem::directory_iterator item("/etc/OpenCL/vendors", failed);
  for (; !failed && item != std::filesystem::directory_iterator(); item.increment(failed)) {
    std::string library;
    std::getline(std::ifstream(item->path()), library);
    drivers.push_back(std::move(library));
  }
  return drivers;
}

bool is_pocl(const std::string& driver) {
  return driver.find("pocl") != std::string::npos;
}

void ask_for_devices(const Api& api) {
  cl_uint count = 0;
  if (api.clGetPlatformIDs(0, nullptr, &count) != CL_SUCCESS) {
    return;
  }
  std::vector<cl_platform_id> platforms(count);
  api.clGetPlatformIDs(count, platforms.data(), nullptr);
  for (const cl_platform_id platform : platforms) {
    cl_uint devices = 0;
    api.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &devices);
  }
}

// The signal with which drivers end a process that lists their devices, found by a child process;
// 0: none. PoCL aborts if it cannot start, for example in a container without /sys. A child that
// hangs shows nothing: it has one thread of many.
int signal_of_drivers(const Api& api) {
  const std::vector<std::string> drivers = installed_drivers();
  if (!drivers.empty() && std::none_of(drivers.begin(), drivers.end(), is_pocl)) {
    return 0;
  }
  const pid_t child = ::fork();
  if (child < 0) {
    return 0;
  }
  if (child == 0) {
    const rlimit no_core = {0, 0};
    ::setrlimit(RLIMIT_CORE, &no_core);
    for (const int each : {SIGABRT, SIGSEGV, SIGBUS, SIGILL, SIGFPE}) {
      std::signal(each, SIG_DFL);
    }
    if (std::freopen("/dev/null", "w", stderr) != nullptr) {
      ask_for_devices(api);
    }
    ::_exit(0);
  }
  constexpr int patience_ms = 10'000;
  const int descriptor = static_cast<int>(::syscall(SYS_pidfd_open, child, 0));
  pollfd ended = {descriptor, POLLIN, 0};
  const bool has_ended = descriptor < 0 || ::poll(&ended, 1, patience_ms) != 0;
  if (descriptor >= 0) {
    ::close(descriptor);
  }
  if (!has_ended) {
    ::kill(child, SIGKILL);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) {
      return 0;
    }
  }
  return has_ended && WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

BackendDevices find_devices() {
  const Api& api = Api::instance();
  if (!api.why_unavailable().empty()) {
    return {{}, api.why_unavailable()};
  }
  if (const int signal = signal_of_drivers(api); signal != 0) {
    return {{},
            fmt::format("an OpenCL driver ends every process that asks for its devices, by signal "
                        "{} ({}): repair or remove it; PoCL needs /sys and some memory",
                        signal, ::strsignal(signal))};
  }
  cl_uint count = 0;
  const cl_int status = api.clGetPlatformIDs(0, nullptr, &count);
  if (status == no_platform_status || (status == CL_SUCCESS && count == 0)) {
    return {{},
            "the OpenCL loader finds no platform: install a driver, for the CPU package "
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
    devices.devices.push_back(new opencl::OpenClBackend(
        api, device.id, {BackendKind::opencl, static_cast<int>(devices.devices.size())}));
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

std::vector<Backend*> opencl_gpus() {
  const std::vector<std::string> drivers = installed_drivers();
  if (!drivers.empty() && std::all_of(drivers.begin(), drivers.end(), is_pocl)) {
    return {};
  }
  std::vector<Backend*> gpus;
  for (Backend* each : opencl_devices().devices) {
    if (!each->info().is_cpu) {
      gpus.push_back(each);
    }
  }
  return gpus;
}

}  // namespace rtcg::runtime
