#pragma once

#include <optional>

#include "rtcg/arrays/array.h"
#include "rtcg/loopy/slice/slicing.h"

namespace rtcg::arrays {

struct MatmulOptions {
  /// How the kernel is cut, e.g. as a tuner found it; without one, as the model of slicings likes
  /// best for these sizes. Its inames are i (rows), j (columns) and k. Of f32 and f64 only.
  std::optional<loopy::Slicing> slicing{};
};

/// The matrix product of the last two axes; axes before them broadcast, and an array of one axis is
/// a row on the left and a column on the right, whose axis goes again.
///
/// f32 and f64 run a kernel of the loop engine, made for the sizes at first use; other types, whose
/// products are summed up as sum() does, run the reduction of their broadcast product.
///
/// @throws InvalidInput  arrays.matmul.shape_mismatch; as apply() of the slicing
/// @cost   one launch for each matrix; copies what is not in C order
[[nodiscard]] AnyArray matmul(const AnyArray& a, const AnyArray& b,
                              const MatmulOptions& options = {});

}  // namespace rtcg::arrays
