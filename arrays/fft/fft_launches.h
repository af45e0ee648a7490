#pragma once
// Internal header: it is not installed.

#include "rtcg/arrays/core/array.h"
#include "rtcg/arrays/fft/fft_plan.h"

// Fourier transforms by generated kernels, of every length and on every device.

namespace rtcg::arrays::detail {

/// Sums in[j] exp(-2 pi i j k / n) along the middle axis, or with +2 if it is the inverse, times
/// `factor`.
///
/// @param in   of c64 or c128 in C order, `extents.count()` elements
/// @param out  the same type and count, in C order; may be `in`
/// @cost   asynchronous; one launch while a block holds the length: up to 4096 of c64 and 2048 of
///         c128 along a contiguous last axis, a quarter of that along others; otherwise two or
///         three. Lengths with prime factors above 13: two transforms of about twice the length
///         and three launches. Tables and kernels of a length are made at its first use, which
///         waits
/// @source Stockham 1966; Bailey 1990, FFTs in external or hierarchical memory; Bluestein 1970
void transform_generated(runtime::StreamRef stream, const AnyArray& in, const AnyArray& out,
                         const FftExtents& extents, bool is_inverse, double factor);

}  // namespace rtcg::arrays::detail
