#pragma once
// Internal header: it is not installed.

#include <cstdint>
#include <vector>

#include "rtcg/arrays/fft/fft_kernel.h"
#include "rtcg/runtime/device/device_info.h"

// Which kernels a Fourier transform takes.

namespace rtcg::arrays::detail {

/// An array of [outer, length, inner] in C order, transformed along its middle axis.
struct FftExtents {
  std::int64_t outer = 1;
  std::int64_t length = 1;
  std::int64_t inner = 1;

  [[nodiscard]] std::int64_t count() const noexcept { return outer * length * inner; }
};

/// Whether butterflies transform that length: its prime factors are at most greatest_prime_radix.
[[nodiscard]] bool has_butterflies(std::int64_t length);
/// The radices of passes whose product is `length`: as few as possible, as equal as possible, the
/// largest first.
///
/// @param length  of has_butterflies
[[nodiscard]] std::vector<int> radices_of(std::int64_t length);
/// The radices of launches whose product is `length`, each at most `most`; as above.
[[nodiscard]] std::vector<std::int64_t> launch_radices(std::int64_t length, std::int64_t most);
/// The length of transforms that convolve periodically what is `needed` long: the smallest product
/// of a power of two and 1, 3, 5, 7, 9 or 15 that is not less.
[[nodiscard]] std::int64_t convolution_length(std::int64_t needed);

struct FftLaunch {
  FftForm form;
  std::int64_t before = 1;  ///< the product of the radices of earlier launches
  std::int64_t columns = 1;
  std::int64_t read_step = 1;
  std::int64_t write_step = 1;
  std::int64_t inner = 1;
  std::int64_t blocks = 1;
};

/// The launches of a transform, in order.
///
/// @param extents  of a length of has_butterflies, more than 1
/// @param dtype    c64 or c128
[[nodiscard]] std::vector<FftLaunch> plan_fft(const FftExtents& extents, DType dtype,
                                              bool is_inverse, cgen::Dialect dialect,
                                              const runtime::DeviceInfo& device);

}  // namespace rtcg::arrays::detail
