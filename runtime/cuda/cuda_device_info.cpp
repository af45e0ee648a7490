#if RTCG_HAS_CUDA_HEADERS
#include <array>
#include <cctype>
#include <fstream>

#include <fmt/format.h>

#include "rtcg/runtime/cuda/cuda_backend.h"

namespace rtcg::runtime::cuda {
namespace {

// Reads attributes of one device as the numbers they are.
class Attributes {
 public:
  Attributes(const DriverApi& driver, CUdevice device) : driver_(driver), device_(device) {}

  // An attribute that an old driver does not know is 0, as DeviceInfo defines it.
  [[nodiscard]] int operator()(CUdevice_attribute attribute) const {
    int value = 0;
    const CUresult status = driver_.cuDeviceGetAttribute(&value, attribute, device_);
    if (status != CUDA_SUCCESS && status != CUDA_ERROR_INVALID_VALUE) {
      throw_status(status, driver_.cuDeviceGetAttribute.name(), "read an attribute of a device");
    }
    return status == CUDA_SUCCESS ? value : 0;
  }
  [[nodiscard]] std::size_t bytes(CUdevice_attribute attribute) const {
    return static_cast<std::size_t>((*this)(attribute));
  }
  [[nodiscard]] std::uint64_t count(CUdevice_attribute attribute) const {
    return static_cast<std::uint64_t>((*this)(attribute));
  }
  [[nodiscard]] bool has(CUdevice_attribute attribute) const { return (*this)(attribute) != 0; }

 private:
  const DriverApi& driver_;
  CUdevice device_;
};

std::string read_uuid(const DriverApi& driver, CUdevice device) {
  CUuuid uuid = {};
  std::array<char, 32> bus = {};
  if (driver.cuDeviceGetUuid && driver.cuDeviceGetUuid(&uuid, device) == CUDA_SUCCESS) {
    std::string text;
    for (const char byte : uuid.bytes) {
      text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
    }
    return text;
  }
  driver.cuDeviceGetPCIBusId.must("ask for a device's PCI address", bus.data(),
                                  static_cast<int>(bus.size()), device);
  return bus.data();
}

// `580.159`: which of the many drivers that serve one version of CUDA. libcuda does not say; the
// kernel does, in a line that differs between its open and closed modules but for this word.
std::string read_driver_release() {
  std::ifstream file("/proc/driver/nvidia/version");
  for (std::string word; file >> word;) {
    if (std::isdigit(static_cast<unsigned char>(word.front())) != 0 &&
        word.find('.') != std::string::npos) {
      return word;
    }
  }
  return {};
}

// `13.0 (580.159)`.
std::string read_driver_version(const DriverApi& driver) {
  int version = 0;
  driver.cuDriverGetVersion.must("ask for the driver's version", &version);
  const std::string served = fmt::format("{}.{}", version / 1000, version % 1000 / 10);
  const std::string release = read_driver_release();
  return release.empty() ? served : fmt::format("{} ({})", served, release);
}

void read_limits(const Attributes& read, DeviceInfo& info) {
  info.multiprocessors = read(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  info.warp_lanes = read(CU_DEVICE_ATTRIBUTE_WARP_SIZE);
  info.max_threads_per_block = read(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  info.max_threads_per_multiprocessor = read(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
  info.max_blocks_per_multiprocessor = read(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR);
  info.registers_per_multiprocessor = read(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
  info.max_block = {read.count(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X),
                    read.count(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y),
                    read.count(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z)};
  info.max_grid = {read.count(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X),
                   read.count(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y),
                   read.count(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z)};
}

void read_memory(const Attributes& read, DeviceInfo& info) {
  info.shared_bytes_per_block = read.bytes(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
  info.shared_bytes_per_block_opt_in =
      read.bytes(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  info.shared_bytes_per_multiprocessor =
      read.bytes(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
  info.constant_bytes = read.bytes(CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY);
  info.l2_cache_bytes = read.bytes(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
  info.memory_alignment_bytes = 256;  // what cuMemAlloc promises on every device
  info.clock_khz = read(CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
  info.memory_clock_khz = read(CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE);
  info.memory_bus_bits = read(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
}

}  // namespace

DeviceInfo read_device_info(const DriverApi& driver, CUdevice device, int index) {
  const Attributes read(driver, device);
  DeviceInfo info;
  info.id = {BackendKind::cuda, index};
  std::array<char, 256> name = {};
  driver.cuDeviceGetName.must("ask for a device's name", name.data(), static_cast<int>(name.size()),
                              device);
  info.name = name.data();
  info.vendor = "NVIDIA";
  info.driver_version = read_driver_version(driver);
  info.compute_capability = {read(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
                             read(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)};
  info.target = fmt::format("sm_{}{}", info.compute_capability[0], info.compute_capability[1]);
  info.uuid = read_uuid(driver, device);
  driver.cuDeviceTotalMem.must("ask for a device's memory", &info.total_memory_bytes, device);
  info.max_allocation_bytes = info.total_memory_bytes;
  read_limits(read, info);
  read_memory(read, info);
  info.has_f64 = true;
  info.has_f16 = info.compute_capability >= std::array<int, 2>{5, 3};
  info.has_cooperative_launch = read.has(CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH);
  info.has_managed_memory = read.has(CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY);
  info.has_stream_ordered_allocation =
      read.has(CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED) && driver.cuMemAllocFromPoolAsync;
  return info;
}

}  // namespace rtcg::runtime::cuda
#endif
