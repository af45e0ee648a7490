// Memory, streams, events, copies and fills.
#include "tests/runtime/cuda/fake/fake_state.h"

namespace fake_driver {
namespace {

CUresult allocate(const char* function, CUdeviceptr* address, std::size_t bytes) {
  RETURN_IF_FAILED(function, bytes);
  if (!is_current()) {
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  const std::lock_guard lock(state().mutex);
  if (bytes > total_bytes - state().used_bytes - state().cached_bytes) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  *address = number(std::malloc(bytes));
  state().memory[*address] = bytes;
  state().used_bytes += bytes;
  ++state().live["memory"];
  return CUDA_SUCCESS;
}

CUresult release(const char* function, CUdeviceptr address, bool keeps) {
  const CUresult status = enter(function);
  const std::lock_guard lock(state().mutex);
  const auto found = state().memory.find(address);
  if (status != CUDA_SUCCESS || found == state().memory.end()) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  state().used_bytes -= found->second;
  state().cached_bytes += keeps ? found->second : 0;
  state().memory.erase(found);
  --state().live["memory"];
  std::free(reinterpret_cast<void*>(address));
  return CUDA_SUCCESS;
}

CUresult mem_alloc(CUdeviceptr* address, std::size_t bytes) {
  return allocate("cuMemAlloc", address, bytes);
}
CUresult mem_free(CUdeviceptr address) {
  return release("cuMemFree", address, false);
}
CUresult mem_managed(CUdeviceptr* address, std::size_t bytes, unsigned int /*flags*/) {
  return allocate("cuMemAllocManaged", address, bytes);
}
CUresult host_alloc(void** pointer, std::size_t bytes, unsigned int /*flags*/) {
  CUdeviceptr address = 0;
  const CUresult status = allocate("cuMemHostAlloc", &address, bytes);
  *pointer = reinterpret_cast<void*>(address);
  return status;
}
CUresult free_host(void* pointer) {
  return release("cuMemFreeHost", number(pointer), false);
}

CUresult mem_info(std::size_t* free_bytes, std::size_t* all_bytes) {
  *free_bytes = total_bytes - state().used_bytes - state().cached_bytes;
  *all_bytes = total_bytes;
  return enter("cuMemGetInfo");
}

CUresult host_address(CUdeviceptr* address, void* pointer, unsigned int /*flags*/) {
  *address = number(pointer);
  return enter("cuMemHostGetDevicePointer");
}

CUresult pool_create(CUmemoryPool* pool, const CUmemPoolProps* properties) {
  // of a pool that a program places or shares
  if (properties->handleTypes != CU_MEM_HANDLE_TYPE_NONE ||
      properties->location.type != CU_MEM_LOCATION_TYPE_DEVICE) {
    RETURN_IF_FAILED("cuMemPoolCreate", properties->location.id, properties->location.type,
                     properties->handleTypes);
    *pool = static_cast<CUmemoryPool>(make("pool"));
    return CUDA_SUCCESS;
  }
  RETURN_IF_FAILED("cuMemPoolCreate", properties->location.id);
  *pool = reinterpret_cast<CUmemoryPool>(0x99);
  return CUDA_SUCCESS;
}
CUresult pool_set(CUmemoryPool pool, CUmemPool_attribute attribute, void* value) {
  return enter("cuMemPoolSetAttribute", number(pool), attribute, *static_cast<cuuint64_t*>(value));
}
CUresult pool_destroy(CUmemoryPool /*pool*/) {
  drop("pool");
  return enter("cuMemPoolDestroy");
}
CUresult pool_export(void* file, CUmemoryPool /*pool*/, CUmemAllocationHandleType kind,
                     unsigned long long /*flags*/) {
  RETURN_IF_FAILED("cuMemPoolExportToShareableHandle", kind);
  *static_cast<int*>(file) = 41;
  return CUDA_SUCCESS;
}
CUresult pool_import(CUmemoryPool* pool, void* file, CUmemAllocationHandleType kind,
                     unsigned long long /*flags*/) {
  RETURN_IF_FAILED("cuMemPoolImportFromShareableHandle", number(file), kind);
  *pool = static_cast<CUmemoryPool>(make("pool"));
  return CUDA_SUCCESS;
}
CUresult block_export(CUmemPoolPtrExportData* data, CUdeviceptr address) {
  RETURN_IF_FAILED("cuMemPoolExportPointer");
  std::memcpy(data->reserved, &address, sizeof(address));
  return CUDA_SUCCESS;
}
// The same memory: the other process is this one.
CUresult block_import(CUdeviceptr* address, CUmemoryPool /*pool*/, CUmemPoolPtrExportData* data) {
  RETURN_IF_FAILED("cuMemPoolImportPointer");
  std::memcpy(address, data->reserved, sizeof(*address));
  return CUDA_SUCCESS;
}
CUresult pool_trim(CUmemoryPool /*pool*/, std::size_t keep_bytes) {
  RETURN_IF_FAILED("cuMemPoolTrimTo", keep_bytes);
  state().cached_bytes = 0;
  return CUDA_SUCCESS;
}
CUresult pool_alloc(CUdeviceptr* address, std::size_t bytes, CUmemoryPool /*pool*/,
                    CUstream /*stream*/) {
  return allocate("cuMemAllocFromPoolAsync", address, bytes);
}
CUresult pool_free(CUdeviceptr address, CUstream /*stream*/) {
  return release("cuMemFreeAsync", address, true);
}

CUresult stream_create(CUstream* stream, unsigned int flags, int priority) {
  RETURN_IF_FAILED("cuStreamCreateWithPriority", flags, priority);
  *stream = static_cast<CUstream>(make("stream"));
  return CUDA_SUCCESS;
}
CUresult stream_destroy(CUstream stream) {
  RETURN_IF_FAILED("cuStreamDestroy", number(stream) != 0);
  drop("stream");
  return CUDA_SUCCESS;
}
// No stream waits: all work is done when it is submitted.
CUresult write_value(CUstream /*stream*/, CUdeviceptr address, cuuint32_t value,
                     unsigned int flags) {
  RETURN_IF_FAILED("cuStreamWriteValue32", value, flags);
  *reinterpret_cast<cuuint32_t*>(address) = value;
  return CUDA_SUCCESS;
}
CUresult wait_value(CUstream /*stream*/, CUdeviceptr /*address*/, cuuint32_t value,
                    unsigned int flags) {
  return enter("cuStreamWaitValue32", value, flags);
}
CUresult event_create(CUevent* event, unsigned int flags) {
  RETURN_IF_FAILED("cuEventCreate", flags);
  *event = static_cast<CUevent>(make("event"));
  return CUDA_SUCCESS;
}
CUresult event_destroy(CUevent event) {
  RETURN_IF_FAILED("cuEventDestroy", number(event) != 0);
  drop("event");
  return CUDA_SUCCESS;
}
CUresult elapsed(float* time_ms, CUevent /*begin*/, CUevent /*end*/) {
  RETURN_IF_FAILED("cuEventElapsedTime");
  *time_ms = 1.5F;
  return CUDA_SUCCESS;
}

CUresult copy_in(CUdeviceptr to, const void* from, std::size_t bytes, CUstream stream) {
  RETURN_IF_FAILED("cuMemcpyHtoDAsync", bytes, number(stream) != 0);
  std::memcpy(reinterpret_cast<void*>(to), from, bytes);
  return CUDA_SUCCESS;
}
CUresult copy_out(void* to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  RETURN_IF_FAILED("cuMemcpyDtoHAsync", bytes, number(stream) != 0);
  std::memcpy(to, reinterpret_cast<void*>(from), bytes);
  return CUDA_SUCCESS;
}
CUresult copy_inside(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  RETURN_IF_FAILED("cuMemcpyDtoDAsync", bytes, number(stream) != 0);
  std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes);
  return CUDA_SUCCESS;
}
CUresult copy_any(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  RETURN_IF_FAILED("cuMemcpyAsync", bytes, number(stream) != 0);
  std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes);
  return CUDA_SUCCESS;
}

/// An array is memory without gaps after its lengths in bytes and rows.
struct Array {
  std::size_t row_bytes;
  std::size_t rows;
  char texels[1];
};
Array* array_of(CUarray array) {
  return reinterpret_cast<Array*>(array);
}

CUresult array_create(CUarray* array, const CUDA_ARRAY3D_DESCRIPTOR* about) {
  RETURN_IF_FAILED("cuArray3DCreate", about->Width, about->Height, about->Depth, about->Format,
                   about->NumChannels, about->Flags);
  const std::size_t channel_bytes = about->Format == CU_AD_FORMAT_UNSIGNED_INT8 ? 1
                                    : about->Format == CU_AD_FORMAT_HALF        ? 2
                                                                                : 4;
  const std::size_t row_bytes = about->Width * about->NumChannels * channel_bytes;
  const std::size_t rows = about->Height == 0 ? 1 : about->Height;
  const std::size_t planes = about->Depth == 0 ? 1 : about->Depth;
  auto* const made = static_cast<Array*>(std::malloc(sizeof(Array) + row_bytes * rows * planes));
  made->row_bytes = row_bytes;
  made->rows = rows;
  *array = reinterpret_cast<CUarray>(made);
  const std::lock_guard lock(state().mutex);
  ++state().live["array"];
  return CUDA_SUCCESS;
}
CUresult array_destroy(CUarray array) {
  RETURN_IF_FAILED("cuArrayDestroy");
  std::free(array_of(array));
  drop("array");
  return CUDA_SUCCESS;
}
/// An array for each level.
struct Mipmap {
  CUarray levels[16];
  unsigned int count;
};
CUresult mipmap_create(CUmipmappedArray* mipmap, const CUDA_ARRAY3D_DESCRIPTOR* about,
                       unsigned int count) {
  RETURN_IF_FAILED("cuMipmappedArrayCreate", count);
  auto* const made = new Mipmap{{}, count};
  CUDA_ARRAY3D_DESCRIPTOR level = *about;
  for (unsigned int i = 0; i < count; ++i) {
    if (const CUresult status = array_create(&made->levels[i], &level); status != CUDA_SUCCESS) {
      return status;
    }
    for (std::size_t* length : {&level.Width, &level.Height, &level.Depth}) {
      *length = *length > 1 ? *length / 2 : *length;
    }
  }
  *mipmap = reinterpret_cast<CUmipmappedArray>(made);
  return CUDA_SUCCESS;
}
CUresult mipmap_level(CUarray* array, CUmipmappedArray mipmap, unsigned int level) {
  RETURN_IF_FAILED("cuMipmappedArrayGetLevel", level);
  *array = reinterpret_cast<Mipmap*>(mipmap)->levels[level];
  return CUDA_SUCCESS;
}
CUresult mipmap_destroy(CUmipmappedArray mipmap) {
  RETURN_IF_FAILED("cuMipmappedArrayDestroy");
  auto* const made = reinterpret_cast<Mipmap*>(mipmap);
  for (unsigned int i = 0; i < made->count; ++i) {
    array_destroy(made->levels[i]);
  }
  delete made;
  return CUDA_SUCCESS;
}
CUresult texture_create(CUtexObject* texture, const CUDA_RESOURCE_DESC* /*resource*/,
                        const CUDA_TEXTURE_DESC* about, const CUDA_RESOURCE_VIEW_DESC* /*view*/) {
  RETURN_IF_FAILED("cuTexObjectCreate", about->addressMode[0], about->addressMode[1],
                   about->addressMode[2], about->filterMode, about->flags);
  *texture = number(make("texture"));
  return CUDA_SUCCESS;
}
CUresult texture_destroy(CUtexObject /*texture*/) {
  drop("texture");
  return enter("cuTexObjectDestroy");
}
CUresult surface_create(CUsurfObject* surface, const CUDA_RESOURCE_DESC* /*resource*/) {
  RETURN_IF_FAILED("cuSurfObjectCreate");
  *surface = number(make("surface"));
  return CUDA_SUCCESS;
}
CUresult surface_destroy(CUsurfObject /*surface*/) {
  drop("surface");
  return enter("cuSurfObjectDestroy");
}

// Addresses are memory of the process at once; parts are counted.
CUresult granularity(std::size_t* bytes, const CUmemAllocationProp* /*about*/,
                     CUmemAllocationGranularity_flags /*which*/) {
  *bytes = 1 << 21;
  return enter("cuMemGetAllocationGranularity");
}
CUresult address_reserve(CUdeviceptr* address, std::size_t size_bytes, std::size_t /*alignment*/,
                         CUdeviceptr /*wished*/, unsigned long long /*flags*/) {
  RETURN_IF_FAILED("cuMemAddressReserve", size_bytes);
  *address = number(std::calloc(size_bytes, 1));
  return CUDA_SUCCESS;
}
CUresult address_free(CUdeviceptr address, std::size_t size_bytes) {
  RETURN_IF_FAILED("cuMemAddressFree", size_bytes);
  std::free(reinterpret_cast<void*>(address));
  return CUDA_SUCCESS;
}
CUresult part_create(CUmemGenericAllocationHandle* part, std::size_t size_bytes,
                     const CUmemAllocationProp* /*about*/, unsigned long long /*flags*/) {
  RETURN_IF_FAILED("cuMemCreate", size_bytes);
  *part = number(make("part"));
  return CUDA_SUCCESS;
}
CUresult part_release(CUmemGenericAllocationHandle /*part*/) {
  drop("part");
  return enter("cuMemRelease");
}
CUresult part_map(CUdeviceptr /*address*/, std::size_t size_bytes, std::size_t offset_bytes,
                  CUmemGenericAllocationHandle /*part*/, unsigned long long /*flags*/) {
  RETURN_IF_FAILED("cuMemMap", size_bytes, offset_bytes);
  return CUDA_SUCCESS;
}
CUresult part_unmap(CUdeviceptr /*address*/, std::size_t size_bytes) {
  RETURN_IF_FAILED("cuMemUnmap", size_bytes);
  return CUDA_SUCCESS;
}
CUresult part_access(CUdeviceptr /*address*/, std::size_t size_bytes, const CUmemAccessDesc* access,
                     std::size_t count) {
  RETURN_IF_FAILED("cuMemSetAccess", size_bytes, access->location.id, access->flags, count);
  return CUDA_SUCCESS;
}

struct Side {
  char* first;
  std::size_t pitch_bytes;
  std::size_t rows;
};
Side side_of(CUmemorytype type, const void* host, CUdeviceptr device, CUarray array,
             std::size_t pitch_bytes, std::size_t rows, const std::size_t (&at)[3]) {
  if (type != CU_MEMORYTYPE_ARRAY) {
    auto* const memory = type == CU_MEMORYTYPE_HOST ? static_cast<char*>(const_cast<void*>(host))
                                                    : reinterpret_cast<char*>(device);
    return {memory, pitch_bytes, rows};
  }
  Array& of = *array_of(array);
  return {of.texels + (at[2] * of.rows + at[1]) * of.row_bytes + at[0], of.row_bytes, of.rows};
}

CUresult copy_box(const CUDA_MEMCPY3D* box, CUstream /*stream*/) {
  RETURN_IF_FAILED("cuMemcpy3DAsync", box->WidthInBytes, box->Height, box->Depth, box->srcPitch,
                   box->srcHeight, box->dstPitch, box->dstHeight);
  const Side from =
      side_of(box->srcMemoryType, box->srcHost, box->srcDevice, box->srcArray, box->srcPitch,
              box->srcHeight, {box->srcXInBytes, box->srcY, box->srcZ});
  const Side to = side_of(box->dstMemoryType, box->dstHost, box->dstDevice, box->dstArray,
                          box->dstPitch, box->dstHeight, {box->dstXInBytes, box->dstY, box->dstZ});
  for (std::size_t plane = 0; plane < box->Depth; ++plane) {
    for (std::size_t row = 0; row < box->Height; ++row) {
      std::memcpy(to.first + (plane * to.rows + row) * to.pitch_bytes,
                  from.first + (plane * from.rows + row) * from.pitch_bytes, box->WidthInBytes);
    }
  }
  return CUDA_SUCCESS;
}

template <class Word>
void set(CUdeviceptr address, Word value, std::size_t count, std::size_t stride_bytes) {
  for (std::size_t index = 0; index < count; ++index) {
    std::memcpy(reinterpret_cast<char*>(address) + index * stride_bytes, &value, sizeof(Word));
  }
}
CUresult set_8(CUdeviceptr address, unsigned char value, std::size_t count, CUstream /*stream*/) {
  RETURN_IF_FAILED("cuMemsetD8Async", count);
  set(address, value, count, 1);
  return CUDA_SUCCESS;
}
CUresult set_16(CUdeviceptr address, unsigned short value, std::size_t count, CUstream /*stream*/) {
  RETURN_IF_FAILED("cuMemsetD16Async", count);
  set(address, value, count, 2);
  return CUDA_SUCCESS;
}
CUresult set_32(CUdeviceptr address, unsigned int value, std::size_t count, CUstream /*stream*/) {
  RETURN_IF_FAILED("cuMemsetD32Async", count);
  set(address, value, count, 4);
  return CUDA_SUCCESS;
}
CUresult set_2d(CUdeviceptr address, std::size_t pitch_bytes, unsigned int value, std::size_t width,
                std::size_t height, CUstream /*stream*/) {
  RETURN_IF_FAILED("cuMemsetD2D32Async", pitch_bytes, width, height);
  set(address, value, height, pitch_bytes);
  return CUDA_SUCCESS;
}

CUresult can_access_peer(int* can, CUdevice device, CUdevice other) {
  RETURN_IF_FAILED("cuDeviceCanAccessPeer", device, other);
  *can = std::getenv("FAKE_DRIVER_NO_PEERS") == nullptr ? 1 : 0;
  return CUDA_SUCCESS;
}
CUresult enable_peer(CUcontext /*other*/, unsigned int flags) {
  return enter("cuCtxEnablePeerAccess", flags);
}
CUresult copy_peer(CUdeviceptr to, CUcontext /*to_context*/, CUdeviceptr from,
                   CUcontext /*from_context*/, std::size_t bytes, CUstream stream) {
  RETURN_IF_FAILED("cuMemcpyPeerAsync", bytes, number(stream) != 0);
  std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes);
  return CUDA_SUCCESS;
}
CUresult pool_access(CUmemoryPool pool, const CUmemAccessDesc* access, std::size_t count) {
  return enter("cuMemPoolSetAccess", number(pool), access->location.id, access->flags, count);
}
CUresult address_range(CUdeviceptr* block, std::size_t* bytes, CUdeviceptr address) {
  RETURN_IF_FAILED("cuMemGetAddressRange");
  const std::lock_guard lock(state().mutex);
  const auto after = state().memory.upper_bound(address);
  if (after == state().memory.begin()) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *block = std::prev(after)->first;
  *bytes = std::prev(after)->second;
  return CUDA_SUCCESS;
}
// Handles are what they stand for.
CUresult ipc_get_memory(CUipcMemHandle* handle, CUdeviceptr address) {
  RETURN_IF_FAILED("cuIpcGetMemHandle");
  std::memcpy(handle->reserved, &address, sizeof address);
  return CUDA_SUCCESS;
}
CUresult ipc_open_memory(CUdeviceptr* address, CUipcMemHandle handle, unsigned int flags) {
  RETURN_IF_FAILED("cuIpcOpenMemHandle", flags);
  std::memcpy(address, handle.reserved, sizeof *address);
  return CUDA_SUCCESS;
}
CUresult ipc_close_memory(CUdeviceptr /*address*/) {
  return enter("cuIpcCloseMemHandle");
}
CUresult ipc_get_event(CUipcEventHandle* handle, CUevent event) {
  RETURN_IF_FAILED("cuIpcGetEventHandle");
  std::memcpy(handle->reserved, &event, sizeof event);
  return CUDA_SUCCESS;
}
CUresult ipc_open_event(CUevent* event, CUipcEventHandle handle) {
  RETURN_IF_FAILED("cuIpcOpenEventHandle");
  CUevent of_other = nullptr;
  std::memcpy(&of_other, handle.reserved, sizeof of_other);
  *event = of_other == nullptr ? nullptr : static_cast<CUevent>(make("event"));
  return CUDA_SUCCESS;
}

}  // namespace

void add_memory_functions(Table& table) {
  MADE(cuMemAlloc, 3020, mem_alloc)
  MADE(cuMemFree, 3020, mem_free)
  MADE(cuDeviceCanAccessPeer, 4000, can_access_peer)
  MADE(cuCtxEnablePeerAccess, 4000, enable_peer)
  MADE(cuMemcpyPeerAsync, 4000, copy_peer)
  MADE(cuMemPoolSetAccess, 11020, pool_access)
  MADE(cuMemGetAddressRange, 3020, address_range)
  MADE(cuIpcGetMemHandle, 4010, ipc_get_memory)
  MADE(cuIpcOpenMemHandle, 11000, ipc_open_memory)
  MADE(cuIpcCloseMemHandle, 4010, ipc_close_memory)
  MADE(cuIpcGetEventHandle, 4010, ipc_get_event)
  MADE(cuIpcOpenEventHandle, 4010, ipc_open_event)
  MADE(cuMemAllocManaged, 6000, mem_managed)
  MADE(cuMemHostAlloc, 2020, host_alloc)
  MADE(cuMemFreeHost, 2000, free_host)
  MADE(cuMemGetInfo, 3020, mem_info)
  MADE(cuMemHostGetDevicePointer, 3020, host_address)
  MADE(cuMemPoolCreate, 11020, pool_create)
  MADE(cuMemPoolSetAttribute, 11020, pool_set)
  MADE(cuMemPoolTrimTo, 11020, pool_trim)
  MADE(cuMemPoolDestroy, 11020, pool_destroy)
  MADE(cuMemPoolExportToShareableHandle, 11020, pool_export)
  MADE(cuMemPoolImportFromShareableHandle, 11020, pool_import)
  MADE(cuMemPoolExportPointer, 11020, block_export)
  MADE(cuMemPoolImportPointer, 11020, block_import)
  MADE(cuMemAllocFromPoolAsync, 11020, pool_alloc)
  MADE(cuMemFreeAsync, 11020, pool_free)
  MADE(cuStreamCreateWithPriority, 5050, stream_create)
  MADE(cuStreamDestroy, 4000, stream_destroy)
  MADE(cuStreamWriteValue32, 11070, write_value)
  MADE(cuStreamWaitValue32, 11070, wait_value)
  MADE(cuEventCreate, 2000, event_create)
  MADE(cuEventDestroy, 4000, event_destroy)
  MADE(cuEventElapsedTime, 2000, elapsed)
  MADE(cuMemcpyHtoDAsync, 3020, copy_in)
  MADE(cuMemcpyDtoHAsync, 3020, copy_out)
  MADE(cuMemcpyDtoDAsync, 3020, copy_inside)
  MADE(cuMemcpyAsync, 4000, copy_any)
  MADE(cuMemcpy3DAsync, 3020, copy_box)
  MADE(cuArray3DCreate, 3020, array_create)
  MADE(cuArrayDestroy, 2000, array_destroy)
  MADE(cuMemGetAllocationGranularity, 10020, granularity)
  MADE(cuMemAddressReserve, 10020, address_reserve)
  MADE(cuMemAddressFree, 10020, address_free)
  MADE(cuMemCreate, 10020, part_create)
  MADE(cuMemRelease, 10020, part_release)
  MADE(cuMemMap, 10020, part_map)
  MADE(cuMemUnmap, 10020, part_unmap)
  MADE(cuMemSetAccess, 10020, part_access)
  MADE(cuMipmappedArrayCreate, 5000, mipmap_create)
  MADE(cuMipmappedArrayGetLevel, 5000, mipmap_level)
  MADE(cuMipmappedArrayDestroy, 5000, mipmap_destroy)
  MADE(cuTexObjectCreate, 5000, texture_create)
  MADE(cuTexObjectDestroy, 5000, texture_destroy)
  MADE(cuSurfObjectCreate, 5000, surface_create)
  MADE(cuSurfObjectDestroy, 5000, surface_destroy)
  MADE(cuMemsetD8Async, 3020, set_8)
  MADE(cuMemsetD16Async, 3020, set_16)
  MADE(cuMemsetD32Async, 3020, set_32)
  MADE(cuMemsetD2D32Async, 3020, set_2d)
}

}  // namespace fake_driver
