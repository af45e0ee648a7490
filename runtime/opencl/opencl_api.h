#pragma once
// Internal header: it is not installed.

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 300
#endif
#include <string>
#include <string_view>

#include <CL/cl.h>

namespace rtcg::runtime::opencl {

/// `CL_INVALID_VALUE`; the number if the table does not have it.
[[nodiscard]] std::string status_name(cl_int status);

/// @throws DeviceError  runtime.opencl.call_failed; runtime.memory.out_of_memory for that status
[[noreturn]] void throw_status(cl_int status, const char* function, std::string_view what);

/// One function of the OpenCL loader; callable like the function itself.
template <class Signature>
class Entry;

template <class Result, class... Arguments>
class Entry<Result(Arguments...)> {
 public:
  explicit Entry(const char* name) noexcept : name_(name) {}

  [[nodiscard]] const char* name() const noexcept { return name_; }
  [[nodiscard]] bool is_there() const noexcept { return pointer_ != nullptr; }
  void set(void* pointer) noexcept { pointer_ = reinterpret_cast<Pointer>(pointer); }

  Result operator()(Arguments... arguments) const { return pointer_(arguments...); }

  /// Calls, and throws the error of a bad status. @param what  completes `cannot ...`
  void must(std::string_view what, Arguments... arguments) const {
    if (const cl_int status = pointer_(arguments...); status != CL_SUCCESS) {
      throw_status(status, name_, what);
    }
  }

 private:
  using Pointer = Result(CL_API_CALL*)(Arguments...);
  const char* name_;
  Pointer pointer_ = nullptr;
};

#define RTCG_OPENCL_FUNCTIONS(X)        \
  X(clGetPlatformIDs)                   \
  X(clGetPlatformInfo)                  \
  X(clGetDeviceIDs)                     \
  X(clGetDeviceInfo)                    \
  X(clCreateSubDevices)                 \
  X(clCreateContext)                    \
  X(clCreateCommandQueueWithProperties) \
  X(clRetainCommandQueue)               \
  X(clReleaseCommandQueue)              \
  X(clFinish)                           \
  X(clFlush)                            \
  X(clCreateBuffer)                     \
  X(clCreateSubBuffer)                  \
  X(clReleaseMemObject)                 \
  X(clEnqueueReadBuffer)                \
  X(clEnqueueWriteBuffer)               \
  X(clEnqueueCopyBuffer)                \
  X(clEnqueueFillBuffer)                \
  X(clGetSupportedImageFormats)         \
  X(clCreateImage)                      \
  X(clEnqueueReadImage)                 \
  X(clEnqueueWriteImage)                \
  X(clEnqueueCopyBufferToImage)         \
  X(clEnqueueCopyImageToBuffer)         \
  X(clCreateSamplerWithProperties)      \
  X(clReleaseSampler)                   \
  X(clSVMAlloc)                         \
  X(clSVMFree)                          \
  X(clEnqueueSVMMemcpy)                 \
  X(clEnqueueSVMMemFill)                \
  X(clEnqueueMarkerWithWaitList)        \
  X(clEnqueueBarrierWithWaitList)       \
  X(clWaitForEvents)                    \
  X(clGetEventInfo)                     \
  X(clGetEventProfilingInfo)            \
  X(clCreateUserEvent)                  \
  X(clSetUserEventStatus)               \
  X(clSetEventCallback)                 \
  X(clRetainEvent)                      \
  X(clReleaseEvent)                     \
  X(clCreateProgramWithSource)          \
  X(clCreateProgramWithBinary)          \
  X(clBuildProgram)                     \
  X(clGetProgramInfo)                   \
  X(clGetProgramBuildInfo)              \
  X(clReleaseProgram)                   \
  X(clCreateKernel)                     \
  X(clReleaseKernel)                    \
  X(clGetKernelInfo)                    \
  X(clGetKernelArgInfo)                 \
  X(clGetKernelWorkGroupInfo)           \
  X(clSetKernelArg)                     \
  X(clSetKernelArgSVMPointer)           \
  X(clEnqueueNDRangeKernel)

// Of OpenCL 2.1, which a loader may lack.
#define RTCG_NEWER_OPENCL_FUNCTIONS(X) \
  X(clCreateProgramWithIL)             \
  X(clGetKernelSubGroupInfo)

/// The OpenCL loader's functions. Immutable once made; any thread may call them.
class Api {
 public:
  /// The first of: the file of RTCG_LIBOPENCL, an OpenCL that is already loaded (`oclgrind PROGRAM`
  /// checks programs this way), and `libOpenCL.so.1`. Opened at the first use and never closed.
  [[nodiscard]] static const Api& instance();

  /// @param path  empty: the library that is loaded already
  explicit Api(const std::string& path);

  /// Empty if the loader is present and new enough, otherwise the reason.
  [[nodiscard]] const std::string& why_unavailable() const noexcept { return why_unavailable_; }

#define RTCG_OPENCL_MEMBER(name) Entry<decltype(::name)> name{#name};
  RTCG_OPENCL_FUNCTIONS(RTCG_OPENCL_MEMBER)
  RTCG_NEWER_OPENCL_FUNCTIONS(RTCG_OPENCL_MEMBER)
#undef RTCG_OPENCL_MEMBER

 private:
  [[nodiscard]] std::string open(const std::string& path);

  std::string why_unavailable_;
};

}  // namespace rtcg::runtime::opencl
