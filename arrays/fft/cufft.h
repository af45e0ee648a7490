#pragma once
// Internal header: it is not installed.

#include <cstddef>
#include <string>

#include "rtcg/arrays/core/array.h"
#include "rtcg/arrays/fft/fft_plan.h"

// Fourier transforms by cuFFT, which is opened at run time.

namespace rtcg::arrays::detail {

/// The functions of cuFFT that transforms need; 0 is success.
struct CufftApi {
  using Plan = int;
  int (*create)(Plan* plan) = nullptr;
  int (*destroy)(Plan plan) = nullptr;
  int (*set_auto_allocation)(Plan plan, int is_on) = nullptr;
  int (*make_plan)(Plan plan, int rank, long long* lengths, long long* in_lengths,
                   long long in_stride, long long in_distance, long long* out_lengths,
                   long long out_stride, long long out_distance, int type, long long batch,
                   std::size_t* work_bytes) = nullptr;
  int (*set_stream)(Plan plan, void* stream) = nullptr;
  int (*set_work_area)(Plan plan, void* memory) = nullptr;
  int (*run_c2c)(Plan plan, void* in, void* out, int direction) = nullptr;
  int (*run_z2z)(Plan plan, void* in, void* out, int direction) = nullptr;
  int (*run_r2c)(Plan plan, void* in, void* out) = nullptr;
  int (*run_d2z)(Plan plan, void* in, void* out) = nullptr;
  int (*run_c2r)(Plan plan, void* in, void* out) = nullptr;
  int (*run_z2d)(Plan plan, void* in, void* out) = nullptr;
  std::string library{};  ///< the name it was opened by

  /// cuFFT 12 or 11, of CUDA 13 and 12, or the library of RTCG_LIBCUFFT; null if it is not found.
  [[nodiscard]] static const CufftApi* find();
  /// Why find() gives null.
  [[nodiscard]] static const std::string& why_none();
};

/// What one plan of cuFFT transforms.
struct CufftForm {
  enum class Kind { complex, real_to_complex, complex_to_real };
  Kind kind = Kind::complex;
  bool is_double = false;
  int rank = 1;                      ///< axes that are transformed at once, 1 to 3
  long long lengths[3] = {1, 1, 1};  ///< of the real side
  long long stride = 1;              ///< between elements, of both sides
  long long in_distance = 1;         ///< between transforms
  long long out_distance = 1;
  long long batch = 1;
  friend auto operator<=>(const CufftForm&, const CufftForm&) = default;
};

/// Complex numbers along the middle axis, without a factor.
///
/// @param in, out  of c64 or c128 in C order; may be the same
/// @throws DeviceError  arrays.fft.call_failed
/// @cost   asynchronous. One call if the outer or the inner length is 1, otherwise one for each
///         outer index. Plans of a form are made at its first use, which waits; 64 are kept
void transform_with(const CufftApi& api, runtime::StreamRef stream, const AnyArray& in,
                    const AnyArray& out, const FftExtents& extents, bool is_inverse);
/// The last `rank` axes (2 or 3) in one call.
void transform_last_axes_with(const CufftApi& api, runtime::StreamRef stream, const AnyArray& in,
                              const AnyArray& out, int rank, bool is_inverse);
/// Rows of n real numbers from and to rows of n/2 + 1 complex ones, without a factor. The inverse
/// may change what it reads.
void transform_real_with(const CufftApi& api, runtime::StreamRef stream, const AnyArray& in,
                         const AnyArray& out, std::int64_t length, bool is_inverse);

}  // namespace rtcg::arrays::detail
