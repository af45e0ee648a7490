// Memory of other devices, and of other processes.
#if RTCG_HAS_CUDA_HEADERS
#include <cstring>

#include "rtcg/runtime/cuda/cuda_backend.h"

namespace rtcg::runtime::cuda {
namespace {

template <class Handle>
InterprocessHandle bytes_of(const Handle& handle) {
  static_assert(sizeof(Handle) == sizeof(InterprocessHandle));
  InterprocessHandle bytes;
  std::memcpy(bytes.data(), &handle, sizeof handle);
  return bytes;
}

template <class Handle>
Handle handle_of(const InterprocessHandle& bytes) {
  static_assert(sizeof(Handle) == sizeof(InterprocessHandle));
  Handle handle;
  std::memcpy(&handle, bytes.data(), sizeof handle);
  return handle;
}

}  // namespace

void CudaBackend::open_pool(CUmemoryPool pool, CUdevice reader) const {
  CUmemAccessDesc access = {};
  access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  access.location.id = reader;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  driver_.cuMemPoolSetAccess.must("open a memory pool to another device", pool, &access, 1);
}

void CudaBackend::add_reader(CUdevice reader) {
  const std::lock_guard lock(mutex_);
  if (readers_.insert(reader).second) {
    if (const CUmemoryPool pool = pool_.load(std::memory_order_relaxed)) {
      open_pool(pool, reader);
    }
  }
}

bool CudaBackend::reach(Backend& other_backend) {
  auto* const other = dynamic_cast<CudaBackend*>(&other_backend);
  if (other == nullptr) {
    return false;
  }
  if (other == this) {
    return true;
  }
  const std::lock_guard lock(peers_mutex_);
  const auto known = peers_.find(other);
  if (known != peers_.end()) {
    return known->second;
  }
  int can_access = 0;
  driver_.cuDeviceCanAccessPeer.must("ask whether a device reaches another one", &can_access,
                                     device_, other->device_);
  if (can_access != 0) {
    const CUcontext theirs = other->context();
    const detail::DeviceCall waits;
    const CurrentContext current(*this);
    const CUresult status = driver_.cuCtxEnablePeerAccess(theirs, 0);
    // other code of the process may have done it, as cudaDeviceEnablePeerAccess
    if (status != CUDA_SUCCESS && status != CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED) {
      throw_status(status, driver_.cuCtxEnablePeerAccess.name(), "let a device reach another one");
    }
    if (other->info_.has_stream_ordered_allocation) {
      other->add_reader(device_);
    }
  }
  peers_[other] = can_access != 0;
  return can_access != 0;
}

bool CudaBackend::copy_between(Stream stream, Backend& of_stream, DeviceAddress target,
                               Backend& of_target, DeviceAddress source, Backend& of_source,
                               std::size_t size_bytes) {
  auto* const to = dynamic_cast<CudaBackend*>(&of_target);
  auto* const from = dynamic_cast<CudaBackend*>(&of_source);
  auto* const on = dynamic_cast<CudaBackend*>(&of_stream);
  if (to == nullptr || from == nullptr || on == nullptr) {
    return false;
  }
  // without access the driver copies through the host, in the same order
  static_cast<void>(to->reach(*from));
  static_cast<void>(from->reach(*to));
  const CUcontext to_context = to->context();
  const CUcontext from_context = from->context();
  const CurrentContext current(*on);
  driver_.cuMemcpyPeerAsync.must("copy from one device to another", target, to_context, source,
                                 from_context, size_bytes, static_cast<CUstream>(stream));
  return true;
}

MemoryHandle CudaBackend::export_memory(DeviceAddress address, std::size_t size_bytes) {
  const CurrentContext current(*this);
  CUdeviceptr block = 0;
  std::size_t block_bytes = 0;
  driver_.cuMemGetAddressRange.must("find the allocation of memory", &block, &block_bytes, address);
  CUipcMemHandle handle = {};
  driver_.cuIpcGetMemHandle.must("export memory to other processes", &handle, block);
  return {bytes_of(handle), address - block, size_bytes};
}

DeviceAddress CudaBackend::import_memory(const InterprocessHandle& block) {
  const CurrentContext current(*this);
  CUdeviceptr address = 0;
  driver_.cuIpcOpenMemHandle.must("import memory of another process", &address,
                                  handle_of<CUipcMemHandle>(block),
                                  CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
  return address;
}

void CudaBackend::close_memory(DeviceAddress block) noexcept {
  ignoring_errors(*this, [&] { driver_.cuIpcCloseMemHandle.quietly(block); });
}

Backend::Event CudaBackend::create_interprocess_event() {
  const CurrentContext current(*this);
  CUevent event = nullptr;
  driver_.cuEventCreate.must("create an event of several processes", &event,
                             CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS);
  const std::lock_guard lock(mutex_);
  events_without_timing_.insert(event);
  return event;
}

InterprocessHandle CudaBackend::export_event(Event event) {
  const CurrentContext current(*this);
  CUipcEventHandle handle = {};
  driver_.cuIpcGetEventHandle.must("export an event to other processes", &handle,
                                   static_cast<CUevent>(event));
  return bytes_of(handle);
}

Backend::Event CudaBackend::import_event(const InterprocessHandle& handle) {
  const CurrentContext current(*this);
  CUevent event = nullptr;
  driver_.cuIpcOpenEventHandle.must("import an event of another process", &event,
                                    handle_of<CUipcEventHandle>(handle));
  const std::lock_guard lock(mutex_);
  events_without_timing_.insert(event);
  return event;
}

}  // namespace rtcg::runtime::cuda
#endif
