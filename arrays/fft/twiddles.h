#pragma once
// Internal header: it is not installed.

#include <complex>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "rtcg/arrays/core/dtype.h"
#include "rtcg/runtime/device/stream.h"

// Tables of roots of unity in the memory of devices.

namespace rtcg::arrays::detail {

/// exp(-2 pi i k / n), each part rounded once.
[[nodiscard]] std::complex<double> root_of_unity(std::int64_t k, std::int64_t n);

/// The factors of the passes of a block with these radices, pass by pass from the second on: for
/// q = 1, ..., radix - 1 and lane = 0, ..., stride - 1 the root lane * q of order radix * stride,
/// where `stride` is the product of the radices before.
[[nodiscard]] std::vector<std::complex<double>> pass_factors(const std::vector<int>& radices);

/// exp(-2 pi i k / n) for all k < n, as product of a fine and a coarse root: k & (2^bits - 1) and
/// k >> bits number them.
struct RootBits {
  int fine = 0;
  std::int64_t fine_count = 1;
  std::int64_t coarse_count = 1;
};
[[nodiscard]] RootBits root_bits(std::int64_t n);
[[nodiscard]] std::vector<std::complex<double>> fine_roots(std::int64_t n);
[[nodiscard]] std::vector<std::complex<double>> coarse_roots(std::int64_t n);

/// A table in the memory of a device; keep it until the kernels that read it are launched.
struct DeviceTable {
  runtime::DeviceAddress address = 0;
  std::shared_ptr<const void> owner{};
};

/// A table on the stream's device, rounded to `dtype` (c64 or c128) and kept for later calls with
/// the same name. Work of any stream may read it without waiting; graphs keep it.
///
/// Tables of a device take 256 MiB at most, or as much as one needs: those that were used longest
/// ago go first.
///
/// @cost  `make`, a copy to the device and waiting for it, at the first call
[[nodiscard]] DeviceTable table_on(runtime::StreamRef stream, DType dtype, const std::string& name,
                                   const std::function<std::vector<std::complex<double>>()>& make);

}  // namespace rtcg::arrays::detail
