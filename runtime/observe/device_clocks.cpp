#include "rtcg/runtime/observe/device_clocks.h"

#include <dlfcn.h>

#include <fmt/format.h>

namespace rtcg::runtime {
namespace {

/// The few functions of NVIDIA's management library that are needed.
class ManagementLibrary {
 public:
  using Handle = void*;

  ManagementLibrary() {
    library_ = ::dlopen("libnvidia-ml.so.1", RTLD_NOW);
    find("nvmlInit_v2", init_);
    find("nvmlDeviceGetHandleByUUID", by_uuid_);
    find("nvmlDeviceGetClockInfo", clock_);
    find("nvmlDeviceGetTemperature", temperature_);
    is_there_ = init_ != nullptr && by_uuid_ != nullptr && clock_ != nullptr &&
                temperature_ != nullptr && init_() == 0;
  }

  bool read(const std::string& uuid, DeviceClocks& clocks) const {
    Handle handle = nullptr;
    if (!is_there_ || by_uuid_(uuid.c_str(), &handle) != 0) {
      return false;
    }
    const auto get = [&](auto function, int which, int& target) {
      unsigned value = 0;
      if (function(handle, which, &value) == 0) {
        target = static_cast<int>(value);
      }
    };
    constexpr int of_multiprocessors = 1;
    constexpr int of_memory = 2;
    constexpr int of_chip = 0;
    get(clock_, of_multiprocessors, clocks.core_mhz);
    get(clock_, of_memory, clocks.memory_mhz);
    get(temperature_, of_chip, clocks.temperature_celsius);
    return true;
  }

 private:
  template <class Function>
  void find(const char* name, Function*& function) {
    function = library_ == nullptr ? nullptr : reinterpret_cast<Function*>(::dlsym(library_, name));
  }

  void* library_ = nullptr;
  int (*init_)() = nullptr;
  int (*by_uuid_)(const char*, Handle*) = nullptr;
  int (*clock_)(Handle, int, unsigned*) = nullptr;
  int (*temperature_)(Handle, int, unsigned*) = nullptr;
  bool is_there_ = false;
};

/// `GPU-8-4-4-4-12` hexadecimal digits.
std::string library_uuid(const std::string& digits) {
  if (digits.size() != 32) {
    return digits;
  }
  return fmt::format("GPU-{}-{}-{}-{}-{}", digits.substr(0, 8), digits.substr(8, 4),
                     digits.substr(12, 4), digits.substr(16, 4), digits.substr(20));
}

}  // namespace

DeviceClocks read_clocks(const Device& device) {
  const DeviceInfo& info = device.info();
  DeviceClocks clocks{info.clock_khz / 1000, info.memory_clock_khz / 1000, 0};
  if (info.id.kind == BackendKind::cuda) {
    static const ManagementLibrary library;
    static_cast<void>(library.read(library_uuid(info.uuid), clocks));
  }
  return clocks;
}

std::string to_string(const DeviceClocks& clocks) {
  std::string text;
  const auto add = [&](int value, const char* words) {
    if (value != 0) {
      text += fmt::format(fmt::runtime(words), text.empty() ? "" : ", ", value);
    }
  };
  add(clocks.core_mhz, "{}{} MHz");
  add(clocks.memory_mhz, "{}memory {} MHz");
  add(clocks.temperature_celsius, "{}{} C");
  return text.empty() ? "clocks unknown" : text;
}

}  // namespace rtcg::runtime
