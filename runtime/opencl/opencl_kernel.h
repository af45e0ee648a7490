#pragma once
// Internal header: it is not installed.

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "rtcg/runtime/device/backend.h"
#include "rtcg/runtime/opencl/opencl_api.h"

namespace rtcg::runtime::opencl {

struct ReleaseProgram {
  const Api* api;
  void operator()(cl_program program) const noexcept { api->clReleaseProgram(program); }
};
using HeldProgram = std::unique_ptr<std::remove_pointer_t<cl_program>, ReleaseProgram>;

struct ReleaseKernel {
  const Api* api;
  void operator()(cl_kernel kernel) const noexcept { api->clReleaseKernel(kernel); }
};
using HeldKernel = std::unique_ptr<std::remove_pointer_t<cl_kernel>, ReleaseKernel>;

/// Of a built program.
[[nodiscard]] std::vector<std::string> kernel_names(const Api& api, cl_program program);

/// @throws InvalidInput  runtime.program.unknown_kernel
/// @throws DeviceError   runtime.opencl.call_failed
[[nodiscard]] HeldKernel create_kernel(const Api& api, cl_program program, const std::string& name);

/// How an argument reaches the kernel.
enum class ArgumentKind {
  value,        ///< its bytes
  memory,       ///< a pointer to __global memory
  local,        ///< a pointer to __local memory: the argument is a size_t, the length in bytes
  image,        ///< an image: a surface, a texture, or a cl_mem
  texture,      ///< an image and the sampler that follows it, two parameters: a texture
  read_memory,  ///< a pointer to const __global or to __constant memory
};

[[nodiscard]] constexpr bool is_memory(ArgumentKind kind) {
  return kind == ArgumentKind::memory || kind == ArgumentKind::read_memory;
}

struct DeclaredParameter {
  ArgumentKind kind = ArgumentKind::value;
  std::string type_name;
};

/// Parameters by kernel.
using ParameterTable = std::map<std::string, std::vector<DeclaredParameter>>;

/// A kernel with the data for its launches. Setting arguments changes the cl_kernel, so a launch
/// holds the mutex from the first argument to the enqueue.
struct LoadedKernel {
  KernelAttributes attributes;
  std::vector<ArgumentKind> kinds;  // of arguments
  bool has_local_parameter = false;
  std::mutex mutex;
};

/// A kernel's parameters as the driver reports them. It reports them for programs made from text,
/// not always for those made from a binary.
///
/// @throws Unsupported  runtime.opencl.no_parameter_list
/// @throws DeviceError  runtime.opencl.call_failed
[[nodiscard]] std::vector<DeclaredParameter> read_parameters(const Api& api, cl_kernel kernel);

/// Attributes of a kernel with these parameters, without its name.
[[nodiscard]] std::unique_ptr<LoadedKernel> describe_kernel(
    const Api& api, cl_kernel kernel, cl_device_id device,
    const std::vector<DeclaredParameter>& parameters);

/// The driver's binary followed by the parameters, which are then known when it is loaded.
[[nodiscard]] std::vector<std::byte> with_parameters(std::vector<std::byte> driver_binary,
                                                     const ParameterTable& parameters);

/// The parameters after a binary and the length of the driver's part: all of it, and no parameters,
/// if with_parameters did not make it.
struct BinaryParts {
  std::size_t driver_bytes = 0;
  ParameterTable parameters;
};
[[nodiscard]] BinaryParts split_binary(const std::vector<std::byte>& binary);

/// Bytes of an OpenCL C type as a parameter: `uint`, `float4`; 0 for one it does not know.
[[nodiscard]] std::size_t type_bytes(std::string_view type_name);

}  // namespace rtcg::runtime::opencl
