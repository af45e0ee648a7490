#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "rtcg/cgen.h"
#include "rtcg/runtime/device/device.h"
#include "rtcg/runtime/device/launch_shape.h"

// One kernel, built as a tree, on every back end there is, against numbers worked out in C++.

namespace rtcg::testing {

/// The thread's number within a grid of one axis.
inline const cgen::Expr index_of_thread =
    cgen::block_idx_x * cgen::block_dim_x + cgen::thread_idx_x;
inline const cgen::Type float2 = cgen::vector_of(cgen::f32, 2);
inline const cgen::Type float4 = cgen::vector_of(cgen::f32, 4);
inline const cgen::Type int4 = cgen::vector_of(cgen::i32, 4);

/// What a kernel is given for one parameter: a value, an image, or a buffer and what it holds at
/// the end.
struct Argument {
  std::vector<std::byte> bytes;  ///< of the value, or of the buffer at first
  bool is_buffer = false;
  /// What differs from the expected elements, in words; empty when nothing does.
  std::function<std::string(const std::byte* found)> differences;
  /// Of an image: makes it on a device, keeps it, and gives what a launch passes. Instead of bytes.
  std::function<std::uint64_t(runtime::Device)> access = {};
};

namespace detail {

template <class T>
std::vector<std::byte> bytes_of(const T* values, std::size_t count) {
  const auto* first = reinterpret_cast<const std::byte*>(values);
  return {first, first + count * sizeof(T)};
}

/// NaNs are alike, zeros are not; `ulps` counts units in the last place of `expected`.
template <class T>
bool is_near(T found, T expected, double ulps) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(expected) || std::isnan(found)) {
      return std::isnan(expected) && std::isnan(found);
    }
    if (ulps == 0 || !std::isfinite(expected)) {
      return found == expected && std::signbit(found) == std::signbit(expected);
    }
    const T magnitude = std::fabs(expected);
    const T ulp = std::nextafter(magnitude, std::numeric_limits<T>::infinity()) - magnitude;
    return std::fabs(found - expected) <= ulps * ulp;
  } else {
    return found == expected;
  }
}

template <class T>
std::string differences(const std::byte* found, const std::vector<T>& expected, double ulps) {
  std::ostringstream text;
  text.precision(std::numeric_limits<T>::max_digits10);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    T value;
    std::memcpy(&value, found + i * sizeof(T), sizeof(T));
    if (!is_near(value, expected[i], ulps)) {
      text << "  [" << i << "] is " << +value << ", not " << +expected[i] << "\n";
    }
  }
  return text.str();
}

}  // namespace detail

/// A scalar or struct, passed by value.
template <class T>
Argument by_value(const T& value) {
  return {detail::bytes_of(&value, 1), false, {}, {}};
}

/// Elements that the kernel must leave as they are.
template <class T>
Argument in(const std::vector<T>& values) {
  const std::vector<std::byte> bytes = detail::bytes_of(values.data(), values.size());
  return {bytes,
          true,
          [bytes](const std::byte* found) {
            return std::memcmp(found, bytes.data(), bytes.size()) == 0 ? "" : "  changed\n";
          },
          {}};
}

/// Elements that the kernel changes into `expected`, up to `ulps` units in the last place.
template <class T>
Argument in_out(const std::vector<T>& values, const std::vector<T>& expected, double ulps = 0) {
  return {detail::bytes_of(values.data(), values.size()),
          true,
          [expected, ulps](const std::byte* found) {
            return detail::differences(found, expected, ulps);
          },
          {}};
}

/// Elements that the kernel writes; they hold a pattern at first.
template <class T>
Argument out(const std::vector<T>& expected, double ulps = 0) {
  Argument argument = in_out(expected, expected, ulps);
  argument.bytes.assign(argument.bytes.size(), std::byte{0x5a});
  return argument;
}

/// A launch of one kernel of a module.
struct EverywhereRun {
  cgen::Module module;
  std::string kernel = "k";
  runtime::LaunchShape shape;
  std::vector<Argument> arguments;
  /// The dialects that cannot express the kernel, and the code of their refusal.
  std::map<cgen::Dialect, std::string> refusals = {};
};

/// Refused by the host's dialects, which have no barriers and no shared memory.
[[nodiscard]] std::map<cgen::Dialect, std::string> host_has_no_barriers();

/// Checks the module, prints it in each dialect, compiles and runs it:
///
/// - CUDA: by NVRTC for sm_90 where there is NVRTC; on the CPU (cuda_on_cpu); on each GPU;
/// - OpenCL C: on each OpenCL device that has the extensions which the text asks for;
/// - C and C++: on the host, all warnings being errors.
///
/// Adds a test failure with the generated text wherever something is refused or a number differs.
/// REQUIRE_GPU=1 makes the lack of a GPU a failure.
void run_everywhere(const EverywhereRun& run);

}  // namespace rtcg::testing
