#pragma once
// Internal header: it is not installed.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "rtcg/loopy/interpret/interpret.h"

// How far results may be from those of a reference, where no interpreter bounds their errors.

namespace rtcg::loopy {

/// How a kernel adds up.
struct SumShape {
  /// Numbers in the longest sum of a result, of a reduction or of updates of one element.
  double length = 1;
  /// Partial sums that the reference makes of them: 1 where it adds one number after the other.
  double parts = 1;
};

/// SumShape::length. Elements that the data decide count as updated equally often.
/// @param kernel  typed, with rules expanded
[[nodiscard]] double longest_sum(const Kernel& kernel, const IntegerValues& parameters);

/// The arrays, each floating-point number changed by at most half the root of the length of sums in
/// units of its last place, and by two at least; zeros, infinite values and NaNs stay. The changes
/// of a sum's terms then add up to what its roundings may.
[[nodiscard]] ArgumentData with_other_last_places(const ArgumentData& arrays, double length,
                                                  std::uint64_t seed);
/// One number, changed alike.
[[nodiscard]] double with_other_last_places(double value, cgen::ScalarKind kind, double length,
                                            std::uint64_t seed);

/// The kernel with f64 in place of all reals, or with f32 if all are f64. Nothing where not all
/// that computes them can be read: for C text, functions of the user, structs, vectors, images.
/// @param kernel  typed, with rules expanded
[[nodiscard]] std::optional<Kernel> with_other_reals(const Kernel& kernel);
/// The arrays as that kernel has them.
[[nodiscard]] ArgumentData with_reals_of(const Kernel& kernel, const ArgumentData& arrays);

/// Bounds for the results of a kernel, from more runs of a reference.
///
/// With reals of another precision the difference is the error of the reference, with inputs that
/// differ in their last places it is what errors of the inputs' size become. So the bound knows the
/// type, the length and the condition of each result.
class MeasuredErrors {
 public:
  MeasuredErrors(const Kernel& kernel, SumShape sums);

  /// Takes a run with_other_last_places(). @param right  the results of the reference
  void add_repeat(const ArgumentData& right, const ArgumentData& repeat);
  /// Takes the run with_other_reals(). Where it is the better one, `right` gets its values.
  void add_other_reals(ArgumentData& right, const ArgumentData& other);

  /// How far each number of an array may be from the reference's. With E the reference's error and
  /// R the distance of repeats (the largest of the number's own, of what nine of ten numbers of its
  /// size have, and of what any of them has up to 16 u times the root of the mean square), L the
  /// length of sums, P the parts of the reference's, u twice the error of rounding to nearest in
  /// the array's type, or in a coarser one that values are rounded to on the way:
  ///     4 (max(1, sqrt(L) / (1 + sqrt(L)/P)) E + R) + (16 + sqrt(L)) u |right|
  /// Where nothing was measured, or no run differed: (16 + 2 sqrt(L)) u (|right| + root of the mean
  /// square). 0 for integers.
  [[nodiscard]] std::vector<float> allowed(const std::string& array, const ArrayData& right) const;

 private:
  using Distances = std::map<std::string, std::vector<float>>;

  SumShape sums_;
  double coarsest_unit_ = 0;  ///< of values on the way
  Distances errors_{};        ///< none where no run differed
  Distances repeats_{};       ///< the largest
};

/// The largest deviation from the reference, in bounds of `errors`.
[[nodiscard]] Mismatch find_mismatch(const ArgumentData& found, const ArgumentData& right,
                                     const MeasuredErrors& errors);

}  // namespace rtcg::loopy
