#pragma once

#include "rtcg/arrays/lazy/functions.h"

// Convolutions and correlations of two arrays of one axis, as NumPy's.

namespace rtcg::arrays {

/// Which results are wanted of the n + m - 1 that there are: all; the max(n, m) in the middle; or
/// those in which the shorter array is inside of the longer one.
enum class ConvolveMode { full, same, valid };

enum class ConvolveWay {
  /// By sums if the shorter array has at most 32 elements, or for integers and booleans; otherwise
  /// by Fourier transforms.
  automatic,
  direct,  ///< by sums of products, as many as the product of both lengths
  fft,     ///< by Fourier transforms; integers are rounded from f64
};

struct ConvolveOptions {
  ConvolveMode mode = ConvolveMode::full;
  ConvolveWay way = ConvolveWay::automatic;
};

/// Sums of a[k] v[i - k] over k.
///
/// @returns an array of the type to which both are promoted
/// @throws InvalidInput  arrays.convolve.shape: not one axis each; arrays.convolve.empty: one is
///         empty; arrays.convolve.dtype: short vectors
/// @cost   asynchronous. By sums: two launches. By transforms: as three of the length of all
///         results, with three launches more
[[nodiscard]] AnyArray convolve(const Expression& a, const Expression& v,
                                const ConvolveOptions& options = {});
/// Sums of a[k + i] conj(v[k]) over k; `same` and `valid` count the results of `full` as NumPy
/// does. NumPy's default is `valid`.
[[nodiscard]] AnyArray correlate(const Expression& a, const Expression& v,
                                 const ConvolveOptions& options = {.mode = ConvolveMode::valid});

}  // namespace rtcg::arrays
