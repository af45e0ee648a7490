// Memory of the three kinds, our own stream-ordered pool, copies and fills.
#if RTCG_HAS_CUDA_HEADERS
#include <algorithm>
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include "rtcg/runtime/cuda/cuda_backend.h"

namespace rtcg::runtime::cuda {
namespace {

[[noreturn]] void throw_allocation_failure(CUresult status, const char* function,
                                           std::size_t size_bytes, const CudaBackend& backend) {
  const std::string what = fmt::format("allocate {} bytes", size_bytes);
  if (status != CUDA_ERROR_OUT_OF_MEMORY) {
    throw_status(status, function, what);
  }
  const MemoryInfo info = backend.memory_info();
  throw DeviceError("runtime.memory.out_of_memory",
                    fmt::format("cannot {}: {} of the device's {} bytes are free", what,
                                info.free_bytes, info.total_bytes),
                    function, status_name(status));
}

CUmemorytype memory_type(CopyRegion::Side side) {
  return side == CopyRegion::Side::host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
}

void* host_pointer(DeviceAddress address) {
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));
}

// A pitch of 0 means without gaps.
CopyRegion with_pitches(CopyRegion region) {
  for (CopyRegion::End* end : {&region.source, &region.target}) {
    if (end->row_pitch_bytes == 0) {
      end->row_pitch_bytes = region.row_bytes;
    }
    if (end->plane_pitch_bytes == 0) {
      end->plane_pitch_bytes = end->row_pitch_bytes * region.rows;
    }
  }
  return region;
}

bool has_gaps(const CopyRegion& region, const CopyRegion::End& end) {
  return (region.rows > 1 && end.row_pitch_bytes != region.row_bytes) ||
         (region.planes > 1 && end.plane_pitch_bytes != region.row_bytes * region.rows);
}

// The driver counts the distance of planes in whole rows.
bool has_whole_rows(const CopyRegion::End& end) {
  return end.plane_pitch_bytes % end.row_pitch_bytes == 0;
}

void copy_linear(const DriverApi& driver, CUstream stream, const CopyRegion& region) {
  using Side = CopyRegion::Side;
  const std::size_t size_bytes = region.row_bytes * region.rows * region.planes;
  const CopyRegion::End& from = region.source;
  const CopyRegion::End& to = region.target;
  if (from.side == Side::host && to.side == Side::device) {
    driver.cuMemcpyHtoDAsync.must("copy from the host to the device", to.address,
                                  host_pointer(from.address), size_bytes, stream);
  } else if (from.side == Side::device && to.side == Side::host) {
    driver.cuMemcpyDtoHAsync.must("copy from the device to the host", host_pointer(to.address),
                                  from.address, size_bytes, stream);
  } else if (from.side == Side::device) {
    driver.cuMemcpyDtoDAsync.must("copy on the device", to.address, from.address, size_bytes,
                                  stream);
  } else {
    driver.cuMemcpyAsync.must("copy on the host", to.address, from.address, size_bytes, stream);
  }
}

void copy_pitched(const DriverApi& driver, CUstream stream, const CopyRegion& region) {
  CUDA_MEMCPY3D copy = {};
  copy.srcMemoryType = memory_type(region.source.side);
  copy.srcHost = host_pointer(region.source.address);
  copy.srcDevice = region.source.address;
  copy.srcPitch = region.source.row_pitch_bytes;
  copy.srcHeight = region.source.plane_pitch_bytes / region.source.row_pitch_bytes;
  copy.dstMemoryType = memory_type(region.target.side);
  copy.dstHost = host_pointer(region.target.address);
  copy.dstDevice = region.target.address;
  copy.dstPitch = region.target.row_pitch_bytes;
  copy.dstHeight = region.target.plane_pitch_bytes / region.target.row_pitch_bytes;
  copy.WidthInBytes = region.row_bytes;
  copy.Height = region.rows;
  copy.Depth = region.planes;
  driver.cuMemcpy3DAsync.must("copy rows or planes with gaps between them", &copy, stream);
}

// The narrowest width at which the pattern repeats itself: 16 zero bytes are one byte.
std::size_t narrowest_width(std::span<const std::byte> pattern) {
  std::size_t width = pattern.size();
  while (width > 1 && std::equal(pattern.begin(), pattern.begin() + width / 2,
                                 pattern.begin() + width / 2, pattern.begin() + width)) {
    width /= 2;
  }
  return width;
}

template <class Word>
Word word(std::span<const std::byte> pattern, std::size_t index = 0) {
  Word value = 0;
  std::memcpy(&value, pattern.data() + index * sizeof(Word), sizeof(Word));
  return value;
}

}  // namespace

CUmemoryPool CudaBackend::pool() {
  CUmemoryPool pool = pool_.load(std::memory_order_acquire);
  if (pool != nullptr) {
    return pool;
  }
  if (!info_.has_stream_ordered_allocation) {
    throw Unsupported(
        "runtime.cuda.no_memory_pools",
        fmt::format("device '{}' or its driver has no stream-ordered allocation", info_.name));
  }
  const std::lock_guard lock(mutex_);
  pool = pool_.load(std::memory_order_relaxed);
  if (pool == nullptr) {
    CUmemPoolProps properties = {};
    properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    properties.location.id = device_;
    driver_.cuMemPoolCreate.must("create a memory pool", &pool, &properties);
    // With the default of 0 every synchronisation would hand all memory back, and stall.
    cuuint64_t threshold_bytes = std::numeric_limits<cuuint64_t>::max();
    driver_.cuMemPoolSetAttribute.must("set up a memory pool", pool,
                                       CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold_bytes);
    for (const CUdevice reader : readers_) {
      open_pool(pool, reader);
    }
    pool_.store(pool, std::memory_order_release);
  }
  return pool;
}

// Our pool keeps what was freed; gives it back. False when there was no pool.
bool CudaBackend::release_cached_memory() const {
  const CUmemoryPool pool = pool_.load(std::memory_order_acquire);
  if (pool == nullptr) {
    return false;
  }
  // What streams have still to free can be given back only when they have.
  captures_.without_captures([&] { driver_.cuCtxSynchronize.must("wait for memory to be freed"); });
  driver_.cuMemPoolTrimTo.must("trim the memory pool", pool, 0);
  return true;
}

namespace {

/// Atomic updates of 1 or 2 bytes exchange the word of 4 bytes around them.
std::size_t in_whole_words(std::size_t size_bytes) {
  return (size_bytes + 3) / 4 * 4;
}

}  // namespace

CUresult CudaBackend::try_allocate(CUdeviceptr* address, std::size_t size_bytes,
                                   MemoryKind kind) const {
  if (kind == MemoryKind::managed) {
    return driver_.cuMemAllocManaged(address, in_whole_words(size_bytes), CU_MEM_ATTACH_GLOBAL);
  }
  if (kind == MemoryKind::device) {
    return driver_.cuMemAlloc(address, in_whole_words(size_bytes));
  }
  void* pointer = nullptr;
  const CUresult status = driver_.cuMemHostAlloc(
      &pointer, size_bytes, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP);
  *address = reinterpret_cast<std::uintptr_t>(pointer);
  return status;
}

DeviceAddress CudaBackend::allocate(std::size_t size_bytes, MemoryKind kind) {
  if (size_bytes == 0) {
    return 0;
  }
  const detail::DeviceCall waits;
  const CurrentContext current(*this);
  CUdeviceptr address = 0;
  CUresult status = try_allocate(&address, size_bytes, kind);
  if (status == CUDA_ERROR_OUT_OF_MEMORY && release_cached_memory()) {
    status = try_allocate(&address, size_bytes, kind);
  }
  if (status != CUDA_SUCCESS) {
    const char* function = kind == MemoryKind::device    ? "cuMemAlloc"
                           : kind == MemoryKind::managed ? "cuMemAllocManaged"
                                                         : "cuMemHostAlloc";
    throw_allocation_failure(status, function, size_bytes, *this);
  }
  return address;
}

void CudaBackend::free(DeviceAddress address, MemoryKind kind) noexcept {
  if (address == 0) {
    return;
  }
  const detail::DeviceCall waits;
  ignoring_errors(*this, [&] {
    if (kind == MemoryKind::pinned) {
      driver_.cuMemFreeHost.quietly(host_pointer(address));
    } else {
      driver_.cuMemFree.quietly(address);
    }
  });
}

DeviceAddress CudaBackend::allocate_on(Stream stream, std::size_t size_bytes) {
  if (size_bytes == 0) {
    return 0;
  }
  const detail::DeviceCall waits;
  const CurrentContext current(*this);
  return take_from(pool(), stream, size_bytes);
}

DeviceAddress CudaBackend::take_from(CUmemoryPool from, Stream stream, std::size_t size_bytes) {
  const detail::DeviceCall waits;
  const CurrentContext current(*this);
  CUdeviceptr address = 0;
  const auto& function = driver_.cuMemAllocFromPoolAsync;
  const std::size_t bytes = in_whole_words(size_bytes);
  CUresult status = function(&address, bytes, from, static_cast<CUstream>(stream));
  if (status == CUDA_ERROR_OUT_OF_MEMORY && release_cached_memory()) {
    status = function(&address, bytes, from, static_cast<CUstream>(stream));
  }
  if (status != CUDA_SUCCESS) {
    throw_allocation_failure(status, function.name(), size_bytes, *this);
  }
  return address;
}

void CudaBackend::free_on(Stream stream, DeviceAddress address) noexcept {
  if (address != 0) {
    ignoring_errors(
        *this, [&] { driver_.cuMemFreeAsync.quietly(address, static_cast<CUstream>(stream)); });
  }
}

namespace {

CUmemAllocationProp memory_of(CUdevice device) {
  CUmemAllocationProp about = {};
  about.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  about.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  about.location.id = device;
  return about;
}

}  // namespace

std::size_t CudaBackend::granule_bytes() {
  const CurrentContext current(*this);
  const CUmemAllocationProp about = memory_of(device_);
  std::size_t bytes = 0;
  driver_.cuMemGetAllocationGranularity.must("ask for the granule of memory", &bytes, &about,
                                             CU_MEM_ALLOC_GRANULARITY_MINIMUM);
  return bytes;
}

DeviceAddress CudaBackend::reserve(std::size_t size_bytes) {
  const CurrentContext current(*this);
  CUdeviceptr address = 0;
  driver_.cuMemAddressReserve.must("reserve addresses", &address, size_bytes, 0, 0, 0);
  return address;
}

void CudaBackend::unreserve(DeviceAddress address, std::size_t size_bytes) noexcept {
  ignoring_errors(*this, [&] { driver_.cuMemAddressFree.quietly(address, size_bytes); });
}

GrowableBackend::Part CudaBackend::add_part(DeviceAddress address, std::size_t size_bytes) {
  const detail::DeviceCall waits;
  const CurrentContext current(*this);
  const CUmemAllocationProp about = memory_of(device_);
  CUmemGenericAllocationHandle part = 0;
  if (const CUresult status = driver_.cuMemCreate(&part, size_bytes, &about, 0);
      status != CUDA_SUCCESS) {
    throw_allocation_failure(status, driver_.cuMemCreate.name(), size_bytes, *this);
  }
  CUresult status = driver_.cuMemMap(address, size_bytes, 0, part, 0);
  const char* api = driver_.cuMemMap.name();
  if (status == CUDA_SUCCESS) {
    CUmemAccessDesc access = {};
    access.location = about.location;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    status = driver_.cuMemSetAccess(address, size_bytes, &access, 1);
    api = driver_.cuMemSetAccess.name();
    if (status != CUDA_SUCCESS) {
      driver_.cuMemUnmap.quietly(address, size_bytes);
    }
  }
  if (status != CUDA_SUCCESS) {
    driver_.cuMemRelease.quietly(part);
    throw_status(status, api, "put memory behind addresses");
  }
  return part;
}

void CudaBackend::drop_part(Part part, DeviceAddress address, std::size_t size_bytes) noexcept {
  const detail::DeviceCall waits;
  ignoring_errors(*this, [&] {
    captures_.without_captures([&] { driver_.cuCtxSynchronize.quietly(); });
    driver_.cuMemUnmap.quietly(address, size_bytes);
    driver_.cuMemRelease.quietly(part);
  });
}

MemoryInfo CudaBackend::memory_info() const {
  const CurrentContext current(*this);
  MemoryInfo info;
  driver_.cuMemGetInfo.must("ask for the free memory", &info.free_bytes, &info.total_bytes);
  return info;
}

void CudaBackend::register_host_memory(void* pointer, std::size_t size_bytes) {
  const detail::DeviceCall waits;
  const CurrentContext current(*this);
  driver_.cuMemHostRegister.must("page-lock host memory", pointer, size_bytes,
                                 CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);
}

void CudaBackend::unregister_host_memory(void* pointer) noexcept {
  const detail::DeviceCall waits;
  ignoring_errors(*this, [&] { driver_.cuMemHostUnregister.quietly(pointer); });
}

DeviceAddress CudaBackend::device_address_of_host(void* pointer) {
  const CurrentContext current(*this);
  CUdeviceptr address = 0;
  driver_.cuMemHostGetDevicePointer.must("find the device's address of pinned host memory",
                                         &address, pointer, 0U);
  return address;
}

void CudaBackend::copy(Stream stream, const CopyRegion& given) {
  if (given.row_bytes == 0 || given.rows == 0 || given.planes == 0) {
    return;
  }
  const CurrentContext current(*this);
  const CopyRegion region = with_pitches(given);
  auto* const on = static_cast<CUstream>(stream);
  const bool is_linear = !has_gaps(region, region.source) && !has_gaps(region, region.target);
  if (has_node_pools_.load(std::memory_order_relaxed) && is_linear) {
    // copies to and from a device refuse memory of a pool at a NUMA node; this one asks the driver
    // where each address is
    return driver_.cuMemcpyAsync.must("copy memory", region.target.address, region.source.address,
                                      region.row_bytes * region.rows * region.planes, on);
  }
  if (is_linear) {
    return copy_linear(driver_, on, region);
  }
  if (region.planes == 1 || (has_whole_rows(region.source) && has_whole_rows(region.target))) {
    return copy_pitched(driver_, on, region);
  }
  CopyRegion plane = region;
  plane.planes = 1;
  for (std::size_t index = 0; index < region.planes; ++index) {
    copy_pitched(driver_, on, plane);
    plane.source.address += region.source.plane_pitch_bytes;
    plane.target.address += region.target.plane_pitch_bytes;
  }
}

void CudaBackend::fill(Stream stream, DeviceAddress address, std::span<const std::byte> pattern,
                       std::size_t count) {
  if (count == 0) {
    return;
  }
  const CurrentContext current(*this);
  auto* const on = static_cast<CUstream>(stream);
  const std::size_t width = narrowest_width(pattern);
  const std::size_t repeats = count * (pattern.size() / width);
  const char* what = "fill memory";
  if (width == 1) {
    driver_.cuMemsetD8Async.must(what, address, word<unsigned char>(pattern), repeats, on);
  } else if (width == 2) {
    driver_.cuMemsetD16Async.must(what, address, word<unsigned short>(pattern), repeats, on);
  } else if (width == 4) {
    driver_.cuMemsetD32Async.must(what, address, word<unsigned int>(pattern), repeats, on);
  } else {
    // One strided pass for each 4 bytes of the pattern: the driver has nothing wider.
    for (std::size_t index = 0; index < width / 4; ++index) {
      driver_.cuMemsetD2D32Async.must(what, address + 4 * index, width,
                                      word<unsigned int>(pattern, index), 1, repeats, on);
    }
  }
}

}  // namespace rtcg::runtime::cuda
#endif
