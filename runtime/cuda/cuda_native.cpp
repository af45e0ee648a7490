#include "rtcg/runtime/cuda/cuda_native.h"

#include "rtcg/cgen/support/error.h"

#if RTCG_HAS_CUDA_HEADERS
#include <array>

#include "rtcg/runtime/cuda/cuda_backend.h"
#include "rtcg/runtime/cuda/linker.h"
#endif

namespace rtcg::runtime {

// Without the CUDA headers there is no CUDA device, and so no CudaNative.
CudaNative::CudaNative(Device device) : device_(device) {
  if (device.info().id.kind != BackendKind::cuda) {
    throw InvalidInput("runtime.cuda.other_device",
                       "'" + to_string(device.info().id) + "' is not a CUDA device");
  }
}

#if RTCG_HAS_CUDA_HEADERS
namespace {

// The driver, with the device's context current while this lives.
class Session {
 public:
  explicit Session(Device device)
      : backend_(static_cast<cuda::CudaBackend&>(device.backend())), current_(backend_) {}

  [[nodiscard]] cuda::CudaBackend& backend() const noexcept { return backend_; }
  const cuda::DriverApi* operator->() const noexcept { return &backend_.driver(); }

 private:
  cuda::CudaBackend& backend_;
  cuda::CurrentContext current_;
};

CUstream handle(StreamRef stream) {
  return static_cast<CUstream>(stream.native_handle());
}

CUfunction handle(const Kernel& kernel) {
  return static_cast<CUfunction>(kernel.native_handle());
}

}  // namespace

int CudaNative::driver_version() const {
  int version = 0;
  Session(device_)->cuDriverGetVersion.must("ask for the driver's version", &version);
  return version;
}

int CudaNative::ordinal() const {
  return Session(device_).backend().device();
}

std::string CudaNative::pci_bus_id() const {
  const Session driver(device_);
  std::array<char, 32> text = {};
  driver->cuDeviceGetPCIBusId.must("ask for a device's PCI address", text.data(),
                                   static_cast<int>(text.size()), driver.backend().device());
  return text.data();
}

int CudaNative::attribute(int device_attribute) const {
  const Session driver(device_);
  int value = 0;
  driver->cuDeviceGetAttribute.must("read an attribute of a device", &value,
                                    static_cast<CUdevice_attribute>(device_attribute),
                                    driver.backend().device());
  return value;
}

CUctx_st* CudaNative::primary_context() const {
  return Session(device_).backend().context();
}

void CudaNative::make_current() const {
  // without a Session, whose end puts the context before it back
  const auto& backend = static_cast<cuda::CudaBackend&>(device_.backend());
  backend.driver().cuCtxSetCurrent.must("make the device's primary context current",
                                        backend.context());
}

std::size_t CudaNative::limit(int which) const {
  std::size_t value = 0;
  Session(device_)->cuCtxGetLimit.must("read a limit", &value, static_cast<CUlimit>(which));
  return value;
}

void CudaNative::set_limit(int which, std::size_t value) const {
  Session(device_)->cuCtxSetLimit.must("set a limit", static_cast<CUlimit>(which), value);
}

int CudaNative::cache_config() const {
  CUfunc_cache config = CU_FUNC_CACHE_PREFER_NONE;
  Session(device_)->cuCtxGetCacheConfig.must("read the cache's configuration", &config);
  return config;
}

void CudaNative::set_cache_config(int config) const {
  Session(device_)->cuCtxSetCacheConfig.must("configure the cache",
                                             static_cast<CUfunc_cache>(config));
}

int CudaNative::kernel_attribute(const Kernel& kernel, int attribute) const {
  int value = 0;
  Session(device_)->cuFuncGetAttribute.must("read an attribute of a kernel", &value,
                                            static_cast<CUfunction_attribute>(attribute),
                                            handle(kernel));
  return value;
}

void CudaNative::set_kernel_attribute(const Kernel& kernel, int attribute, int value) const {
  Session(device_)->cuFuncSetAttribute.must("set an attribute of a kernel", handle(kernel),
                                            static_cast<CUfunction_attribute>(attribute), value);
}

void CudaNative::set_kernel_cache_config(const Kernel& kernel, int config) const {
  Session(device_)->cuFuncSetCacheConfig.must("configure the cache for a kernel", handle(kernel),
                                              static_cast<CUfunc_cache>(config));
}

std::vector<std::pair<std::size_t, std::size_t>> CudaNative::parameters(
    const Kernel& kernel) const {
  const Session driver(device_);
  std::vector<std::pair<std::size_t, std::size_t>> found;
  std::size_t offset_bytes = 0;
  std::size_t size_bytes = 0;
  const auto& known = kernel.attributes().parameters;
  while ((!known || found.size() < known->size()) &&
         driver->cuFuncGetParamInfo(handle(kernel), found.size(), &offset_bytes, &size_bytes) ==
             CUDA_SUCCESS) {
    found.emplace_back(offset_bytes, size_bytes);
  }
  return found;
}

std::optional<CudaNative::PointerInfo> CudaNative::pointer_info(DeviceAddress address) const {
  const Session driver(device_);
  const auto read = [&](void* value, CUpointer_attribute attribute) {
    return driver->cuPointerGetAttribute(value, attribute, address);
  };
  unsigned int type = 0;
  const CUresult status = read(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE);
  if (status == CUDA_ERROR_INVALID_VALUE || (status == CUDA_SUCCESS && type == 0)) {
    return std::nullopt;
  }
  if (status != CUDA_SUCCESS) {
    cuda::throw_status(status, driver->cuPointerGetAttribute.name(), "ask about an address");
  }
  PointerInfo info;
  unsigned int is_managed = 0;
  if (read(&is_managed, CU_POINTER_ATTRIBUTE_IS_MANAGED) == CUDA_SUCCESS && is_managed != 0) {
    info.kind = MemoryKind::managed;
  } else {
    info.kind = type == CU_MEMORYTYPE_HOST ? MemoryKind::pinned : MemoryKind::device;
  }
  // What is not known for this kind of memory stays 0.
  static_cast<void>(read(&info.device_ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL));
  static_cast<void>(read(&info.base, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR));
  static_cast<void>(read(&info.size_bytes, CU_POINTER_ATTRIBUTE_RANGE_SIZE));
  return info;
}

CudaNative::PitchedMemory CudaNative::allocate_pitched(std::size_t row_bytes, std::size_t rows,
                                                       unsigned int element_bytes) const {
  CUdeviceptr address = 0;
  PitchedMemory memory;
  Session(device_)->cuMemAllocPitch.must("allocate rows", &address, &memory.row_pitch_bytes,
                                         row_bytes, rows, element_bytes);
  memory.address = address;
  return memory;
}

DeviceAddress CudaNative::allocate_write_combined(std::size_t size_bytes) const {
  void* pointer = nullptr;
  Session(device_)->cuMemHostAlloc.must(
      "allocate write-combined memory", &pointer, size_bytes,
      CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED);
  return reinterpret_cast<std::uintptr_t>(pointer);
}

void CudaNative::prefetch_to_device(StreamRef stream, DeviceAddress address,
                                    std::size_t size_bytes) const {
  CUmemLocation place = {};
  place.type = CU_MEM_LOCATION_TYPE_DEVICE;
  place.id = ordinal();
  Session(device_)->cuMemPrefetchAsync.must("move managed memory to the device", address,
                                            size_bytes, place, 0, handle(stream));
}

void CudaNative::prefetch_to_host(StreamRef stream, DeviceAddress address,
                                  std::size_t size_bytes) const {
  CUmemLocation place = {};
  place.type = CU_MEM_LOCATION_TYPE_HOST;
  Session(device_)->cuMemPrefetchAsync.must("move managed memory to the host", address, size_bytes,
                                            place, 0, handle(stream));
}

void CudaNative::advise(DeviceAddress address, std::size_t size_bytes, int advice) const {
  CUmemLocation place = {};
  place.type = CU_MEM_LOCATION_TYPE_DEVICE;
  place.id = ordinal();
  Session(device_)->cuMemAdvise.must("advise on managed memory", address, size_bytes,
                                     static_cast<CUmem_advise>(advice), place);
}

void CudaNative::attach(StreamRef stream, DeviceAddress address, unsigned int flags) const {
  // The driver takes a length of 0 for the whole allocation, and no other.
  Session(device_)->cuStreamAttachMemAsync.must("attach managed memory", handle(stream), address, 0,
                                                flags);
}

CUmemPoolHandle_st* CudaNative::memory_pool() const {
  return Session(device_).backend().pool();
}

CudaNative::PoolUse CudaNative::pool_use() const {
  const Session driver(device_);
  cuuint64_t reserved = 0;
  cuuint64_t used = 0;
  const CUmemoryPool pool = driver.backend().pool();
  driver->cuMemPoolGetAttribute.must("ask for a pool's use", pool,
                                     CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &reserved);
  driver->cuMemPoolGetAttribute.must("ask for a pool's use", pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT,
                                     &used);
  return {reserved, used};
}

void CudaNative::trim_pool(std::size_t keep_bytes) const {
  const Session driver(device_);
  driver->cuMemPoolTrimTo.must("trim the memory pool", driver.backend().pool(), keep_bytes);
}

void CudaNative::start_profiler() const {
  Session(device_)->cuProfilerStart.must("start the profiler");
}

void CudaNative::stop_profiler() const {
  Session(device_)->cuProfilerStop.must("stop the profiler");
}

CompiledProgram CudaNative::link(std::span<const LinkInput> inputs) const {
  const Session driver(device_);
  CompiledProgram linked;
  linked.kind = OutputKind::cubin;
  linked.target = device_.info().target;
  linked.binary = cuda::link(driver.backend().driver(), inputs);
  return linked;
}

struct CudaContextScope::Scope {
  Session session;
};

CudaContextScope::CudaContextScope(Device device) {
  static_cast<void>(CudaNative(device));  // refuses other devices
  scope_.reset(new Scope{Session(device)});
}

CudaContextScope::~CudaContextScope() = default;
#endif

}  // namespace rtcg::runtime
