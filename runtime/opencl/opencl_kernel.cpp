#include "rtcg/runtime/opencl/opencl_kernel.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <utility>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/runtime/device/image.h"

namespace rtcg::runtime::opencl {
namespace {

struct ScalarType {
  std::string_view name;
  std::size_t size_bytes;
};

constexpr ScalarType scalar_types[] = {{"char", 1},  {"uchar", 1},  {"unsigned char", 1},
                                       {"short", 2}, {"ushort", 2}, {"unsigned short", 2},
                                       {"int", 4},   {"uint", 4},   {"unsigned int", 4},
                                       {"long", 8},  {"ulong", 8},  {"unsigned long", 8},
                                       {"float", 4}, {"double", 8}, {"half", 2}};

std::string argument_text(const Api& api, cl_kernel kernel, cl_uint index,
                          cl_kernel_arg_info what) {
  std::size_t size_bytes = 0;
  api.clGetKernelArgInfo.must("ask for a kernel's parameters", kernel, index, what, 0, nullptr,
                              &size_bytes);
  std::string text(size_bytes, '\0');
  api.clGetKernelArgInfo.must("ask for a kernel's parameters", kernel, index, what, size_bytes,
                              text.data(), nullptr);
  return text.substr(0, text.find('\0'));
}

DeclaredParameter read_parameter(const Api& api, cl_kernel kernel, cl_uint index) {
  cl_kernel_arg_address_qualifier space = CL_KERNEL_ARG_ADDRESS_PRIVATE;
  const cl_int status = api.clGetKernelArgInfo(kernel, index, CL_KERNEL_ARG_ADDRESS_QUALIFIER,
                                               sizeof(space), &space, nullptr);
  if (status == CL_KERNEL_ARG_INFO_NOT_AVAILABLE) {
    throw Unsupported("runtime.opencl.no_parameter_list",
                      "this driver does not report the parameters of a kernel that was loaded "
                      "from a binary: load a binary that rtcg compiled, or the text");
  }
  if (status != CL_SUCCESS) {
    throw_status(status, api.clGetKernelArgInfo.name(), "ask for a kernel's parameters");
  }
  DeclaredParameter parameter;
  parameter.type_name = argument_text(api, kernel, index, CL_KERNEL_ARG_TYPE_NAME);
  if (space == CL_KERNEL_ARG_ADDRESS_LOCAL) {
    parameter.kind = ArgumentKind::local;
  } else if (!parameter.type_name.empty() && parameter.type_name.back() == '*') {
    cl_kernel_arg_type_qualifier qualifier = CL_KERNEL_ARG_TYPE_NONE;
    const bool is_known =
        api.clGetKernelArgInfo(kernel, index, CL_KERNEL_ARG_TYPE_QUALIFIER, sizeof(qualifier),
                               &qualifier, nullptr) == CL_SUCCESS;
    const bool is_read = space == CL_KERNEL_ARG_ADDRESS_CONSTANT ||
                         (is_known && (qualifier & CL_KERNEL_ARG_TYPE_CONST) != 0);
    parameter.kind = is_read ? ArgumentKind::read_memory : ArgumentKind::memory;
  }
  return parameter;
}

KernelParameter launch_parameter(const DeclaredParameter& declared) {
  switch (declared.kind) {
    case ArgumentKind::local:
      // the host passes a length, for any type pointed to
      return {.size_bytes = sizeof(std::size_t), .is_pointer = false, .type_name = "ulong"};
    case ArgumentKind::memory:
    case ArgumentKind::read_memory:
      return {
          .size_bytes = sizeof(DeviceAddress), .is_pointer = true, .type_name = declared.type_name};
    case ArgumentKind::image:
    case ArgumentKind::texture:
      return {.size_bytes = sizeof(ImageBackend::Access),
              .is_pointer = false,
              .type_name = declared.type_name};
    case ArgumentKind::value:
      break;
  }
  return {.size_bytes = type_bytes(declared.type_name),
          .is_pointer = false,
          .type_name = declared.type_name};
}

bool is_image(const DeclaredParameter& declared) {
  return declared.kind == ArgumentKind::value && declared.type_name.rfind("image", 0) == 0;
}

// The arguments' kinds: an image and the sampler after it are one.
std::vector<DeclaredParameter> arguments_of(const std::vector<DeclaredParameter>& parameters) {
  std::vector<DeclaredParameter> arguments;
  for (const DeclaredParameter& declared : parameters) {
    if (declared.type_name == "sampler_t" && !arguments.empty() &&
        arguments.back().kind == ArgumentKind::image) {
      arguments.back().kind = ArgumentKind::texture;
      continue;
    }
    arguments.push_back(declared);
    if (is_image(declared)) {
      arguments.back().kind = ArgumentKind::image;
    }
  }
  return arguments;
}

// At the end of a binary with parameters; the length of the table before it.
struct Trailer {
  std::uint64_t table_bytes;
  char mark[16];
};
constexpr char trailer_mark[16] = "rtcg parameters";

template <class Value>
Value work_group_value(const Api& api, cl_kernel kernel, cl_device_id device,
                       cl_kernel_work_group_info what) {
  Value value = {};
  api.clGetKernelWorkGroupInfo.must("ask for a kernel's resources", kernel, device, what,
                                    sizeof(value), &value, nullptr);
  return value;
}

// 0 where the device has no sub-groups.
int sub_group_lanes(const Api& api, cl_kernel kernel, cl_device_id device,
                    std::size_t block_threads) {
  cl_uint most = 0;
  if (!api.clGetKernelSubGroupInfo.is_there() ||
      api.clGetDeviceInfo(device, CL_DEVICE_MAX_NUM_SUB_GROUPS, sizeof(most), &most, nullptr) !=
          CL_SUCCESS ||
      most == 0) {
    return 0;
  }
  std::size_t lanes = 0;
  const cl_int status = api.clGetKernelSubGroupInfo(
      kernel, device, CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE, sizeof(block_threads),
      &block_threads, sizeof(lanes), &lanes, nullptr);
  return status == CL_SUCCESS ? static_cast<int>(lanes) : 0;
}

}  // namespace

std::vector<std::string> kernel_names(const Api& api, cl_program program) {
  std::size_t count = 0;
  api.clGetProgramInfo.must("count kernels", program, CL_PROGRAM_NUM_KERNELS, sizeof(count), &count,
                            nullptr);
  if (count == 0) {
    return {};  // NVIDIA's driver is not to be asked for the names of none
  }
  const cl_program_info what = CL_PROGRAM_KERNEL_NAMES;
  std::size_t size_bytes = 0;
  api.clGetProgramInfo.must("list kernels", program, what, 0, nullptr, &size_bytes);
  std::string list(size_bytes, '\0');
  api.clGetProgramInfo.must("list kernels", program, what, size_bytes, list.data(), nullptr);
  std::istringstream parts(list.substr(0, list.find('\0')));
  std::vector<std::string> names;
  for (std::string name; std::getline(parts, name, ';');) {
    names.push_back(name);
  }
  return names;
}

HeldKernel create_kernel(const Api& api, cl_program program, const std::string& name) {
  cl_int status = CL_SUCCESS;
  HeldKernel kernel(api.clCreateKernel(program, name.c_str(), &status), {&api});
  if (status == CL_INVALID_KERNEL_NAME) {
    const std::vector<std::string> names = kernel_names(api, program);
    throw InvalidInput("runtime.program.unknown_kernel",
                       names.empty()
                           ? fmt::format("the program has no kernel '{}': one is declared "
                                         "with __kernel",
                                         name)
                           : fmt::format("the program has no kernel '{}'; it has: {}", name,
                                         fmt::join(names, ", ")));
  }
  if (status != CL_SUCCESS) {
    throw_status(status, api.clCreateKernel.name(), fmt::format("find kernel '{}'", name));
  }
  return kernel;
}

std::size_t type_bytes(std::string_view type_name) {
  for (const ScalarType& scalar : scalar_types) {
    if (type_name.substr(0, scalar.name.size()) != scalar.name) {
      continue;
    }
    const std::string lanes(type_name.substr(scalar.name.size()));
    if (lanes.empty()) {
      return scalar.size_bytes;
    }
    if (lanes == "3") {
      return 4 * scalar.size_bytes;  // aligned and padded as 4
    }
    if (lanes == "2" || lanes == "4" || lanes == "8" || lanes == "16") {
      return static_cast<std::size_t>(std::atoi(lanes.c_str())) * scalar.size_bytes;
    }
  }
  return 0;
}

std::vector<DeclaredParameter> read_parameters(const Api& api, cl_kernel kernel) {
  cl_uint count = 0;
  api.clGetKernelInfo.must("count a kernel's parameters", kernel, CL_KERNEL_NUM_ARGS, sizeof(count),
                           &count, nullptr);
  std::vector<DeclaredParameter> parameters;
  for (cl_uint index = 0; index < count; ++index) {
    parameters.push_back(read_parameter(api, kernel, index));
  }
  return parameters;
}

// One line a kernel, a tab and then the kind's number before each type.
std::vector<std::byte> with_parameters(std::vector<std::byte> driver_binary,
                                       const ParameterTable& parameters) {
  std::string table;
  for (const auto& [kernel, declared] : parameters) {
    table += kernel;
    for (const DeclaredParameter& parameter : declared) {
      table += fmt::format("\t{}{}", static_cast<int>(parameter.kind), parameter.type_name);
    }
    table += '\n';
  }
  Trailer trailer = {table.size(), {}};
  std::memcpy(trailer.mark, trailer_mark, sizeof(trailer_mark));
  const auto append = [&](const void* from, std::size_t size_bytes) {
    const auto* bytes = static_cast<const std::byte*>(from);
    driver_binary.insert(driver_binary.end(), bytes, bytes + size_bytes);
  };
  append(table.data(), table.size());
  append(&trailer, sizeof(trailer));
  return driver_binary;
}

BinaryParts split_binary(const std::vector<std::byte>& binary) {
  const BinaryParts without = {binary.size(), {}};
  Trailer trailer = {};
  if (binary.size() < sizeof(trailer)) {
    return without;
  }
  const std::size_t before = binary.size() - sizeof(trailer);
  std::memcpy(&trailer, binary.data() + before, sizeof(trailer));
  if (std::memcmp(trailer.mark, trailer_mark, sizeof(trailer_mark)) != 0 ||
      trailer.table_bytes > before) {
    return without;
  }
  BinaryParts parts = {before - static_cast<std::size_t>(trailer.table_bytes), {}};
  std::istringstream lines(
      std::string(reinterpret_cast<const char*>(binary.data()) + parts.driver_bytes,
                  static_cast<std::size_t>(trailer.table_bytes)));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream cells(line);
    std::string kernel;
    std::getline(cells, kernel, '\t');
    auto& declared = parts.parameters[kernel];
    for (std::string cell; std::getline(cells, cell, '\t') && !cell.empty();) {
      declared.push_back({static_cast<ArgumentKind>(cell.at(0) - '0'), cell.substr(1)});
    }
  }
  return parts;
}

std::unique_ptr<LoadedKernel> describe_kernel(const Api& api, cl_kernel kernel, cl_device_id device,
                                              const std::vector<DeclaredParameter>& parameters) {
  auto described = std::make_unique<LoadedKernel>();
  KernelAttributes& attributes = described->attributes;
  attributes.parameters.emplace();
  for (const DeclaredParameter& declared : arguments_of(parameters)) {
    described->kinds.push_back(declared.kind);
    described->has_local_parameter |= declared.kind == ArgumentKind::local;
    attributes.parameters->push_back(launch_parameter(declared));
  }
  // NVIDIA's driver says 256 even of a kernel that requires larger groups, and then runs those
  const auto required = work_group_value<std::array<std::size_t, 3>>(
      api, kernel, device, CL_KERNEL_COMPILE_WORK_GROUP_SIZE);
  attributes.max_threads_per_block = static_cast<int>(
      std::max(work_group_value<std::size_t>(api, kernel, device, CL_KERNEL_WORK_GROUP_SIZE),
               required[0] * required[1] * required[2]));
  attributes.preferred_block_multiple = static_cast<int>(work_group_value<std::size_t>(
      api, kernel, device, CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE));
  attributes.static_shared_bytes =
      work_group_value<cl_ulong>(api, kernel, device, CL_KERNEL_LOCAL_MEM_SIZE);
  attributes.local_bytes =
      work_group_value<cl_ulong>(api, kernel, device, CL_KERNEL_PRIVATE_MEM_SIZE);
  attributes.sub_group_lanes = sub_group_lanes(
      api, kernel, device, static_cast<std::size_t>(attributes.max_threads_per_block));
  return described;
}

}  // namespace rtcg::runtime::opencl
