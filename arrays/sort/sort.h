#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "rtcg/arrays/lazy/expression.h"

// Sorting. All sorts are stable, and give the same on every device. Keys are booleans, integers and
// floating-point numbers of every size; NaNs come last, also in descending order, and -0 equals 0.

namespace rtcg::arrays {

struct SortOptions {
  /// The axis along which elements are sorted; negative numbers count from the last.
  std::int64_t axis = -1;
  bool is_descending = false;
  /// Only these bits are compared, from the lowest bit 0 on: of integers, whose other bits are
  /// known to be equal, this saves passes. The sign is a key's highest bit. `end_bit` is the bit
  /// after the last; by default all bits are compared.
  int begin_bit = 0;
  std::optional<int> end_bit{};
};

/// The elements in their order: a new array in C order.
///
/// @throws InvalidInput  arrays.layout.bad_axis; arrays.sort.dtype: complex numbers or short
///         vectors; arrays.sort.bits: a range of bits that the type does not have;
///         arrays.sort.axis: an array without axes
/// @cost   asynchronous. CUDA: one launch for rows of at most 4096 elements; else one a pass of 8
///         bits, and five. Elsewhere about three a pass. Several longer rows: as sort_by_key() of
///         all elements, twice
[[nodiscard]] AnyArray sort(const Expression& keys, const SortOptions& options = {});
/// The places along the axis at which the sorted elements were, as i64.
///
/// @throws, @cost  as sort
[[nodiscard]] AnyArray argsort(const Expression& keys, const SortOptions& options = {});

struct SortedPairs {
  AnyArray keys;
  std::vector<AnyArray> values;
};
/// The keys in their order, and the values that belong to them: any number of arrays of any
/// element types, structs included.
///
/// @shape keys    one axis
/// @shape values  the first axis as long as that of the keys; further axes stay together
/// @throws InvalidInput  arrays.sort.shape_mismatch; as sort
/// @cost   as sort. One array of 1, 2, 4 or 8 bytes an element is moved with the keys; otherwise
///         their places are, and each array takes one more launch
[[nodiscard]] SortedPairs sort_by_key(const Expression& keys, const std::vector<AnyArray>& values,
                                      const SortOptions& options = {});

/// Values in groups: group k is `values(Slice{starts[k], starts[k + 1]})`.
struct GroupedValues {
  AnyArray values;
  AnyArray starts;  ///< i64, one more than there are groups
};
/// Values by the number of their group, in their order within each.
///
/// @param keys    integers. Values of numbers below 0 or from `groups` on come last, in no group
/// @shape keys, values  as of sort_by_key
/// @throws InvalidInput  arrays.sort.groups: a negative number of groups, or keys that are no
///         integers; as sort_by_key
/// @cost   as sort_by_key, with one pass for each 8 bits of `groups`, and two launches
/// @source PyOpenCL `KeyValueSorter`
[[nodiscard]] GroupedValues group_by_key(const Expression& keys, const AnyArray& values,
                                         std::int64_t groups);

/// Each segment sorted by itself: segment s has the elements offsets[s] to offsets[s + 1] - 1.
///
/// @param offsets  integers that do not decrease, from 0 to the number of keys
/// @shape keys, offsets  one axis
/// @throws InvalidInput  arrays.sort.offsets: no integers, or several axes; as sort
/// @cost   as sort_by_key of all elements, and again by the number of their segment
[[nodiscard]] AnyArray segmented_sort(const Expression& keys, const AnyArray& offsets,
                                      const SortOptions& options = {});

/// Elements and where along the axis they were.
struct TopElements {
  AnyArray values;
  AnyArray places;  ///< i64
};
/// The k greatest elements along an axis, the greatest first, or the k smallest. Of equal ones the
/// earlier comes first. NaNs come last.
///
/// @throws InvalidInput  arrays.sort.top_k: k is negative or longer than the axis; as sort
/// @cost   as sort_by_key
[[nodiscard]] TopElements top_k(const Expression& values, std::int64_t k, bool is_greatest = true,
                                std::int64_t axis = -1);

/// The first k of the elements along an axis in their order, as `std::partial_sort` puts them.
///
/// @throws InvalidInput  arrays.sort.top_k: k is negative or longer than the axis; as sort
/// @cost   as sort
[[nodiscard]] AnyArray partial_sort(const Expression& keys, std::int64_t k,
                                    const SortOptions& options = {});

/// The value below which the part `q` of the elements along an axis are, between the two nearest
/// ones in proportion, as NumPy's `quantile`; NaN if any element is. f64 of integers, f32 of f16
/// and bf16.
///
/// @param q  between 0 and 1
/// @throws InvalidInput  arrays.sort.quantile: another q, or no elements; as sort
/// @cost   as sort, and one launch
[[nodiscard]] AnyArray quantile(const Expression& values, double q, std::int64_t axis = -1);
/// quantile(values, 0.5)
[[nodiscard]] AnyArray median(const Expression& values, std::int64_t axis = -1);

/// Two sorted arrays as one; of equal elements those of `a` come first.
///
/// @shape a, b  one axis
/// @throws InvalidInput  arrays.sort.shape_mismatch; arrays.assign.narrowing: the type of `b` does
///         not go into that of `a`
/// @cost   two launches, each with a binary search for each element
[[nodiscard]] AnyArray merge(const AnyArray& a, const AnyArray& b);

}  // namespace rtcg::arrays
