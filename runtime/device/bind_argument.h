#pragma once

// How the arguments of Function::operator() become the values that a launch passes.

#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "rtcg/runtime/device/buffer.h"
#include "rtcg/runtime/device/host_data.h"
#include "rtcg/runtime/device/kernel.h"
#include "rtcg/runtime/device/memory.h"

namespace rtcg::runtime::detail {

template <class Parameter>
constexpr bool always_false = false;

[[noreturn]] void throw_value_out_of_range(const LoadedKernel& kernel, std::string_view value);
[[noreturn]] void throw_foreign_buffer(const LoadedKernel& kernel, Device device);
/// Memory of the device's pool, free again from the end of the launch on.
[[nodiscard]] Memory temporary_memory(StreamRef stream, std::size_t bytes);

/// A value as it is passed; pointers are passed as addresses of the device.
template <class Parameter>
struct PlainArgument {
  using Value = std::conditional_t<std::is_pointer_v<Parameter>, DeviceAddress, Parameter>;
  Value value;
  void finish(StreamRef /*stream*/) const noexcept {}
};

/// Memory on the device that replaces host data during one launch.
template <class T>
struct HostDataArgument {
  Memory memory;
  std::span<T> copied_back;  // empty: nothing is
  DeviceAddress value;

  void finish(StreamRef stream) const {
    if constexpr (!std::is_const_v<T>) {
      read_bytes(stream, memory, copied_back.data(), copied_back.size_bytes());
    }
  }
};

template <class T>
HostDataArgument<T> bind_host_data(StreamRef stream, std::span<T> data, bool copy_in,
                                   bool copy_back) {
  Memory memory = temporary_memory(stream, data.size_bytes());
  if (copy_in) {
    write_bytes(stream, memory, data.data(), data.size_bytes());
  }
  const DeviceAddress address = memory.address();
  return {std::move(memory), copy_back ? data : std::span<T>{}, address};
}

// Whether every value of From has one of To.
template <class To, class From>
constexpr bool widens() {
  using FromLimits = std::numeric_limits<From>;
  using ToLimits = std::numeric_limits<To>;
  if constexpr (std::is_same_v<To, From>) {
    return true;
  } else if constexpr (std::is_integral_v<From> && std::is_floating_point_v<To>) {
    return FromLimits::digits <= ToLimits::digits;
  } else {
    return std::is_floating_point_v<From> && std::is_floating_point_v<To> &&
           FromLimits::digits <= ToLimits::digits;
  }
}

template <class To, class From>
constexpr bool holds(From value) {
  const To converted = static_cast<To>(value);
  return static_cast<From>(converted) == value && (converted < To{}) == (value < From{});
}

template <class To, class From>
To convert_scalar(const LoadedKernel& kernel, From value) {
  if constexpr (std::is_integral_v<To> && std::is_integral_v<From>) {
    // checked when it runs, so that the literal 4 serves for a parameter of any integer type
    if (!holds<To>(value)) {
      throw_value_out_of_range(kernel, std::to_string(+value));
    }
  } else {
    static_assert(widens<To, From>(),
                  "this scalar argument would lose digits: convert it to the parameter's type");
  }
  return static_cast<To>(value);
}

/// A type that tracks the stream which uses its memory, as an array does: it is notified before the
/// launch.
template <class Given, class Element>
concept UsedOnStreams = requires(const Given& given, StreamRef stream) {
  given.template buffer_on<std::remove_const_t<Element>>(stream).address();
};

template <class Pointer, class Given>
DeviceAddress bind_pointer(const LoadedKernel& kernel, StreamRef stream, const Given& given) {
  using Element = std::remove_pointer_t<Pointer>;
  if constexpr (UsedOnStreams<Given, Element>) {
    if (given.device() != kernel.device) {
      throw_foreign_buffer(kernel, given.device());
    }
    return given.template buffer_on<std::remove_const_t<Element>>(stream).address();
  } else if constexpr (std::is_convertible_v<const Given&, BufferRef<Element>>) {
    const BufferRef<Element> buffer = given;
    if (buffer.device() != kernel.device) {
      throw_foreign_buffer(kernel, buffer.device());
    }
    return buffer.address();
  } else if constexpr (std::is_convertible_v<const Given&, Pointer>) {
    return reinterpret_cast<DeviceAddress>(static_cast<const volatile void*>(Pointer{given}));
  } else {
    static_assert(
        always_false<Given>,
        "a pointer parameter takes an array, a Buffer, a BufferRef or a device pointer of "
        "its element type, or In, Out or InOut of host data");
  }
}

/// The argument for one parameter; copies In and InOut to the device.
template <class Parameter, class Given>
auto bind_argument(const LoadedKernel& kernel, StreamRef stream, const Given& given) {
  if constexpr (std::is_pointer_v<Parameter>) {
    return PlainArgument<Parameter>{bind_pointer<Parameter>(kernel, stream, given)};
  } else if constexpr (std::is_arithmetic_v<Parameter> && std::is_arithmetic_v<Given>) {
    return PlainArgument<Parameter>{convert_scalar<Parameter>(kernel, given)};
  } else {
    static_assert(std::is_trivially_copyable_v<Parameter>, "parameters are passed byte by byte");
    static_assert(std::is_convertible_v<const Given&, Parameter>,
                  "this argument does not convert to the parameter's type");
    if constexpr (requires { given.device() == kernel.device; }) {  // a texture or a surface
      if (given.device() != kernel.device) {
        throw_foreign_buffer(kernel, given.device());
      }
    }
    return PlainArgument<Parameter>{given};
  }
}

template <class Parameter, class T>
auto bind_argument(const LoadedKernel& /*kernel*/, StreamRef stream, const In<T>& host) {
  static_assert(std::is_convertible_v<T*, Parameter>, "host data of another element type");
  return bind_host_data(stream, host.data(), true, false);
}

template <class Parameter, class T>
auto bind_argument(const LoadedKernel& /*kernel*/, StreamRef stream, const Out<T>& host) {
  static_assert(std::is_convertible_v<T*, Parameter> && !std::is_const_v<T>,
                "host data of another element type, or const");
  return bind_host_data(stream, host.data(), false, true);
}

template <class Parameter, class T>
auto bind_argument(const LoadedKernel& /*kernel*/, StreamRef stream, const InOut<T>& host) {
  static_assert(std::is_convertible_v<T*, Parameter> && !std::is_const_v<T>,
                "host data of another element type, or const");
  return bind_host_data(stream, host.data(), true, true);
}

/// The properties of a parameter's C++ type, to be compared with the kernel's declaration.
struct ExpectedParameter {
  std::size_t size_bytes;
  bool is_pointer;
  std::string_view type_name;  // as OpenCL spells it; empty where it has no such type
};

template <class T>
constexpr std::string_view scalar_name() {
  using Bare = std::remove_cv_t<T>;
  if constexpr (std::is_same_v<Bare, float>) {
    return "float";
  } else if constexpr (std::is_same_v<Bare, double>) {
    return "double";
  } else if constexpr (std::is_integral_v<Bare> && !std::is_same_v<Bare, bool>) {
    constexpr std::string_view of_signed[] = {"char", "short", "int", "long"};
    constexpr std::string_view of_unsigned[] = {"uchar", "ushort", "uint", "ulong"};
    constexpr std::size_t size_class =
        sizeof(Bare) == 1 ? 0 : (sizeof(Bare) == 2 ? 1 : (sizeof(Bare) == 4 ? 2 : 3));
    return std::is_signed_v<Bare> ? of_signed[size_class] : of_unsigned[size_class];
  } else {
    return {};
  }
}

template <class Parameter>
constexpr ExpectedParameter expected_parameter() {
  using Element = std::remove_pointer_t<Parameter>;
  return {std::is_pointer_v<Parameter> ? sizeof(DeviceAddress) : sizeof(Parameter),
          std::is_pointer_v<Parameter>, scalar_name<Element>()};
}

/// @throws InvalidInput  runtime.function.parameter_count, runtime.function.parameter_size,
///                       runtime.function.parameter_type
void check_parameters(const LoadedKernel& kernel, std::span<const ExpectedParameter> expected);

}  // namespace rtcg::runtime::detail
