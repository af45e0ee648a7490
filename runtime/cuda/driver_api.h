#pragma once
// Internal header: it is not installed.

// The functions of libcuda that rtcg calls, found at run time; private to this folder.
//
// Every function is looked up by its name and the CUDA version of its signature, so a newer driver
// cannot return another ABI.
#include <string>

#include <cuda.h>
#include <cudaProfilerTypedefs.h>
#include <cudaTypedefs.h>

#include "rtcg/cgen/support/error.h"

static_assert(CUDA_VERSION >= 12040, "rtcg needs the headers of CUDA 12.4 or newer, or none");

// cudaGLTypedefs.h has these, but needs the headers of OpenGL.
using PFN_cuGLGetDevices_v6050 = CUresult(CUDAAPI*)(unsigned int* count, CUdevice* devices,
                                                    unsigned int room, int which);
using PFN_cuGraphicsGLRegisterBuffer_v3000 = CUresult(CUDAAPI*)(CUgraphicsResource* resource,
                                                                unsigned int buffer,
                                                                unsigned int flags);
using PFN_cuGraphicsGLRegisterImage_v3000 = CUresult(CUDAAPI*)(CUgraphicsResource* resource,
                                                               unsigned int image,
                                                               unsigned int target,
                                                               unsigned int flags);

namespace rtcg::runtime::cuda {

/// The name of a status, `CUDA_ERROR_OUT_OF_MEMORY`; its number where the driver knows no name.
[[nodiscard]] std::string status_name(CUresult status);

/// Throws if the status is not success.
///
/// @param what  completes `cannot ...`: what was tried, on what
/// @throws DeviceError  runtime.cuda.call_failed; runtime.cuda.kernel_fault when a kernel launched
///                      earlier has destroyed the context
/// @throws InvalidInput  runtime.graph.cannot_capture
[[noreturn]] void throw_status(CUresult status, const char* function, const std::string& what);

/// @throws Unsupported  runtime.cuda.missing_function
[[noreturn]] void throw_missing(const char* function, int version);

template <class Pointer>
class Entry;

/// One function of the driver, which an old driver may lack.
template <class... Arguments>
class Entry<CUresult (*)(Arguments...)> {
 public:
  using Pointer = CUresult (*)(Arguments...);

  Entry(const char* name, int version) : name_(name), version_(version) {}

  [[nodiscard]] const char* name() const noexcept { return name_; }
  [[nodiscard]] int version() const noexcept { return version_; }
  [[nodiscard]] explicit operator bool() const noexcept { return pointer_ != nullptr; }
  void set(void* address) noexcept { pointer_ = reinterpret_cast<Pointer>(address); }

  /// Calls, and hands the status on.
  ///
  /// @throws Unsupported  runtime.cuda.missing_function
  CUresult operator()(Arguments... arguments) const {
    if (pointer_ == nullptr) {
      throw_missing(name_, version_);
    }
    return pointer_(arguments...);
  }

  /// Calls, and throws the error of `throw_status` for a failure; `what` completes `cannot ...`.
  void must(const char* what, Arguments... arguments) const {
    if (const CUresult status = (*this)(arguments...); status != CUDA_SUCCESS) {
      throw_status(status, name_, what);
    }
  }

  /// Calls and ignores failures: in destructors.
  void quietly(Arguments... arguments) const noexcept {
    if (pointer_ != nullptr) {
      pointer_(arguments...);
    }
  }

 private:
  const char* name_;
  int version_;
  Pointer pointer_ = nullptr;
};

// Name, and the CUDA version of the signature: cudaTypedefs.h has a type for each pair.
#define RTCG_CUDA_FUNCTIONS(X)                         \
  X(cuInit, 2000)                                      \
  X(cuDriverGetVersion, 2020)                          \
  X(cuGetErrorName, 6000)                              \
  X(cuGetErrorString, 6000)                            \
  X(cuDeviceGetCount, 2000)                            \
  X(cuDeviceGet, 2000)                                 \
  X(cuDeviceGetName, 2000)                             \
  X(cuDeviceGetUuid, 11040)                            \
  X(cuDeviceGetAttribute, 2000)                        \
  X(cuDeviceTotalMem, 3020)                            \
  X(cuDeviceGetPCIBusId, 4010)                         \
  X(cuDevicePrimaryCtxRetain, 7000)                    \
  X(cuCtxGetCurrent, 4000)                             \
  X(cuCtxSetCurrent, 4000)                             \
  X(cuCtxPushCurrent, 4000)                            \
  X(cuCtxPopCurrent, 4000)                             \
  X(cuCtxSynchronize, 2000)                            \
  X(cuCtxGetLimit, 3010)                               \
  X(cuCtxSetLimit, 3010)                               \
  X(cuCtxGetCacheConfig, 3020)                         \
  X(cuCtxSetCacheConfig, 3020)                         \
  X(cuCtxGetStreamPriorityRange, 5050)                 \
  X(cuMemAlloc, 3020)                                  \
  X(cuMemFree, 3020)                                   \
  X(cuMemAllocPitch, 3020)                             \
  X(cuMemHostAlloc, 2020)                              \
  X(cuMemFreeHost, 2000)                               \
  X(cuMemAllocManaged, 6000)                           \
  X(cuMemGetInfo, 3020)                                \
  X(cuMemGetAddressRange, 3020)                        \
  X(cuDeviceCanAccessPeer, 4000)                       \
  X(cuCtxEnablePeerAccess, 4000)                       \
  X(cuMemcpyPeerAsync, 4000)                           \
  X(cuMemPoolSetAccess, 11020)                         \
  X(cuIpcGetMemHandle, 4010)                           \
  X(cuIpcOpenMemHandle, 11000)                         \
  X(cuIpcCloseMemHandle, 4010)                         \
  X(cuIpcGetEventHandle, 4010)                         \
  X(cuIpcOpenEventHandle, 4010)                        \
  X(cuMemHostRegister, 6050)                           \
  X(cuMemHostUnregister, 4000)                         \
  X(cuMemHostGetDevicePointer, 3020)                   \
  X(cuMemGetAllocationGranularity, 10020)              \
  X(cuMemAddressReserve, 10020)                        \
  X(cuMemAddressFree, 10020)                           \
  X(cuMemCreate, 10020)                                \
  X(cuMemRelease, 10020)                               \
  X(cuMemMap, 10020)                                   \
  X(cuMemUnmap, 10020)                                 \
  X(cuMemSetAccess, 10020)                             \
  X(cuPointerGetAttribute, 4000)                       \
  X(cuMemPrefetchAsync, 12020)                         \
  X(cuMemAdvise, 12020)                                \
  X(cuStreamAttachMemAsync, 6000)                      \
  X(cuMemPoolCreate, 11020)                            \
  X(cuMemPoolSetAttribute, 11020)                      \
  X(cuMemPoolGetAttribute, 11020)                      \
  X(cuMemPoolTrimTo, 11020)                            \
  X(cuMemPoolDestroy, 11020)                           \
  X(cuMemPoolExportToShareableHandle, 11020)           \
  X(cuMemPoolImportFromShareableHandle, 11020)         \
  X(cuMemPoolExportPointer, 11020)                     \
  X(cuMemPoolImportPointer, 11020)                     \
  X(cuMemAllocFromPoolAsync, 11020)                    \
  X(cuMemFreeAsync, 11020)                             \
  X(cuStreamCreateWithPriority, 5050)                  \
  X(cuStreamDestroy, 4000)                             \
  X(cuStreamSynchronize, 2000)                         \
  X(cuStreamQuery, 2000)                               \
  X(cuStreamWaitEvent, 3020)                           \
  X(cuEventCreate, 2000)                               \
  X(cuEventDestroy, 4000)                              \
  X(cuEventRecord, 2000)                               \
  X(cuEventSynchronize, 2000)                          \
  X(cuEventQuery, 2000)                                \
  X(cuEventElapsedTime, 2000)                          \
  X(cuMemcpyAsync, 4000)                               \
  X(cuMemcpyHtoDAsync, 3020)                           \
  X(cuMemcpyDtoHAsync, 3020)                           \
  X(cuMemcpyDtoDAsync, 3020)                           \
  X(cuMemcpy3DAsync, 3020)                             \
  X(cuMemsetD8Async, 3020)                             \
  X(cuMemsetD16Async, 3020)                            \
  X(cuMemsetD32Async, 3020)                            \
  X(cuMemsetD2D32Async, 3020)                          \
  X(cuArray3DCreate, 3020)                             \
  X(cuArrayDestroy, 2000)                              \
  X(cuMipmappedArrayCreate, 5000)                      \
  X(cuMipmappedArrayDestroy, 5000)                     \
  X(cuMipmappedArrayGetLevel, 5000)                    \
  X(cuTexObjectCreate, 5000)                           \
  X(cuTexObjectDestroy, 5000)                          \
  X(cuSurfObjectCreate, 5000)                          \
  X(cuSurfObjectDestroy, 5000)                         \
  X(cuArray3DGetDescriptor, 3020)                      \
  X(cuGLGetDevices, 6050)                              \
  X(cuGraphicsGLRegisterBuffer, 3000)                  \
  X(cuGraphicsGLRegisterImage, 3000)                   \
  X(cuGraphicsUnregisterResource, 3000)                \
  X(cuGraphicsMapResources, 3000)                      \
  X(cuGraphicsUnmapResources, 3000)                    \
  X(cuGraphicsResourceGetMappedPointer, 3020)          \
  X(cuGraphicsSubResourceGetMappedArray, 3000)         \
  X(cuImportExternalMemory, 10000)                     \
  X(cuExternalMemoryGetMappedBuffer, 10000)            \
  X(cuExternalMemoryGetMappedMipmappedArray, 10000)    \
  X(cuDestroyExternalMemory, 10000)                    \
  X(cuImportExternalSemaphore, 10000)                  \
  X(cuSignalExternalSemaphoresAsync, 10000)            \
  X(cuWaitExternalSemaphoresAsync, 10000)              \
  X(cuDestroyExternalSemaphore, 10000)                 \
  X(cuLibraryLoadData, 12000)                          \
  X(cuLibraryUnload, 12000)                            \
  X(cuLibraryGetKernel, 12000)                         \
  X(cuLibraryGetGlobal, 12000)                         \
  X(cuLibraryGetKernelCount, 12040)                    \
  X(cuLibraryEnumerateKernels, 12040)                  \
  X(cuKernelGetFunction, 12000)                        \
  X(cuKernelGetName, 12030)                            \
  X(cuModuleLoadDataEx, 2010)                          \
  X(cuModuleUnload, 2000)                              \
  X(cuModuleGetFunction, 2000)                         \
  X(cuModuleGetGlobal, 3020)                           \
  X(cuFuncGetAttribute, 2020)                          \
  X(cuFuncSetAttribute, 9000)                          \
  X(cuFuncSetCacheConfig, 3000)                        \
  X(cuFuncGetName, 12030)                              \
  X(cuFuncGetParamInfo, 12040)                         \
  X(cuLaunchKernel, 4000)                              \
  X(cuLaunchCooperativeKernel, 9000)                   \
  X(cuLaunchKernelEx, 11060)                           \
  X(cuOccupancyMaxActiveBlocksPerMultiprocessor, 6050) \
  X(cuOccupancyMaxPotentialBlockSize, 6050)            \
  X(cuOccupancyMaxActiveClusters, 11070)               \
  X(cuLaunchHostFunc, 10000)                           \
  X(cuStreamWriteValue32, 11070)                       \
  X(cuStreamWaitValue32, 11070)                        \
  X(cuStreamBeginCapture, 10010)                       \
  X(cuStreamGetCaptureInfo, 11030)                     \
  X(cuStreamUpdateCaptureDependencies, 11030)          \
  X(cuGraphAddChildGraphNode, 10000)                   \
  X(cuStreamBeginCaptureToGraph, 12030)                \
  X(cuGraphConditionalHandleCreate, 12030)             \
  X(cuGraphAddNode, 12030)                             \
  X(cuStreamEndCapture, 10000)                         \
  X(cuGraphInstantiateWithFlags, 11040)                \
  X(cuGraphUpload, 11010)                              \
  X(cuGraphLaunch, 10000)                              \
  X(cuGraphExecUpdate, 12000)                          \
  X(cuGraphExecDestroy, 10000)                         \
  X(cuGraphDestroy, 10000)                             \
  X(cuGraphGetNodes, 10000)                            \
  X(cuGraphGetEdges, 10000)                            \
  X(cuGraphNodeGetType, 10000)                         \
  X(cuGraphAddEmptyNode, 10000)                        \
  X(cuGraphKernelNodeGetParams, 12000)                 \
  X(cuGraphAddKernelNode, 12000)                       \
  X(cuGraphKernelNodeCopyAttributes, 11000)            \
  X(cuGraphMemcpyNodeGetParams, 10000)                 \
  X(cuGraphAddMemcpyNode, 10000)                       \
  X(cuGraphMemsetNodeGetParams, 10000)                 \
  X(cuGraphAddMemsetNode, 10000)                       \
  X(cuGraphHostNodeGetParams, 10000)                   \
  X(cuGraphAddHostNode, 10000)                         \
  X(cuGraphChildGraphNodeGetGraph, 10000)              \
  X(cuGraphDebugDotPrint, 11030)                       \
  X(cuLinkCreate, 6050)                                \
  X(cuLinkAddData, 6050)                               \
  X(cuLinkComplete, 5050)                              \
  X(cuLinkDestroy, 5050)                               \
  X(cuProfilerStart, 4000)                             \
  X(cuProfilerStop, 4000)

/// libcuda.so.1, or the file that RTCG_LIBCUDA names, opened at the first use and never closed.
class DriverApi {
 public:
  /// The process's own.
  [[nodiscard]] static const DriverApi& instance();

  /// Empty if the driver is present and cuInit succeeded, otherwise the reason.
  [[nodiscard]] const std::string& why_unavailable() const noexcept { return why_unavailable_; }

#define RTCG_CUDA_MEMBER(name, version) Entry<PFN_##name##_v##version> name = {#name, version};
  RTCG_CUDA_FUNCTIONS(RTCG_CUDA_MEMBER)
#undef RTCG_CUDA_MEMBER

 private:
  DriverApi();
  [[nodiscard]] std::string open();

  std::string why_unavailable_;
};

}  // namespace rtcg::runtime::cuda
