// Programs, kernels, launches and occupancy.
#if RTCG_HAS_CUDA_HEADERS
#include <algorithm>
#include <array>
#include <cstring>

#include <fmt/format.h>

#include "rtcg/runtime/cuda/cubin_parameters.h"
#include "rtcg/runtime/cuda/cuda_backend.h"
#include "rtcg/runtime/cuda/linker.h"

namespace rtcg::runtime::cuda {
namespace {

int function_attribute(const DriverApi& driver, CUfunction_attribute attribute, CUfunction kernel) {
  int value = 0;
  driver.cuFuncGetAttribute.must("read an attribute of a kernel", &value, attribute, kernel);
  return value;
}

std::optional<std::vector<KernelParameter>> read_parameters(const DriverApi& driver,
                                                            CUfunction kernel,
                                                            std::optional<std::size_t> all_bytes) {
  if (!driver.cuFuncGetParamInfo) {
    return std::nullopt;
  }
  std::vector<KernelParameter> parameters;
  std::size_t offset_bytes = 0;
  std::size_t size_bytes = 0;
  // Where their size is not known, the driver refuses the first index beyond the last.
  while ((!all_bytes || offset_bytes + size_bytes < *all_bytes) &&
         driver.cuFuncGetParamInfo(kernel, parameters.size(), &offset_bytes, &size_bytes) ==
             CUDA_SUCCESS) {
    parameters.push_back({.size_bytes = size_bytes, .is_pointer = std::nullopt, .type_name = {}});
  }
  return parameters;
}

// The shape itself was checked before; this is what only the driver knows.
[[noreturn]] void refuse_launch(CUresult status, const char* function) {
  const char* reason = "";
  if (status == CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE) {
    reason = ": a cooperative launch needs all its blocks on the device at once";
  } else if (status == CUDA_ERROR_INVALID_CLUSTER_SIZE) {
    reason = ": the device has no clusters of that many blocks of this kernel";
  } else if (status == CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES) {
    reason = ": a block of this kernel takes too many registers or too much shared memory";
  } else if (status != CUDA_ERROR_INVALID_VALUE) {
    throw_status(status, function, "launch a kernel");
  }
  throw DeviceError("runtime.launch.refused",
                    fmt::format("the driver refuses the launch{}", reason), function,
                    status_name(status));
}

unsigned int narrow(std::uint64_t extent) {
  return static_cast<unsigned int>(extent);
}

/// The portable limit of CUDA.
constexpr std::uint64_t most_blocks_of_any_cluster = 8;

/// A shape and attributes as the driver takes them. Not to be moved: the parts point to each other.
struct LaunchConfiguration {
  std::array<CUlaunchAttribute, 4> attributes{};
  CUlaunchConfig config{};

  LaunchConfiguration(const LaunchShape& shape, const LaunchAttributes& given, CUstream stream) {
    config.gridDimX = narrow(shape.grid.x);
    config.gridDimY = narrow(shape.grid.y);
    config.gridDimZ = narrow(shape.grid.z);
    config.blockDimX = narrow(shape.block.x);
    config.blockDimY = narrow(shape.block.y);
    config.blockDimZ = narrow(shape.block.z);
    config.sharedMemBytes = static_cast<unsigned int>(shape.shared_bytes);
    config.hStream = stream;
    config.attrs = attributes.data();
    if (shape.cooperative) {
      next(CU_LAUNCH_ATTRIBUTE_COOPERATIVE).cooperative = 1;
    }
    if (given.cluster.volume() > 1) {
      auto& cluster = next(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION).clusterDim;
      cluster.x = narrow(given.cluster.x);
      cluster.y = narrow(given.cluster.y);
      cluster.z = narrow(given.cluster.z);
    }
    if (given.is_programmatic) {
      next(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION)
          .programmaticStreamSerializationAllowed = 1;
    }
    if (given.priority) {
      next(CU_LAUNCH_ATTRIBUTE_PRIORITY).priority = *given.priority;
    }
  }
  LaunchConfiguration(const LaunchConfiguration&) = delete;
  LaunchConfiguration& operator=(const LaunchConfiguration&) = delete;

 private:
  CUlaunchAttributeValue& next(CUlaunchAttributeID id) {
    CUlaunchAttribute& attribute = attributes[config.numAttrs++];
    attribute.id = id;
    return attribute.value;
  }
};

}  // namespace

Backend::Program CudaBackend::load(const CompiledProgram& compiled) {
  const detail::DeviceCall waits;
  const CurrentContext current(*this);
  if (compiled.kind == OutputKind::ptx) {
    // Loading would compile it as well, but only at some later call, and without a word why not.
    const CudaNative::LinkInput ptx = {CudaNative::LinkInput::Kind::ptx, compiled.binary,
                                       "the program's PTX"};
    CompiledProgram cubin = compiled;
    cubin.kind = OutputKind::cubin;
    cubin.binary = link(driver_, {&ptx, 1});
    return load(cubin);
  }
  CUlibrary library = nullptr;
  CUmodule module = nullptr;
  const void* image = compiled.binary.data();
  const CUresult status =
      uses_libraries()
          ? driver_.cuLibraryLoadData(&library, image, nullptr, nullptr, 0, nullptr, nullptr, 0)
          : driver_.cuModuleLoadDataEx(&module, image, 0, nullptr, nullptr);
  if (status != CUDA_SUCCESS) {
    throw_status(
        status,
        uses_libraries() ? driver_.cuLibraryLoadData.name() : driver_.cuModuleLoadDataEx.name(),
        fmt::format("load a program of {} bytes, made for '{}', on '{}'", compiled.binary.size(),
                    compiled.target, info_.target));
  }
  auto* const program = uses_libraries() ? static_cast<void*>(library) : static_cast<void*>(module);
  const std::lock_guard lock(mutex_);
  parameter_bytes_[program] = parameter_bytes(compiled.binary);
  return program;
}

void CudaBackend::unload(Program program) noexcept {
  if (program == nullptr) {
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    parameter_bytes_.erase(program);
  }
  const detail::DeviceCall waits;
  ignoring_errors(*this, [&] {
    if (uses_libraries()) {
      driver_.cuLibraryUnload.quietly(static_cast<CUlibrary>(program));
    } else {
      driver_.cuModuleUnload.quietly(static_cast<CUmodule>(program));
    }
  });
}

// `; it has 'a', 'b'`, or nothing if the driver is too old for that.
std::string CudaBackend::kernel_list(Program program) const {
  if (!driver_.cuLibraryEnumerateKernels || !driver_.cuLibraryGetKernelCount ||
      !driver_.cuKernelGetName) {
    return {};
  }
  auto* const library = static_cast<CUlibrary>(program);
  unsigned int count = 0;
  driver_.cuLibraryGetKernelCount.must("count kernels", &count, library);
  std::vector<CUkernel> kernels(count);
  driver_.cuLibraryEnumerateKernels.must("list kernels", kernels.data(), count, library);
  std::vector<std::string> names;
  for (CUkernel kernel : kernels) {
    const char* name = nullptr;
    driver_.cuKernelGetName.must("ask for a kernel's name", &name, kernel);
    names.push_back(fmt::format("'{}'", name));
  }
  return names.empty() ? "; it has none" : fmt::format("; it has {}", fmt::join(names, ", "));
}

Backend::Kernel CudaBackend::find_kernel(Program program, const std::string& lowered_name) {
  const detail::DeviceCall waits;
  const CurrentContext current(*this);
  CUfunction function = nullptr;
  CUresult status = CUDA_SUCCESS;
  const char* api = driver_.cuLibraryGetKernel.name();
  if (uses_libraries()) {
    CUkernel kernel = nullptr;
    status =
        driver_.cuLibraryGetKernel(&kernel, static_cast<CUlibrary>(program), lowered_name.c_str());
    if (status == CUDA_SUCCESS) {
      api = driver_.cuKernelGetFunction.name();
      // The function of our context launches without a look-up, unlike the kernel itself.
      status = driver_.cuKernelGetFunction(&function, kernel);
    }
  } else {
    api = driver_.cuModuleGetFunction.name();
    status = driver_.cuModuleGetFunction(&function, static_cast<CUmodule>(program),
                                         lowered_name.c_str());
  }
  if (status == CUDA_ERROR_NOT_FOUND) {
    throw InvalidInput(
        "runtime.program.unknown_kernel",
        fmt::format("the program has no kernel '{}'{}", lowered_name, kernel_list(program)));
  }
  if (status != CUDA_SUCCESS) {
    throw_status(status, api, fmt::format("find kernel '{}'", lowered_name));
  }
  const std::lock_guard lock(mutex_);
  bytes_of_kernels_.erase(function);  // of a program that was unloaded
  const auto& known = parameter_bytes_[program];
  if (const auto bytes = known.find(lowered_name); bytes != known.end()) {
    bytes_of_kernels_[function] = bytes->second;
  }
  return function;
}

std::string CudaBackend::kernel_name(CUfunction kernel) const {
  const char* name = nullptr;
  if (!driver_.cuFuncGetName || driver_.cuFuncGetName(&name, kernel) != CUDA_SUCCESS) {
    return "?";
  }
  return name;
}

KernelAttributes CudaBackend::kernel_attributes(Kernel kernel) {
  const detail::DeviceCall waits;
  const CurrentContext current(*this);
  auto* const function = static_cast<CUfunction>(kernel);
  const auto read = [&](CUfunction_attribute attribute) {
    return function_attribute(driver_, attribute, function);
  };
  KernelAttributes attributes;
  attributes.name = kernel_name(function);
  attributes.parameters = read_parameters(driver_, function, [&]() -> std::optional<std::size_t> {
    const std::lock_guard lock(mutex_);
    const auto known = bytes_of_kernels_.find(function);
    return known == bytes_of_kernels_.end() ? std::nullopt : std::optional(known->second);
  }());
  attributes.registers = read(CU_FUNC_ATTRIBUTE_NUM_REGS);
  attributes.max_threads_per_block = read(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  attributes.static_shared_bytes =
      static_cast<std::size_t>(read(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES));
  attributes.constant_bytes = static_cast<std::size_t>(read(CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES));
  attributes.local_bytes = static_cast<std::size_t>(read(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES));
  attributes.preferred_block_multiple = info_.warp_lanes;
  return attributes;
}

SymbolAddress CudaBackend::find_global(Program program, const std::string& lowered_name) {
  const CurrentContext current(*this);
  CUdeviceptr address = 0;
  SymbolAddress symbol;
  const CUresult status =
      uses_libraries()
          ? driver_.cuLibraryGetGlobal(&address, &symbol.size_bytes,
                                       static_cast<CUlibrary>(program), lowered_name.c_str())
          : driver_.cuModuleGetGlobal(&address, &symbol.size_bytes, static_cast<CUmodule>(program),
                                      lowered_name.c_str());
  if (status == CUDA_ERROR_NOT_FOUND) {
    throw InvalidInput(
        "runtime.program.unknown_global",
        fmt::format("the program has no constant or global variable '{}': declare it "
                    "extern \"C\", or ask for its lowered name",
                    lowered_name));
  }
  if (status != CUDA_SUCCESS) {
    throw_status(
        status,
        uses_libraries() ? driver_.cuLibraryGetGlobal.name() : driver_.cuModuleGetGlobal.name(),
        fmt::format("find variable '{}'", lowered_name));
  }
  symbol.address = address;
  return symbol;
}

CUresult CudaBackend::opt_in_to_shared(CUfunction kernel, std::size_t shared_bytes) const {
  int allowed_bytes = 0;
  const CUresult status = driver_.cuFuncGetAttribute(
      &allowed_bytes, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, kernel);
  if (status != CUDA_SUCCESS || shared_bytes <= static_cast<std::size_t>(allowed_bytes)) {
    return status;
  }
  if (shared_bytes > info_.shared_bytes_per_block_opt_in) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return driver_.cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                    static_cast<int>(shared_bytes));
}

void CudaBackend::launch(Stream stream, Kernel kernel, const LaunchShape& shape,
                         const ArgumentView& arguments) {
  const CurrentContext current(*this);
  auto* const function = static_cast<CUfunction>(kernel);
  if (shape.shared_bytes != 0) {
    const CUresult status = opt_in_to_shared(function, shape.shared_bytes);
    if (status != CUDA_SUCCESS) {
      refuse_launch(status, driver_.cuFuncSetAttribute.name());
    }
  }
  auto* const on = static_cast<CUstream>(stream);
  auto** const values = const_cast<void**>(arguments.values.data());
  const unsigned int shared_bytes = static_cast<unsigned int>(shape.shared_bytes);
  const CUresult status =
      shape.cooperative
          ? driver_.cuLaunchCooperativeKernel(function, narrow(shape.grid.x), narrow(shape.grid.y),
                                              narrow(shape.grid.z), narrow(shape.block.x),
                                              narrow(shape.block.y), narrow(shape.block.z),
                                              shared_bytes, on, values)
          : driver_.cuLaunchKernel(function, narrow(shape.grid.x), narrow(shape.grid.y),
                                   narrow(shape.grid.z), narrow(shape.block.x),
                                   narrow(shape.block.y), narrow(shape.block.z), shared_bytes, on,
                                   values, nullptr);
  if (status != CUDA_SUCCESS) {
    refuse_launch(status, shape.cooperative ? driver_.cuLaunchCooperativeKernel.name()
                                            : driver_.cuLaunchKernel.name());
  }
}

std::string CudaBackend::why_no_launch(const LaunchAttributes& attributes) const {
  const bool is_new = attributes.cluster.volume() > 1 || attributes.is_programmatic;
  if (is_new && info_.compute_capability[0] < 9) {
    return fmt::format(
        "'{}' has compute capability {}.{}, and clusters and programmatic launches "
        "begin with 9.0: launch the kernel without these attributes",
        info_.name, info_.compute_capability[0], info_.compute_capability[1]);
  }
  return driver_.cuLaunchKernelEx ? "" : "the driver is older than CUDA 11.8, which has attributes";
}

CUresult CudaBackend::opt_in_to_cluster(CUfunction kernel, const LaunchAttributes& given) const {
  return given.cluster.volume() <= most_blocks_of_any_cluster
             ? CUDA_SUCCESS
             : driver_.cuFuncSetAttribute(kernel,
                                          CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1);
}

void CudaBackend::launch_with(Stream stream, Kernel kernel, const LaunchShape& shape,
                              const ArgumentView& arguments, const LaunchAttributes& attributes) {
  const CurrentContext current(*this);
  auto* const function = static_cast<CUfunction>(kernel);
  CUresult status =
      shape.shared_bytes == 0 ? CUDA_SUCCESS : opt_in_to_shared(function, shape.shared_bytes);
  status = status == CUDA_SUCCESS ? opt_in_to_cluster(function, attributes) : status;
  if (status != CUDA_SUCCESS) {
    refuse_launch(status, driver_.cuFuncSetAttribute.name());
  }
  const LaunchConfiguration launch(shape, attributes, static_cast<CUstream>(stream));
  status = driver_.cuLaunchKernelEx(&launch.config, function,
                                    const_cast<void**>(arguments.values.data()), nullptr);
  if (status != CUDA_SUCCESS) {
    refuse_launch(status, driver_.cuLaunchKernelEx.name());
  }
}

int CudaBackend::clusters_at_once(Kernel kernel, const LaunchShape& shape,
                                  const LaunchAttributes& attributes) {
  const CurrentContext current(*this);
  auto* const function = static_cast<CUfunction>(kernel);
  if (opt_in_to_shared(function, shape.shared_bytes) != CUDA_SUCCESS ||
      opt_in_to_cluster(function, attributes) != CUDA_SUCCESS) {
    return 0;
  }
  const LaunchConfiguration launch(shape, attributes, nullptr);
  int clusters = 0;
  driver_.cuOccupancyMaxActiveClusters.must("count clusters", &clusters, function, &launch.config);
  return clusters;
}

int CudaBackend::blocks_per_multiprocessor(Kernel kernel, int block_threads,
                                           std::size_t shared_bytes) {
  const CurrentContext current(*this);
  auto* const function = static_cast<CUfunction>(kernel);
  if (opt_in_to_shared(function, shared_bytes) != CUDA_SUCCESS) {
    return 0;  // not one block fits
  }
  int blocks = 0;
  driver_.cuOccupancyMaxActiveBlocksPerMultiprocessor.must("compute an occupancy", &blocks,
                                                           function, block_threads, shared_bytes);
  return blocks;
}

int CudaBackend::suggested_block_threads(Kernel kernel, std::size_t shared_bytes) {
  const CurrentContext current(*this);
  auto* const function = static_cast<CUfunction>(kernel);
  static_cast<void>(opt_in_to_shared(function, shared_bytes));
  int min_blocks = 0;
  int block_threads = 0;
  driver_.cuOccupancyMaxPotentialBlockSize.must("compute an occupancy", &min_blocks, &block_threads,
                                                function, nullptr, shared_bytes, 0);
  return block_threads;
}

}  // namespace rtcg::runtime::cuda
#endif
