// Pools of the driver that programs place or share.
#if RTCG_HAS_CUDA_HEADERS
#include <cstdint>
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/runtime/cuda/cuda_backend.h"

namespace rtcg::runtime::cuda {
namespace {

CUmemoryPool native(DriverPoolBackend::Pool pool) {
  return static_cast<CUmemoryPool>(pool);
}

}  // namespace

DriverPoolBackend::Pool CudaBackend::create_pool(const DriverPoolOptions& options) {
  const CurrentContext current(*this);
  CUmemPoolProps properties = {};
  properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type =
      options.numa_node ? CU_MEM_LOCATION_TYPE_HOST_NUMA : CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = options.numa_node ? *options.numa_node : device_;
  properties.handleTypes =
      options.is_exportable ? CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR : CU_MEM_HANDLE_TYPE_NONE;
  CUmemoryPool pool = nullptr;
  const CUresult status = driver_.cuMemPoolCreate(&pool, &properties);
  if (status == CUDA_ERROR_INVALID_VALUE || status == CUDA_ERROR_NOT_SUPPORTED ||
      status == CUDA_ERROR_INVALID_DEVICE) {
    throw Unsupported(
        "runtime.driver_pool.unsupported",
        fmt::format("the driver of '{}' makes no pool {}: {} gave {}", info_.name,
                    options.numa_node
                        ? fmt::format("in the host's memory at NUMA node {}", *options.numa_node)
                    : options.is_exportable ? std::string("for other processes")
                                            : std::string("on it"),
                    driver_.cuMemPoolCreate.name(), status_name(status)));
  }
  if (status != CUDA_SUCCESS) {
    throw_status(status, driver_.cuMemPoolCreate.name(), "create a memory pool");
  }
  try {
    if (options.numa_node) {
      has_node_pools_ = true;
      open_pool(pool, device_);
    }
    // with the default of 0 every synchronisation would hand all memory back, and stall
    cuuint64_t threshold_bytes = std::numeric_limits<cuuint64_t>::max();
    driver_.cuMemPoolSetAttribute.must("set up a memory pool", pool,
                                       CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold_bytes);
  } catch (...) {
    driver_.cuMemPoolDestroy.quietly(pool);
    throw;
  }
  return pool;
}

DriverPoolBackend::Pool CudaBackend::import_pool(int file_descriptor) {
  const CurrentContext current(*this);
  CUmemoryPool pool = nullptr;
  // the driver takes the number itself in place of a pointer
  void* const handle = reinterpret_cast<void*>(static_cast<std::intptr_t>(file_descriptor));
  driver_.cuMemPoolImportFromShareableHandle.must("import a memory pool of another process", &pool,
                                                  handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                                  0ULL);
  return pool;
}

void CudaBackend::destroy_pool(Pool pool) noexcept {
  const detail::DeviceCall waits;
  ignoring_errors(*this, [&] { driver_.cuMemPoolDestroy.quietly(native(pool)); });
}

DeviceAddress CudaBackend::allocate_from(Pool pool, Stream stream, std::size_t size_bytes) {
  return take_from(native(pool), stream, size_bytes);
}

int CudaBackend::export_pool(Pool pool) {
  const CurrentContext current(*this);
  int file_descriptor = -1;
  driver_.cuMemPoolExportToShareableHandle.must("export a memory pool to other processes",
                                                &file_descriptor, native(pool),
                                                CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0ULL);
  return file_descriptor;
}

InterprocessHandle CudaBackend::export_block(DeviceAddress block) {
  const CurrentContext current(*this);
  CUmemPoolPtrExportData data = {};
  static_assert(sizeof(data) == sizeof(InterprocessHandle));
  driver_.cuMemPoolExportPointer.must("export memory of a pool to other processes", &data, block);
  InterprocessHandle bytes;
  std::memcpy(bytes.data(), &data, sizeof(data));
  return bytes;
}

DeviceAddress CudaBackend::import_block(Pool pool, const InterprocessHandle& block) {
  const CurrentContext current(*this);
  CUmemPoolPtrExportData data = {};
  std::memcpy(&data, block.data(), sizeof(data));
  CUdeviceptr address = 0;
  driver_.cuMemPoolImportPointer.must("import memory of another process' pool", &address,
                                      native(pool), &data);
  return address;
}

std::optional<int> CudaBackend::nearest_numa_node() {
  int node = -1;
  const CUresult status =
      driver_.cuDeviceGetAttribute(&node, CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID, device_);
  return status == CUDA_SUCCESS && node >= 0 ? std::optional(node) : std::nullopt;
}

}  // namespace rtcg::runtime::cuda
#endif
