#include "rtcg/runtime/device/bind_argument.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/runtime/device/memory_pool.h"

namespace rtcg::runtime::detail {
namespace {

// Names of OpenCL's scalars as scalar_name gives them, for all spellings of drivers.
std::string normalized(std::string name) {
  name.erase(std::remove_if(name.begin(), name.end(), [](char c) { return c == ' ' || c == '*'; }),
             name.end());
  if (name.rfind("const", 0) == 0) {
    name.erase(0, 5);
  }
  if (name.rfind("unsigned", 0) == 0) {
    name = "u" + name.substr(8);
  }
  return name;
}

bool is_scalar_name(const std::string& name) {
  constexpr std::array<std::string_view, 10> names = {
      "float", "double", "char", "short", "int", "long", "uchar", "ushort", "uint", "ulong"};
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string words(bool is_pointer) {
  return is_pointer ? "a pointer" : "a value";
}

void check_parameter(const LoadedKernel& kernel, std::size_t position,
                     const ExpectedParameter& expected, const KernelParameter& found) {
  const std::string& name = kernel.attributes.name;
  if (found.size_bytes != 0 && found.size_bytes != expected.size_bytes) {
    throw InvalidInput(
        "runtime.function.parameter_size",
        fmt::format("parameter {} of kernel '{}' has {} bytes, the function's type gives it {}",
                    position, name, found.size_bytes, expected.size_bytes));
  }
  if (found.is_pointer && *found.is_pointer != expected.is_pointer) {
    throw InvalidInput(
        "runtime.function.parameter_type",
        fmt::format("parameter {} of kernel '{}' is {}, in the function's type {}", position, name,
                    words(*found.is_pointer), words(expected.is_pointer)));
  }
  const std::string declared = normalized(found.type_name);
  if (is_scalar_name(declared) && !expected.type_name.empty() && declared != expected.type_name) {
    throw InvalidInput("runtime.function.parameter_type",
                       fmt::format("parameter {} of kernel '{}' is of type '{}', in the function's "
                                   "type of '{}'",
                                   position, name, declared, expected.type_name));
  }
}

}  // namespace

void throw_value_out_of_range(const LoadedKernel& kernel, std::string_view value) {
  throw InvalidInput("runtime.function.value_out_of_range",
                     fmt::format("the argument {} does not fit in its parameter of kernel '{}'",
                                 value, kernel.attributes.name));
}

void throw_foreign_buffer(const LoadedKernel& kernel, Device device) {
  throw InvalidInput(
      "runtime.function.foreign_buffer",
      fmt::format("kernel '{}' runs on '{}' and got memory of '{}'", kernel.attributes.name,
                  to_string(kernel.device.info().id), to_string(device.info().id)));
}

Memory temporary_memory(StreamRef stream, std::size_t bytes) {
  return MemoryPool::standard(stream.device()).allocate_bytes(stream, bytes);
}

void check_parameters(const LoadedKernel& kernel, std::span<const ExpectedParameter> expected) {
  if (!kernel.attributes.parameters) {
    return;
  }
  const std::vector<KernelParameter>& found = *kernel.attributes.parameters;
  if (found.size() != expected.size()) {
    throw InvalidInput("runtime.function.parameter_count",
                       fmt::format("kernel '{}' has {} parameters, the function's type {}",
                                   kernel.attributes.name, found.size(), expected.size()));
  }
  for (std::size_t i = 0; i < expected.size(); ++i) {
    check_parameter(kernel, i + 1, expected[i], found[i]);
  }
}

}  // namespace rtcg::runtime::detail
