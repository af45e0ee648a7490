#pragma once

#include <complex>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <vector>

#include "rtcg/arrays/lazy/functions.h"

// Fast Fourier transforms with the names, axes, lengths and norms of NumPy's `numpy.fft`.
//
// The forward transform is X[k] = sum of x[j] exp(-2 pi i j k / n) over j. Elements of f16, bf16,
// f32 and c64 are transformed in c64, all others in c128.

namespace rtcg::arrays {

/// The factor of results: `backward` scales inverse transforms by 1/n, `forward` those that are not
/// inverse, `ortho` all by 1/sqrt(n).
enum class FftNorm { backward, ortho, forward };

/// Who transforms.
enum class FftWay {
  automatic,  ///< cuFFT on CUDA devices if it is found, otherwise generated kernels
  generated,  ///< generated kernels, on every device
  library,    ///< @throws Unsupported  arrays.fft.no_library: cuFFT is not found or cannot
};

struct FftOptions {
  /// The length of the transform: the input is cut off, or continued by zeros. By default the
  /// length of the axis; for irfft and hfft the even one, 2 (length - 1).
  std::optional<std::int64_t> n{};
  std::int64_t axis = -1;  ///< negative numbers count from the last
  FftNorm norm = FftNorm::backward;
  FftWay way = FftWay::automatic;
};

struct FftnOptions {
  /// The lengths along the axes, as of FftOptions::n; -1 is the axis' own.
  std::optional<Extents> lengths{};
  /// The axes, of which an inverse or real transform changes the last by itself; by default all, or
  /// as many of the last ones as there are lengths. One that occurs twice is transformed twice.
  std::optional<Extents> axes{};
  FftNorm norm = FftNorm::backward;
  FftWay way = FftWay::automatic;
};

/// Transforms of complex numbers along one axis, of any length; real input is converted.
///
/// @returns a new array in C order, of c64 or c128
/// @throws InvalidInput  arrays.layout.bad_axis; arrays.fft.length: a length below 1;
///         arrays.fft.dtype: short vectors; arrays.fft.axes: an array without axes
/// @throws Unsupported   arrays.fft.no_library
/// @throws DeviceError   arrays.fft.call_failed: cuFFT refuses
/// @cost   asynchronous. Input that is not a complex array in C order takes one launch more, other
///         lengths than the axis has two. Plans, tables and kernels of a length are made at its
///         first use, which waits and cannot be captured
[[nodiscard]] AnyArray fft(const Expression& a, const FftOptions& options = {});
[[nodiscard]] AnyArray ifft(const Expression& a, const FftOptions& options = {});
/// The first n/2 + 1 results of the transform of real numbers; the others are their conjugates.
///
/// @throws InvalidInput  as fft; arrays.fft.dtype: complex input
[[nodiscard]] AnyArray rfft(const Expression& a, const FftOptions& options = {});
/// The inverse of rfft: n real numbers, of f32 or f64 (NumPy gives f16 for f16). The imaginary
/// parts of the first and, of even n, the last element are ignored.
[[nodiscard]] AnyArray irfft(const Expression& a, const FftOptions& options = {});
/// irfft of the conjugate without a factor, or with the opposite one: the spectrum of a signal that
/// is given by its first half, because the other half has the conjugates.
[[nodiscard]] AnyArray hfft(const Expression& a, const FftOptions& options = {});
/// The inverse of hfft.
[[nodiscard]] AnyArray ihfft(const Expression& a, const FftOptions& options = {});

/// Transforms along several axes.
///
/// @throws InvalidInput  as fft; arrays.fft.axes: lengths and axes differ in number, or none for a
///         real transform
/// @cost   as one fft along each axis; cuFFT does up to three axes that are the last ones in one
///         call
[[nodiscard]] AnyArray fftn(const Expression& a, const FftnOptions& options = {});
[[nodiscard]] AnyArray ifftn(const Expression& a, const FftnOptions& options = {});
/// rfft along the last of the axes, then fft along the others.
[[nodiscard]] AnyArray rfftn(const Expression& a, const FftnOptions& options = {});
/// The inverse of rfftn; without lengths that of the last axis is the even one.
[[nodiscard]] AnyArray irfftn(const Expression& a, const FftnOptions& options = {});
/// The same along the last two axes by default.
[[nodiscard]] AnyArray fft2(const Expression& a, const FftnOptions& options = {});
[[nodiscard]] AnyArray ifft2(const Expression& a, const FftnOptions& options = {});
[[nodiscard]] AnyArray rfft2(const Expression& a, const FftnOptions& options = {});
[[nodiscard]] AnyArray irfft2(const Expression& a, const FftnOptions& options = {});

/// The frequencies of the results of fft in cycles per unit of the sample spacing, as f64:
/// 0, 1, ..., then the negative ones, divided by n * spacing.
///
/// @throws InvalidInput  arrays.fft.length
[[nodiscard]] Array<double> fftfreq(std::int64_t n, double spacing = 1,
                                    runtime::StreamRef stream = current_stream());
/// Those of rfft: 0, 1, ..., n/2, divided by n * spacing.
[[nodiscard]] Array<double> rfftfreq(std::int64_t n, double spacing = 1,
                                     runtime::StreamRef stream = current_stream());
/// Moves frequency 0 to the middle of the axes, by default of all; ifftshift moves it back.
///
/// @throws InvalidInput  arrays.layout.bad_axis
/// @cost   as roll() along each axis
[[nodiscard]] AnyArray fftshift(const AnyArray& a, const std::optional<Extents>& axes = {});
[[nodiscard]] AnyArray ifftshift(const AnyArray& a, const std::optional<Extents>& axes = {});

/// The library that FftWay::library uses on a device and its version, or why there is none.
[[nodiscard]] std::string describe_fft_library(runtime::Device device);

}  // namespace rtcg::arrays
