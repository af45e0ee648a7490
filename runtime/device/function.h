#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <tuple>
#include <utility>

#include "rtcg/runtime/device/bind_argument.h"
#include "rtcg/runtime/device/host_data.h"
#include "rtcg/runtime/device/kernel.h"

namespace rtcg::runtime {

/// A kernel whose parameter types are known to C++. A cheap value that keeps its program loaded;
/// any thread may use it.
///
/// The parameter list was compared with the kernel's own when the Function was made
/// (Program::function), so a launch checks only what can change: the shape and the devices.
template <class... Parameters>
class Function {
 public:
  /// @throws InvalidInput  runtime.function.parameter_count, runtime.function.parameter_size,
  ///                       runtime.function.parameter_type
  explicit Function(Kernel kernel) : kernel_(std::move(kernel)) {
    const std::array<detail::ExpectedParameter, sizeof...(Parameters)> expected = {
        detail::expected_parameter<Parameters>()...};
    detail::check_parameters(*kernel_.loaded(), expected);
  }

  [[nodiscard]] const Kernel& kernel() const noexcept { return kernel_; }

  /// Runs the kernel on the stream, asynchronously. A shape without blocks runs nothing.
  ///
  ///     twice(stream, {grid, block, shared_bytes}, buffer, n);
  ///
  /// A pointer parameter takes an array, a Buffer, a BufferRef (`buffer + 1`) or a device pointer,
  /// or In, Out, InOut of host data; a scalar one any value that fits in it. An array keeps its
  /// memory until the stream has passed the launch; all other memory must live until then.
  ///
  /// @throws InvalidInput  runtime.function.value_out_of_range, runtime.function.foreign_buffer
  /// @throws               as Kernel::launch
  /// @cost   one launch and the copies of host data; does not synchronise, except where the driver
  ///         does for host data that is not pinned
  template <class... Given>
  void operator()(StreamRef stream, const LaunchShape& shape, const Given&... given) const {
    static_assert(sizeof...(Given) == sizeof...(Parameters),
                  "the kernel has another number of parameters");
    if (shape.grid.x == 0 || shape.grid.y == 0 || shape.grid.z == 0) {
      return;  // before Out copies back what no kernel wrote
    }
    const detail::LoadedKernel& loaded = *kernel_.loaded();
    // braces: bound from left to right
    std::tuple<decltype(detail::bind_argument<Parameters>(loaded, stream, given))...> bound{
        detail::bind_argument<Parameters>(loaded, stream, given)...};
    std::apply([&](auto&... arguments) { launch(loaded, stream, shape, arguments...); }, bound);
  }

 private:
  template <class... Bound>
  static void launch(const detail::LoadedKernel& loaded, StreamRef stream, const LaunchShape& shape,
                     Bound&... bound) {
    const std::array<void*, sizeof...(Bound)> values = {&bound.value...};
    constexpr std::array<std::size_t, sizeof...(Bound)> sizes_bytes = {sizeof(bound.value)...};
    detail::launch(loaded, stream, shape, {values, sizes_bytes});
    (bound.finish(stream), ...);
  }

  Kernel kernel_;
};

}  // namespace rtcg::runtime
