#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace rtcg::runtime {

/// Up to three extents; those not given are 1. `Extent3{16, 16}` or just `256`.
struct Extent3 {
  std::uint64_t x = 1;
  std::uint64_t y = 1;
  std::uint64_t z = 1;

  constexpr Extent3() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): a launch of 256 threads is written as 256.
  constexpr Extent3(std::uint64_t x_, std::uint64_t y_ = 1, std::uint64_t z_ = 1)
      : x(x_), y(y_), z(z_) {}

  [[nodiscard]] constexpr std::uint64_t volume() const noexcept { return x * y * z; }
  friend constexpr bool operator==(const Extent3&, const Extent3&) = default;
};

/// How many blocks of how many threads run a kernel. A grid of no blocks launches nothing.
struct LaunchShape {
  Extent3 grid;                  ///< blocks (OpenCL: work groups)
  Extent3 block;                 ///< threads of a block (OpenCL: work items of a group)
  std::size_t shared_bytes = 0;  ///< dynamic shared memory of a block
  bool cooperative = false;  ///< all blocks at once, so that they may synchronise across the grid
};

/// `grid 4x1x1, block 256x1x1, 0 shared bytes`, for messages.
[[nodiscard]] std::string to_string(const LaunchShape& shape);

}  // namespace rtcg::runtime
