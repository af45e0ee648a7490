#pragma once

#include <cstdint>

#include "rtcg/arrays/core/array.h"

namespace rtcg::arrays {

/// Elements whose number is known on the device only.
struct CountedElements {
  /// As long as there could be elements. Those from the number on have no defined value.
  AnyArray elements;
  Array<std::int64_t> count;  ///< of no axes
};

/// The elements whose mask is not 0, in C order, as select() has them, without waiting for their
/// number.
///
///     const CountedElements found = copy_if(x, x > 0);
///     const Array<float> waited = found.elements(Slice{0, found.count.item()});
///
/// @shape mask  that of the array
/// @throws InvalidInput  arrays.select.shape_mismatch; arrays.expression.dtype: complex elements or
///         short vectors
/// @cost   asynchronous: a launch each for the mask, for its values, for their scan (three of them
/// if
///         several blocks of an OpenCL device share it), and for the copy
[[nodiscard]] CountedElements copy_if(const AnyArray& array, const Expression& mask);

}  // namespace rtcg::arrays
