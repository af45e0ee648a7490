// Programs, kernels and launches.
#include <array>
#include <cstring>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/runtime/opencl/opencl_backend.h"
#include "rtcg/runtime/opencl/opencl_kernel.h"

namespace rtcg::runtime::opencl {
namespace {

// The shape itself was checked before; this is what only the driver knows.
[[noreturn]] void refuse_launch(cl_int status, const char* function) {
  const char* reason = "";
  if (status == CL_INVALID_WORK_GROUP_SIZE) {
    reason = ": the kernel requires another block (reqd_work_group_size), or takes too much";
  } else if (status == CL_OUT_OF_RESOURCES) {
    reason = ": a block of this kernel takes too many registers or too much local memory";
  } else if (status != CL_INVALID_GLOBAL_WORK_SIZE && status != CL_INVALID_WORK_ITEM_SIZE) {
    throw_status(status, function, "launch a kernel");
  }
  throw DeviceError("runtime.launch.refused",
                    fmt::format("the driver refuses the launch{}; {} gave {}", reason, function,
                                status_name(status)),
                    function, status_name(status));
}

template <class Value>
Value read(const void* bytes) {
  Value value = {};
  std::memcpy(&value, bytes, sizeof(value));
  return value;
}

[[noreturn]] void refuse_argument(const LoadedKernel& kernel, std::size_t index,
                                  std::size_t size_bytes, std::string_view wanted) {
  throw InvalidInput("runtime.launch.argument_size",
                     fmt::format("argument {} of kernel '{}' has {} bytes; its parameter of type "
                                 "'{}' takes {}",
                                 index + 1, kernel.attributes.name, size_bytes,
                                 (*kernel.attributes.parameters)[index].type_name, wanted));
}

void check_launch(const LoadedKernel& kernel, const LaunchShape& shape,
                  const ArgumentView& arguments) {
  if (shape.cooperative) {
    throw Unsupported("runtime.launch.not_cooperative", "OpenCL has no cooperative launch");
  }
  if (shape.shared_bytes != 0 && !kernel.has_local_parameter) {
    throw InvalidInput(
        "runtime.opencl.no_local_parameter",
        fmt::format("{} bytes of shared memory are asked for, but kernel '{}' has no "
                    "__local parameter to reach them by",
                    shape.shared_bytes, kernel.attributes.name));
  }
  if (arguments.values.size() != kernel.kinds.size()) {
    throw InvalidInput("runtime.launch.argument_count",
                       fmt::format("kernel '{}' takes {} arguments, not {}", kernel.attributes.name,
                                   kernel.kinds.size(), arguments.values.size()));
  }
}

}  // namespace

HeldProgram OpenClBackend::program_of_spirv(const CompiledProgram& compiled) const {
  std::size_t version_bytes = 0;
  const bool is_known =
      api_.clGetDeviceInfo(device_, CL_DEVICE_IL_VERSION, 0, nullptr, &version_bytes) == CL_SUCCESS;
  // an empty text has its end
  if (!is_known || version_bytes <= 1 || !api_.clCreateProgramWithIL.is_there()) {
    throw Unsupported("runtime.opencl.no_spirv",
                      fmt::format("the driver of '{}' takes no SPIR-V: compile the text of the "
                                  "program",
                                  info_.name));
  }
  cl_int status = CL_SUCCESS;
  HeldProgram program(api_.clCreateProgramWithIL(context(), compiled.binary.data(),
                                                 compiled.binary.size(), &status),
                      {&api_});
  if (status != CL_SUCCESS) {
    throw_status(status, api_.clCreateProgramWithIL.name(), "load a program in SPIR-V");
  }
  status = api_.clBuildProgram(program.get(), 1, &device_, "-cl-kernel-arg-info", nullptr, nullptr);
  if (status != CL_SUCCESS) {
    throw_status(status, api_.clBuildProgram.name(),
                 fmt::format("build a program in SPIR-V for '{}': {}", info_.name,
                             build_log(api_, program.get(), device_)));
  }
  return program;
}

Backend::Program OpenClBackend::load(const CompiledProgram& compiled) {
  if (compiled.kind == OutputKind::spirv) {
    return program_of_spirv(compiled).release();
  }
  BinaryParts parts = split_binary(compiled.binary);
  const std::size_t size_bytes = parts.driver_bytes;
  const auto* bytes = reinterpret_cast<const unsigned char*>(compiled.binary.data());
  const std::string what = fmt::format("load a program of {} bytes, made for '{}', on '{}'",
                                       size_bytes, compiled.target, info_.target);
  cl_int of_binary = CL_SUCCESS;
  cl_int status = CL_SUCCESS;
  HeldProgram program(api_.clCreateProgramWithBinary(context(), 1, &device_, &size_bytes, &bytes,
                                                     &of_binary, &status),
                      {&api_});
  if (status != CL_SUCCESS || of_binary != CL_SUCCESS) {
    throw_status(status != CL_SUCCESS ? status : of_binary, api_.clCreateProgramWithBinary.name(),
                 what);
  }
  api_.clBuildProgram.must(what, program.get(), 1, &device_, "-cl-kernel-arg-info", nullptr,
                           nullptr);
  const std::lock_guard lock(mutex_);
  programs_[program.get()].parameters = std::move(parts.parameters);
  return program.release();
}

void OpenClBackend::unload(Program program) noexcept {
  if (program == nullptr) {
    return;
  }
  auto* const unloaded = static_cast<cl_program>(program);
  {
    const std::lock_guard lock(mutex_);
    const auto known = programs_.find(unloaded);
    if (known != programs_.end()) {
      for (const auto& [name, kernel] : known->second.kernels) {
        kernels_.erase(kernel);
        api_.clReleaseKernel(kernel);
      }
      programs_.erase(known);
    }
  }
  // what still runs holds it
  api_.clReleaseProgram(unloaded);
}

Backend::Kernel OpenClBackend::find_kernel(Program program, const std::string& lowered_name) {
  auto* const owner = static_cast<cl_program>(program);
  const std::lock_guard lock(mutex_);
  LoadedProgram& loaded_program = programs_[owner];
  auto& found = loaded_program.kernels;
  if (const auto known = found.find(lowered_name); known != found.end()) {
    return known->second;
  }
  HeldKernel kernel = create_kernel(api_, owner, lowered_name);
  const auto declared = loaded_program.parameters.find(lowered_name);
  auto loaded = describe_kernel(api_, kernel.get(), device_,
                                declared != loaded_program.parameters.end()
                                    ? declared->second
                                    : read_parameters(api_, kernel.get()));
  loaded->attributes.name = lowered_name;
  kernels_.emplace(kernel.get(), std::move(loaded));
  found.emplace(lowered_name, kernel.get());
  return kernel.release();
}

LoadedKernel& OpenClBackend::loaded_kernel(Kernel kernel) {
  const std::lock_guard lock(mutex_);
  return *kernels_.at(static_cast<cl_kernel>(kernel));
}

KernelAttributes OpenClBackend::kernel_attributes(Kernel kernel) {
  return loaded_kernel(kernel).attributes;
}

SymbolAddress OpenClBackend::find_global(Program /*program*/, const std::string& lowered_name) {
  throw Unsupported("runtime.opencl.no_globals",
                    fmt::format("OpenCL gives the host no address of '{}' or any other variable of "
                                "a program: pass a pointer to the kernel",
                                lowered_name));
}

std::vector<HeldBuffer> OpenClBackend::set_arguments(cl_kernel kernel, const LoadedKernel& loaded,
                                                     const LaunchShape& shape,
                                                     const ArgumentView& arguments) const {
  std::vector<HeldBuffer> parts;
  cl_uint index = 0;
  for (std::size_t i = 0; i < loaded.kinds.size(); ++i, ++index) {
    const void* const value = arguments.values[i];
    const std::size_t size_bytes = arguments.sizes_bytes[i];
    cl_int status = CL_SUCCESS;
    const char* function = api_.clSetKernelArg.name();
    if (loaded.kinds[i] == ArgumentKind::value) {
      status = api_.clSetKernelArg(kernel, index, size_bytes, value);
    } else if (size_bytes != sizeof(std::uint64_t)) {
      refuse_argument(loaded, i, size_bytes, "the 8 bytes of an address or a length");
    } else if (loaded.kinds[i] == ArgumentKind::image || loaded.kinds[i] == ArgumentKind::texture) {
      const ImageAccess access = image_access(read<Access>(value));
      status = api_.clSetKernelArg(kernel, index, sizeof(cl_mem), &access.image);
      if (loaded.kinds[i] == ArgumentKind::texture && status == CL_SUCCESS) {
        if (access.sampler == nullptr) {
          throw InvalidInput("runtime.opencl.no_sampler",
                             fmt::format("argument {} of kernel '{}' is an image with a sampler: "
                                         "pass a Texture",
                                         i + 1, loaded.attributes.name));
        }
        ++index;
        status = api_.clSetKernelArg(kernel, index, sizeof(cl_sampler), &access.sampler);
      }
    } else if (is_memory(loaded.kinds[i]) && !has_svm()) {
      parts.push_back(buffers_.set_argument(kernel, index, read<DeviceAddress>(value)));
    } else if (is_memory(loaded.kinds[i])) {
      void* const address = read<void*>(value);
      if (address == nullptr) {
        // NVIDIA's driver takes no null as a shared-memory pointer, but as a memory object
        status = api_.clSetKernelArg(kernel, index, sizeof(cl_mem), nullptr);
      } else {
        function = api_.clSetKernelArgSVMPointer.name();
        status = api_.clSetKernelArgSVMPointer(kernel, index, address);
      }
    } else {
      const auto asked_bytes = read<std::size_t>(value);
      status = api_.clSetKernelArg(kernel, index,
                                   asked_bytes != 0 ? asked_bytes : shape.shared_bytes, nullptr);
    }
    if (status == CL_INVALID_ARG_SIZE) {
      refuse_argument(loaded, i, size_bytes, "another number of them");
    }
    if (status != CL_SUCCESS) {
      throw_status(status, function, fmt::format("set argument {}", i + 1));
    }
  }
  return parts;
}

std::vector<MemoryUse> OpenClBackend::memory_uses(const LoadedKernel& loaded,
                                                  const ArgumentView& arguments) const {
  std::vector<MemoryUse> uses;
  for (std::size_t i = 0; i < loaded.kinds.size(); ++i) {
    const ArgumentKind kind = loaded.kinds[i];
    if (is_memory(kind)) {
      if (const auto address = read<DeviceAddress>(arguments.values[i]); address != 0) {
        uses.push_back(memory_use(address, kind == ArgumentKind::memory));
      }
    } else if (kind == ArgumentKind::image || kind == ArgumentKind::texture) {
      const ImageAccess access = image_access(read<Access>(arguments.values[i]));
      uses.push_back({reinterpret_cast<std::uintptr_t>(access.image), kind == ArgumentKind::image});
    }
  }
  return uses;
}

void OpenClBackend::launch(Stream stream, Kernel kernel, const LaunchShape& shape,
                           const ArgumentView& arguments) {
  LoadedKernel& loaded = loaded_kernel(kernel);
  check_launch(loaded, shape, arguments);
  auto* const entry = static_cast<cl_kernel>(kernel);
  cl_command_queue const on = queue(stream);
  const std::array<std::size_t, 3> block = {shape.block.x, shape.block.y, shape.block.z};
  const std::array<std::size_t, 3> global = {
      shape.grid.x * shape.block.x, shape.grid.y * shape.block.y, shape.grid.z * shape.block.z};
  cl_int status = CL_SUCCESS;
  {
    const std::lock_guard lock(loaded.mutex);
    const std::vector<HeldBuffer> parts = set_arguments(entry, loaded, shape, arguments);
    const auto enqueue = [&](cl_uint count, const cl_event* before, cl_event* done) {
      return api_.clEnqueueNDRangeKernel(on, entry, 3, nullptr, global.data(), block.data(), count,
                                         before, done);
    };
    const std::shared_ptr<CommandOrder> order = order_of(on);
    status = order == nullptr ? enqueue(0, nullptr, nullptr)
                              : order->enqueue(memory_uses(loaded, arguments), enqueue);
  }
  if (status != CL_SUCCESS) {
    refuse_launch(status, api_.clEnqueueNDRangeKernel.name());
  }
  submit(on);
}

}  // namespace rtcg::runtime::opencl
