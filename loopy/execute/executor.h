#pragma once

#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/execute/target_of.h"
#include "rtcg/runtime/compile/compile_request.h"
#include "rtcg/runtime/device/buffer.h"
#include "rtcg/runtime/device/device.h"
#include "rtcg/runtime/device/image.h"
#include "rtcg/runtime/device/launch_shape.h"
#include "rtcg/runtime/device/stream.h"

namespace rtcg::runtime {
class Compiler;
}

namespace rtcg::loopy {

/// The value of a kernel's name in one call: made by `arg`.
struct NamedArgument {
  struct Array {
    runtime::Device device;
    runtime::DeviceAddress address;
    std::size_t count;  ///< elements from the address on
    cgen::ScalarKind element;
    /// Lengths of the axes, where the caller said so; from them parameters follow.
    std::vector<std::int64_t> shape;
    /// Numbers of an element: 2 of a complex one, more of a vector.
    int numbers_an_element = 1;
  };
  struct Image {
    runtime::Device device;
    std::variant<runtime::TextureRef, runtime::SurfaceRef> access;
    runtime::ImageShape shape;
    runtime::TextureOptions options;  ///< of a texture
    /// Of the axes, the slowest first.
    std::vector<std::int64_t> lengths;
  };
  /// An array of structs, of which the kernel takes fields.
  struct Structs {
    runtime::Device device;
    runtime::DeviceAddress address;
    std::size_t count;  ///< structs from the address on
    std::int64_t struct_bytes;
    /// As of Array.
    std::vector<std::int64_t> shape;
  };
  using Value = std::variant<std::int64_t, double, Array, std::complex<double>, Image, Structs>;
  std::string name;
  Value value;
};

namespace detail {
template <class T>
struct ElementOf {
  using Number = T;
  static constexpr int numbers = 1;
};
template <class T>
struct ElementOf<std::complex<T>> {
  using Number = T;
  static constexpr int numbers = 2;
};
/// A vector: `std::array<float, 4>` is a float4.
template <class T, std::size_t lanes>
struct ElementOf<std::array<T, lanes>> {
  using Number = T;
  static constexpr int numbers = static_cast<int>(lanes);
};

template <class T>
constexpr cgen::ScalarKind scalar_kind_of() {
  using Kind = cgen::ScalarKind;
  if constexpr (std::is_same_v<T, float>) {
    return Kind::f32;
  } else if constexpr (std::is_same_v<T, double>) {
    return Kind::f64;
  } else if constexpr (std::is_same_v<T, bool>) {
    return Kind::bool_;
  } else {
    static_assert(std::is_integral_v<T>, "kernels know arrays of numbers");
    constexpr Kind of_signed[] = {Kind::i8, Kind::i16, Kind::i32, Kind::i64};
    constexpr Kind of_unsigned[] = {Kind::u8, Kind::u16, Kind::u32, Kind::u64};
    constexpr int width = sizeof(T) == 1 ? 0 : (sizeof(T) == 2 ? 1 : (sizeof(T) == 4 ? 2 : 3));
    return std::is_signed_v<T> ? of_signed[width] : of_unsigned[width];
  }
}

template <class T>
inline constexpr bool is_struct = std::is_class_v<T>;
template <class T>
inline constexpr bool is_struct<std::complex<T>> = false;
template <class T, std::size_t lanes>
inline constexpr bool is_struct<std::array<T, lanes>> = false;

template <class T>
NamedArgument numbers_arg(std::string name, const runtime::BufferRef<T>& buffer,
                          std::vector<std::int64_t> shape) {
  using Element = ElementOf<std::remove_const_t<T>>;
  return {std::move(name), NamedArgument::Array{buffer.device(), buffer.address(), buffer.count(),
                                                scalar_kind_of<typename Element::Number>(),
                                                std::move(shape), Element::numbers}};
}
}  // namespace detail

/// `arg("n", 1000)`: a scalar.
template <class Number>
requires std::is_arithmetic_v<Number>
[[nodiscard]] NamedArgument arg(std::string name, Number value) {
  if constexpr (std::is_floating_point_v<Number>) {
    return {std::move(name), static_cast<double>(value)};
  } else {
    return {std::move(name), static_cast<std::int64_t>(value)};
  }
}
/// `arg("z", std::complex(1.0, 2.0))`
template <class Number>
[[nodiscard]] NamedArgument arg(std::string name, const std::complex<Number>& value) {
  return {std::move(name), std::complex<double>(value)};
}
/// `arg("a", buffer)`: an array; with a shape, `arg("a", buffer, {n, m})`, parameters in it follow.
/// Its elements are numbers, `std::complex` ones, vectors as `std::array`, or structs.
template <class T>
[[nodiscard]] NamedArgument arg(std::string name, const runtime::BufferRef<T>& buffer,
                                std::vector<std::int64_t> shape = {}) {
  if constexpr (detail::is_struct<std::remove_const_t<T>>) {
    return {std::move(name),
            NamedArgument::Structs{buffer.device(), buffer.address(), buffer.count(),
                                   static_cast<std::int64_t>(sizeof(T)), std::move(shape)}};
  } else {
    return detail::numbers_arg(std::move(name), buffer, std::move(shape));
  }
}
template <class T>
[[nodiscard]] NamedArgument arg(std::string name, const runtime::Buffer<T>& buffer,
                                std::vector<std::int64_t> shape = {}) {
  return arg(std::move(name), buffer.ref(), std::move(shape));
}

/// `arg("picture", texture)`: an argument of the kernel with `space=image`. Parameters in its shape
/// follow from the image. An image that the kernel writes takes a surface.
[[nodiscard]] NamedArgument arg(std::string name, const runtime::Texture& texture);
[[nodiscard]] NamedArgument arg(std::string name, const runtime::Surface& surface);

/// A kernel with its arguments, made by Executor::bind. A cheap value; any thread may call it, but
/// where the kernel has temporaries in global memory only one call may run at a time. The memory of
/// the arguments has to stay.
class BoundCall {
 public:
  /// Runs the kernel on the stream, asynchronously. @throws  what launches throw
  void operator()(runtime::StreamRef stream) const;

  /// How often the longest of the outermost loops goes round that the host runs around launches; 1
  /// where there is none.
  [[nodiscard]] std::int64_t host_iterations() const;
  /// Runs only one in so many of these iterations, for measurements of what takes long: what the
  /// arrays hold then is not the kernel's result.
  /// @param stride  from 1 to host_iterations()
  /// @throws  as the call
  void run_sample(runtime::StreamRef stream, std::int64_t stride) const;

 private:
  friend class Executor;
  struct State;
  explicit BoundCall(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

/// A kernel on a device: called with named arguments.
///
///     const Executor twice(kernel, device);
///     twice(stream, {arg("a", a), arg("out", out), arg("n", 1000)});
///
/// Scalars that are not given follow from the arrays: from the shape stated with one, or from the
/// number of elements of an array with one axis. The program is made at the first call, once with
/// 32-bit and once with 64-bit indices as the arrays ask for, and compiled through the cache. A
/// cheap value; any thread may call it.
class Executor {
 public:
  /// @throws  what check_kernel, check_bounds, check_races and generate throw
  Executor(const Kernel& kernel, runtime::Device device);
  /// With a binary of text() that was compiled before, for 32-bit indices: nothing is compiled as
  /// long as the arrays are within their reach. @throws  the same
  Executor(const Kernel& kernel, runtime::Device device, runtime::CompiledProgram binary);

  /// Runs the kernel on the stream, asynchronously: all its launches, with the host's loops around
  /// them.
  ///
  /// @throws InvalidInput  loopy.executor.unknown_argument, loopy.executor.missing_argument,
  ///         loopy.executor.argument_type, loopy.executor.shape_mismatch,
  ///         loopy.executor.array_too_short, loopy.executor.wrong_device,
  ///         loopy.executor.assumption, loopy.executor.texture
  /// @throws  what Program::compile and launches throw
  void operator()(runtime::StreamRef stream, const std::vector<NamedArgument>& arguments) const;

  /// The same with a value for each of `kernel().arguments`, in their order: for calls that follow
  /// each other with other values. Nothing is looked up by name, and no parameter is inferred.
  ///
  /// @throws InvalidInput  loopy.executor.argument_count
  /// @throws  as the call
  void run_in_order(runtime::StreamRef stream, std::span<const NamedArgument::Value> values) const;

  /// The call with these arguments, checked once: for launches that follow each other so fast that
  /// looking at names counts. @throws  as the call
  [[nodiscard]] BoundCall bind(const std::vector<NamedArgument>& arguments) const;

  /// Makes and loads the program for 32-bit indices now, and returns the resources of its kernels,
  /// one for each launch. Several threads may prepare several executors at once.
  [[nodiscard]] std::vector<runtime::KernelResources> prepare() const;
  /// The same with another compiler than the device's own, whose output the device can load.
  [[nodiscard]] std::vector<runtime::KernelResources> prepare(runtime::Compiler& compiler) const;

  /// Of the program for 32-bit indices, which is made now: equal binaries have equal ones.
  [[nodiscard]] std::uint64_t program_hash() const;

  /// The text that the call would run with 32-bit indices.
  [[nodiscard]] std::string text() const;
  [[nodiscard]] const Kernel& kernel() const noexcept;
  [[nodiscard]] runtime::Device device() const noexcept;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace rtcg::loopy
