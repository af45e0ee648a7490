#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "rtcg/arrays/sort/sort.h"

// Sorting by a comparison in C, of elements and structs that have no order of their own.

namespace rtcg::cgen {
struct LaidOutStruct;
}  // namespace rtcg::cgen

namespace rtcg::arrays {

struct ComparisonOptions {
  std::int64_t axis = -1;  ///< as of SortOptions; of structs their bytes are no axis
  /// Of structs, as structs_from_host() makes them.
  std::shared_ptr<const cgen::LaidOutStruct> structure{};
  std::string preamble{};  ///< functions, types and macros of the comparison, in C
};

/// The elements in the order in which `comparison`, an expression of C, says whether `a` comes
/// before `b`; elements of which neither does keep their order.
///
///     sort_by(x, "fabs(a) < fabs(b)");
///     sort_by(particles, "a.cell < b.cell", {.structure = type});
///
/// Integers of less than 32 bits and booleans are `int` to the comparison, f16 and bf16 `float`;
/// complex numbers are structs with members re and im.
///
/// @returns  a new array in C order
/// @throws InvalidInput  arrays.sort.comparison: the text does not name `a` and `b`;
///         arrays.sort.dtype: short vectors; arrays.sort.axis, arrays.layout.bad_axis; as
///         ElementwiseKernel
/// @throws CompileFailure  the comparison is not C
/// @cost   asynchronous. One launch for runs of 16, one for each doubling of their length, and one
///         that moves the elements
[[nodiscard]] AnyArray sort_by(const AnyArray& keys, std::string_view comparison,
                               const ComparisonOptions& options = {});
/// The places along the axis at which the sorted elements were, as i64. @throws, @cost  as sort_by
[[nodiscard]] AnyArray argsort_by(const AnyArray& keys, std::string_view comparison,
                                  const ComparisonOptions& options = {});
/// As sort_by_key(), in the order of a comparison.
///
/// @shape keys    one axis, and that of the bytes of structs
/// @throws InvalidInput  arrays.sort.shape_mismatch; as sort_by
[[nodiscard]] SortedPairs sort_by_key_by(const AnyArray& keys, const std::vector<AnyArray>& values,
                                         std::string_view comparison,
                                         const ComparisonOptions& options = {});

}  // namespace rtcg::arrays
