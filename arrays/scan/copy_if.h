#pragma once

#include <cstdint>

#include "rtcg/arrays/core/array.h"

namespace rtcg::arrays {

/// Elements whose number is known on the device only.
struct CountedElements {
  /// As long as there could be elements. Those from the number on have no defined value.
  AnyArray elements;
  Array<std::int64_t> count;  ///< of no axes

  /// The elements that there are, as a view. @cost  waits for their number
  [[nodiscard]] AnyArray trimmed() const { return elements(Slice{0, count.item()}); }
};

/// The elements whose mask is not 0, in C order, as select() has them, without waiting for their
/// number.
///
///     const CountedElements found = copy_if(x, x > 0);
///     const Array<float> waited(found.trimmed());
///
/// @shape mask  that of the array
/// @throws InvalidInput  arrays.select.shape_mismatch
/// @cost   asynchronous, and can be captured: on CUDA devices one launch for masks with one axis,
///         otherwise a launch for the mask and one that selects (three if several blocks of an
///         OpenCL device or of the host share it). Elements of other than 1, 2, 4 or 8 bytes take
///         one more
[[nodiscard]] CountedElements copy_if(const AnyArray& array, const Expression& mask);
/// The elements whose mask is 0. @throws, @cost  as copy_if
[[nodiscard]] CountedElements remove_if(const AnyArray& array, const Expression& mask);
/// Places in C order where the mask is not 0, as i64: flat_nonzero() without the wait.
///
/// @cost  as copy_if
[[nodiscard]] CountedElements find_if(const Expression& mask);

/// Elements in two arrays, each in its order; both are as long as the original.
struct PartitionedElements {
  AnyArray selected;
  AnyArray rejected;
  Array<std::int64_t> count;  ///< of those that are selected, of no axes
};
/// The elements whose mask is not 0, and the others.
///
/// @throws  as copy_if
/// @cost   as copy_if
[[nodiscard]] PartitionedElements partition(const AnyArray& array, const Expression& mask);

}  // namespace rtcg::arrays
