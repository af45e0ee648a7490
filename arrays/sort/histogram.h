#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "rtcg/arrays/lazy/expression.h"

// Counts by value. Counts are exact, and sums of weights have the same bits each time: those of
// floating types are sorted by bin first. `is_fast` adds them up by atomic functions instead, in
// any order, so that their last bits may differ from run to run.

namespace rtcg::arrays {

struct BincountOptions {
  /// How many numbers are counted, from 0 on; other numbers are not counted. By default the
  /// greatest and one more, for which the host waits.
  std::optional<std::int64_t> length{};
  /// Added up instead of ones; of the shape of the values.
  std::optional<AnyArray> weights{};
  /// Adds weights of floating types in any order, without sorting them.
  bool is_fast = false;
};
/// How often each number occurs, as NumPy's `bincount`.
///
/// @returns  i64; of weights f64, or their own type if that is f32
/// @throws InvalidInput  arrays.histogram.dtype: values that are no integers, or weights that are
///         complex or short vectors; arrays.histogram.shape: weights of another shape;
///         arrays.histogram.bins: a negative length
/// @cost   two launches on CUDA devices up to 8192 bins, otherwise three; asynchronous if a length
///         is given. Weights of floating types: as group_by_key(), and one or two launches
[[nodiscard]] AnyArray bincount(const Expression& values, const BincountOptions& options = {});

struct HistogramOptions {
  std::int64_t bins = 10;
  /// The lowest and the highest edge; by default the least and the greatest value.
  std::optional<std::pair<double, double>> range{};
  std::optional<AnyArray> weights{};  ///< as of bincount()
  bool is_fast = false;               ///< as of bincount()
};
struct Histogram {
  AnyArray counts;  ///< [bins], of the types of bincount()
  AnyArray edges;   ///< [bins + 1]; f64 unless they were given
};
/// How many values are in each of some bins of equal width, as NumPy's `histogram`: a bin has its
/// lower edge and not its upper one, but the last has both. Values outside, and NaNs, are not
/// counted. Where the least or the greatest value is not finite, nothing is.
///
/// @throws InvalidInput  arrays.histogram.dtype: complex numbers or short vectors;
///         arrays.histogram.bins: fewer than one; arrays.histogram.range: it is not finite, or ends
///         before it begins; arrays.histogram.shape
/// @cost   asynchronous: three launches, two more for the least and the greatest value; with
///         weights as bincount()
[[nodiscard]] Histogram histogram(const Expression& values, const HistogramOptions& options = {});
/// The same for any bins. @param edges  increasing
///
/// @shape edges  [bins + 1]
/// @throws  as histogram; as searchsorted
/// @cost   asynchronous: five launches
[[nodiscard]] Histogram histogram(const Expression& values, const AnyArray& edges,
                                  const std::optional<AnyArray>& weights = {},
                                  bool is_fast = false);

struct Histogram2d {
  AnyArray counts;  ///< [bins along x, bins along y]
  AnyArray x_edges;
  AnyArray y_edges;
};
/// How many points are in each of the rectangles between edges. @param edges  increasing
///
/// @throws  as histogram
/// @cost   asynchronous: seven launches
[[nodiscard]] Histogram2d histogram2d(const Expression& x, const Expression& y,
                                      const AnyArray& x_edges, const AnyArray& y_edges,
                                      const std::optional<AnyArray>& weights = {},
                                      bool is_fast = false);

}  // namespace rtcg::arrays
