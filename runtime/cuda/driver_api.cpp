#if RTCG_HAS_CUDA_HEADERS
#include "rtcg/runtime/cuda/driver_api.h"

#include <algorithm>
#include <array>
#include <dlfcn.h>

#include <fmt/format.h>

#include "rtcg/runtime/compile/environment.h"

namespace rtcg::runtime::cuda {
namespace {

constexpr const char* versioned_name = "libcuda.so.1";

// A function that finds the driver's functions, whichever of its two ABIs the driver has.
class Finder {
 public:
  explicit Finder(void* library)
      : new_(
            reinterpret_cast<PFN_cuGetProcAddress_v12000>(::dlsym(library, "cuGetProcAddress_v2"))),
        old_(reinterpret_cast<PFN_cuGetProcAddress_v11030>(::dlsym(library, "cuGetProcAddress"))) {}

  [[nodiscard]] bool is_there() const noexcept { return new_ != nullptr || old_ != nullptr; }

  CUresult find(const char* name, int version, void** address) const noexcept {
    *address = nullptr;
    const cuuint64_t flags = CU_GET_PROC_ADDRESS_DEFAULT;
    return new_ != nullptr ? new_(name, address, version, flags, nullptr)
                           : old_(name, address, version, flags);
  }

 private:
  PFN_cuGetProcAddress_v12000 new_;
  PFN_cuGetProcAddress_v11030 old_;
};

// After these the context is lost: every later call fails with the same status.
constexpr std::array sticky_statuses = {
    CUDA_ERROR_ILLEGAL_ADDRESS,       CUDA_ERROR_LAUNCH_TIMEOUT,      CUDA_ERROR_ASSERT,
    CUDA_ERROR_HARDWARE_STACK_ERROR,  CUDA_ERROR_ILLEGAL_INSTRUCTION, CUDA_ERROR_MISALIGNED_ADDRESS,
    CUDA_ERROR_INVALID_ADDRESS_SPACE, CUDA_ERROR_INVALID_PC,          CUDA_ERROR_LAUNCH_FAILED,
    CUDA_ERROR_ECC_UNCORRECTABLE};

bool is_sticky(CUresult status) {
  return std::find(sticky_statuses.begin(), sticky_statuses.end(), status) != sticky_statuses.end();
}

std::string status_text(CUresult status) {
  const DriverApi& driver = DriverApi::instance();
  const char* text = nullptr;
  if (driver.cuGetErrorString && driver.cuGetErrorString(status, &text) == CUDA_SUCCESS &&
      text != nullptr) {
    return text;
  }
  return "the driver has no text for it";
}

}  // namespace

std::string status_name(CUresult status) {
  const DriverApi& driver = DriverApi::instance();
  const char* name = nullptr;
  if (driver.cuGetErrorName && driver.cuGetErrorName(status, &name) == CUDA_SUCCESS &&
      name != nullptr) {
    return name;
  }
  return fmt::format("CUresult {}", static_cast<int>(status));
}

void throw_status(CUresult status, const char* function, const std::string& what) {
  const std::string name = status_name(status);
  if (is_sticky(status)) {
    throw DeviceError(
        "runtime.cuda.kernel_fault",
        fmt::format("cannot {}: {}: a kernel launched earlier has faulted, all work of this "
                    "process on the device is lost and every further call will fail; RTCG_DEBUG=1 "
                    "or compute-sanitizer finds the launch",
                    what, status_text(status)),
        function, name);
  }
  if (status >= CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED && status <= CUDA_ERROR_CAPTURED_EVENT) {
    throw InvalidInput(
        "runtime.graph.cannot_capture",
        fmt::format(
            "cannot {} while a graph is captured: {} ({} gives {}). Let what waits, and what "
            "other streams have to do before, come before the capture",
            what, status_text(status), function, name));
  }
  throw DeviceError("runtime.cuda.call_failed",
                    fmt::format("cannot {}: {}", what, status_text(status)), function, name);
}

void throw_missing(const char* function, int version) {
  throw Unsupported("runtime.cuda.missing_function",
                    fmt::format("this driver has no '{}' as of CUDA {}.{}: install a newer one",
                                function, version / 1000, version % 1000 / 10));
}

const DriverApi& DriverApi::instance() {
  // Never destroyed: other objects with static storage may still free memory of a device.
  static const DriverApi* const api = [] {
    auto* made = new DriverApi;
    return made;
  }();
  return *api;
}

DriverApi::DriverApi() : why_unavailable_(open()) {}

std::string DriverApi::open() {
  // The unversioned name may be the toolkit's stub.
  const std::string named = environment("RTCG_LIBCUDA");
  const std::string path = named.empty() ? versioned_name : named;
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* reason = ::dlerror();
    return fmt::format("'{}' of the NVIDIA driver cannot be opened: {}", path,
                       reason == nullptr ? "no reason given" : reason);
  }
  const Finder finder(library);
  if (!finder.is_there()) {
    return fmt::format("'{}' has no cuGetProcAddress: rtcg needs a driver of CUDA 11.3 or newer",
                       path);
  }
  void* address = nullptr;
  if (finder.find("cuInit", cuInit.version(), &address) == CUDA_ERROR_STUB_LIBRARY) {
    return fmt::format("'{}' is the CUDA toolkit's stub, not a driver", path);
  }
#define RTCG_CUDA_FIND(name, version)                          \
  if (finder.find(#name, version, &address) == CUDA_SUCCESS) { \
    name.set(address);                                         \
  }
  RTCG_CUDA_FUNCTIONS(RTCG_CUDA_FIND)
#undef RTCG_CUDA_FIND
  return {};
}

}  // namespace rtcg::runtime::cuda
#endif
