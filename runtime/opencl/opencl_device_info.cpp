#include "rtcg/runtime/opencl/opencl_device_info.h"

#include <algorithm>
#include <limits>
#include <vector>

#include <fmt/format.h>

namespace rtcg::runtime::opencl {
namespace {

class DeviceReader {
 public:
  DeviceReader(const Api& api, cl_device_id device) : api_(api), device_(device) {}

  // What an older device does not know is zero.
  template <class Value>
  [[nodiscard]] Value value(cl_device_info what) const {
    Value value = {};
    if (api_.clGetDeviceInfo(device_, what, sizeof(value), &value, nullptr) != CL_SUCCESS) {
      return {};
    }
    return value;
  }

  [[nodiscard]] std::string text(cl_device_info what) const {
    std::size_t size_bytes = 0;
    if (api_.clGetDeviceInfo(device_, what, 0, nullptr, &size_bytes) != CL_SUCCESS) {
      return {};
    }
    std::string text(size_bytes, '\0');
    api_.clGetDeviceInfo.must("ask for a device's properties", device_, what, size_bytes,
                              text.data(), nullptr);
    return text.substr(0, text.find('\0'));
  }

  [[nodiscard]] std::string platform_text(cl_platform_info what) const {
    const auto platform = value<cl_platform_id>(CL_DEVICE_PLATFORM);
    std::size_t size_bytes = 0;
    if (api_.clGetPlatformInfo(platform, what, 0, nullptr, &size_bytes) != CL_SUCCESS) {
      return {};
    }
    std::string text(size_bytes, '\0');
    api_.clGetPlatformInfo.must("ask for a platform's properties", platform, what, size_bytes,
                                text.data(), nullptr);
    return text.substr(0, text.find('\0'));
  }

  [[nodiscard]] std::size_t bytes(cl_device_info what) const {
    return static_cast<std::size_t>(value<cl_ulong>(what));
  }

 private:
  const Api& api_;
  cl_device_id device_;
};

int to_int(std::uint64_t value) {
  return static_cast<int>(std::min<std::uint64_t>(value, std::numeric_limits<int>::max()));
}

void read_limits(const DeviceReader& device, DeviceInfo& info) {
  info.multiprocessors = to_int(device.value<cl_uint>(CL_DEVICE_MAX_COMPUTE_UNITS));
  info.max_threads_per_block = to_int(device.value<std::size_t>(CL_DEVICE_MAX_WORK_GROUP_SIZE));
  struct Extents {
    // More than any device has: those with fewer dimensions fill the first ones.
    std::size_t of[3];
  };
  const auto extents = device.value<Extents>(CL_DEVICE_MAX_WORK_ITEM_SIZES);
  for (std::size_t axis = 0; axis < 3; ++axis) {
    info.max_block[axis] = std::max<std::size_t>(extents.of[axis], 1);
    // the global size, in threads, must fit in the device's size_t
    const auto address_bits = device.value<cl_uint>(CL_DEVICE_ADDRESS_BITS);
    const std::uint64_t threads = address_bits >= 64 ? std::numeric_limits<std::uint64_t>::max()
                                                     : (std::uint64_t{1} << address_bits) - 1;
    info.max_grid[axis] = threads / info.max_block[axis];
  }
}

void read_memory(const DeviceReader& device, DeviceInfo& info) {
  info.total_memory_bytes = device.bytes(CL_DEVICE_GLOBAL_MEM_SIZE);
  info.max_allocation_bytes = device.bytes(CL_DEVICE_MAX_MEM_ALLOC_SIZE);
  info.shared_bytes_per_block = device.bytes(CL_DEVICE_LOCAL_MEM_SIZE);
  info.shared_bytes_per_block_opt_in = info.shared_bytes_per_block;
  info.shared_bytes_per_multiprocessor = info.shared_bytes_per_block;
  info.constant_bytes = device.bytes(CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE);
  info.l2_cache_bytes = device.bytes(CL_DEVICE_GLOBAL_MEM_CACHE_SIZE);
  info.memory_alignment_bytes =
      std::max<std::size_t>(device.value<cl_uint>(CL_DEVICE_MEM_BASE_ADDR_ALIGN) / 8, 1);
  info.clock_khz =
      to_int(std::uint64_t{1000} * device.value<cl_uint>(CL_DEVICE_MAX_CLOCK_FREQUENCY));
}

}  // namespace

cl_device_svm_capabilities read_svm_capabilities(const Api& api, cl_device_id device) {
  return DeviceReader(api, device).value<cl_device_svm_capabilities>(CL_DEVICE_SVM_CAPABILITIES);
}

DeviceInfo read_device_info(const Api& api, cl_device_id id, const DeviceName& name) {
  const DeviceReader device(api, id);
  DeviceInfo info;
  info.id = name;
  info.name = device.text(CL_DEVICE_NAME);
  info.vendor = device.text(CL_DEVICE_VENDOR);
  info.driver_version = device.text(CL_DRIVER_VERSION);
  info.target = fmt::format("{}, {}; {}, {}, driver {}", device.platform_text(CL_PLATFORM_NAME),
                            device.platform_text(CL_PLATFORM_VERSION), info.name,
                            device.text(CL_DEVICE_VERSION), info.driver_version);
  read_limits(device, info);
  read_memory(device, info);
  const std::string extensions = device.text(CL_DEVICE_EXTENSIONS);
  info.has_f64 = device.value<cl_device_fp_config>(CL_DEVICE_DOUBLE_FP_CONFIG) != 0;
  info.has_f16 = extensions.find("cl_khr_fp16") != std::string::npos;
  info.has_sub_groups = device.value<cl_uint>(CL_DEVICE_MAX_NUM_SUB_GROUPS) > 0 ||
                        extensions.find("cl_khr_subgroups") != std::string::npos;
  info.has_managed_memory = (read_svm_capabilities(api, id) & CL_DEVICE_SVM_FINE_GRAIN_BUFFER) != 0;
  if (name.part) {  // after the target: what is compiled for the whole device is the parts' too
    info.name += fmt::format(", {} of its compute units", info.multiprocessors);
  }
  info.is_cpu = (device.value<cl_device_type>(CL_DEVICE_TYPE) & CL_DEVICE_TYPE_CPU) != 0;
  return info;
}

}  // namespace rtcg::runtime::opencl
