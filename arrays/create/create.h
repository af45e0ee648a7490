#pragma once

#include <concepts>
#include <initializer_list>
#include <span>
#include <vector>

#include "rtcg/arrays/core/array.h"
#include "rtcg/arrays/lazy/evaluate.h"

// New arrays, and arrays made of others. Each function needs at most one launch for each array.

namespace rtcg::arrays {

/// Elements without values.
[[nodiscard]] AnyArray empty(DType dtype, const Extents& shape,
                             runtime::StreamRef stream = current_stream(), Order order = Order::c);
/// Every element `value`, converted.
[[nodiscard]] AnyArray full(DType dtype, const Extents& shape, const Expression& value,
                            runtime::StreamRef stream = current_stream(), Order order = Order::c);
[[nodiscard]] AnyArray zeros(DType dtype, const Extents& shape,
                             runtime::StreamRef stream = current_stream(), Order order = Order::c);
[[nodiscard]] AnyArray ones(DType dtype, const Extents& shape,
                            runtime::StreamRef stream = current_stream(), Order order = Order::c);
/// begin, begin + step, ... up to but without end.
///
/// @throws InvalidInput  arrays.arange.zero_step; arrays.arange.endless: more numbers than arrays
/// hold
[[nodiscard]] AnyArray arange(DType dtype, double begin, double end, double step = 1,
                              runtime::StreamRef stream = current_stream());
namespace detail {
[[nodiscard]] AnyArray arange_of_integers(DType dtype, std::int64_t begin, std::int64_t end,
                                          std::int64_t step, runtime::StreamRef stream);
}  // namespace detail
/// The same of integers, which stay exact beyond 2^53.
template <std::integral Begin, std::integral End, std::integral Step = int>
[[nodiscard]] AnyArray arange(DType dtype, Begin begin, End end, Step step = 1,
                              runtime::StreamRef stream = current_stream()) {
  return detail::arange_of_integers(dtype, static_cast<std::int64_t>(begin),
                                    static_cast<std::int64_t>(end), static_cast<std::int64_t>(step),
                                    stream);
}
/// `count` numbers from begin to end, at equal distances.
[[nodiscard]] AnyArray linspace(DType dtype, double begin, double end, std::int64_t count,
                                bool with_end = true, runtime::StreamRef stream = current_stream());
// Of another array's shape, type, device and order: F order if it is contiguous in F order only.
[[nodiscard]] AnyArray empty_like(const AnyArray& array);
[[nodiscard]] AnyArray zeros_like(const AnyArray& array);
[[nodiscard]] AnyArray ones_like(const AnyArray& array);
/// @throws InvalidInput  arrays.assign.narrowing
[[nodiscard]] AnyArray full_like(const AnyArray& array, const Expression& value);
template <Element T>
[[nodiscard]] Array<T> empty_like(const Array<T>& array) {
  return Array<T>(empty_like(array.any()));
}
template <Element T>
[[nodiscard]] Array<T> zeros_like(const Array<T>& array) {
  return Array<T>(zeros_like(array.any()));
}
template <Element T>
[[nodiscard]] Array<T> ones_like(const Array<T>& array) {
  return Array<T>(ones_like(array.any()));
}
template <Element T>
[[nodiscard]] Array<T> full_like(const Array<T>& array, const Expression& value) {
  return Array<T>(full_like(array.any(), value));
}

template <Element T>
[[nodiscard]] Array<T> empty(const Extents& shape, runtime::StreamRef stream = current_stream(),
                             Order order = Order::c) {
  return Array<T>(empty(dtype_of_type<T>, shape, stream, order));
}
/// `empty<float>(2, 3)`.
template <Element T, std::integral... Lengths>
requires(sizeof...(Lengths) > 0) [[nodiscard]] Array<T> empty(Lengths... lengths) {
  return empty<T>(Extents{static_cast<std::int64_t>(lengths)...});
}
template <Element T>
[[nodiscard]] Array<T> full(const Extents& shape, const std::type_identity_t<T>& value,
                            runtime::StreamRef stream = current_stream(), Order order = Order::c) {
  return Array<T>(full(dtype_of_type<T>, shape, value, stream, order));
}
template <Element T>
[[nodiscard]] Array<T> zeros(const Extents& shape, runtime::StreamRef stream = current_stream(),
                             Order order = Order::c) {
  return Array<T>(zeros(dtype_of_type<T>, shape, stream, order));
}
/// `zeros<float>(2, 3)`.
template <Element T, std::integral... Lengths>
requires(sizeof...(Lengths) > 0) [[nodiscard]] Array<T> zeros(Lengths... lengths) {
  return zeros<T>(Extents{static_cast<std::int64_t>(lengths)...});
}
template <Element T>
[[nodiscard]] Array<T> ones(const Extents& shape, runtime::StreamRef stream = current_stream(),
                            Order order = Order::c) {
  return Array<T>(ones(dtype_of_type<T>, shape, stream, order));
}
/// `ones<float>(2, 3)`.
template <Element T, std::integral... Lengths>
requires(sizeof...(Lengths) > 0) [[nodiscard]] Array<T> ones(Lengths... lengths) {
  return ones<T>(Extents{static_cast<std::int64_t>(lengths)...});
}
template <Element T>
[[nodiscard]] Array<T> arange(double begin, double end, double step = 1,
                              runtime::StreamRef stream = current_stream()) {
  return Array<T>(arange(dtype_of_type<T>, begin, end, step, stream));
}
template <Element T, std::integral Begin, std::integral End, std::integral Step = int>
[[nodiscard]] Array<T> arange(Begin begin, End end, Step step = 1,
                              runtime::StreamRef stream = current_stream()) {
  return Array<T>(arange(dtype_of_type<T>, begin, end, step, stream));
}
/// 0, 1, ... up to but without `end`.
template <Element T>
[[nodiscard]] Array<T> arange(std::int64_t end, runtime::StreamRef stream = current_stream()) {
  return arange<T>(0, end, 1, stream);
}
template <Element T>
[[nodiscard]] Array<T> linspace(double begin, double end, std::int64_t count, bool with_end = true,
                                runtime::StreamRef stream = current_stream()) {
  return Array<T>(linspace(dtype_of_type<T>, begin, end, count, with_end, stream));
}

/// One after the other along an axis that they have.
///
/// @throws InvalidInput  arrays.concatenate.nothing, arrays.concatenate.shape_mismatch
[[nodiscard]] AnyArray concatenate(const std::vector<AnyArray>& arrays, std::int64_t axis = 0);
template <Element T>
[[nodiscard]] Array<T> concatenate(const std::vector<Array<T>>& arrays, std::int64_t axis = 0) {
  return Array<T>(concatenate(std::vector<AnyArray>(arrays.begin(), arrays.end()), axis));
}
template <Element T>
[[nodiscard]] Array<T> concatenate(std::initializer_list<Array<T>> arrays, std::int64_t axis = 0) {
  return Array<T>(concatenate(std::vector<AnyArray>(arrays.begin(), arrays.end()), axis));
}
/// Along a new axis. @throws InvalidInput  as concatenate
[[nodiscard]] AnyArray stack(const std::vector<AnyArray>& arrays, std::int64_t axis = 0);
template <Element T>
[[nodiscard]] Array<T> stack(const std::vector<Array<T>>& arrays, std::int64_t axis = 0) {
  return Array<T>(stack(std::vector<AnyArray>(arrays.begin(), arrays.end()), axis));
}
template <Element T>
[[nodiscard]] Array<T> stack(std::initializer_list<Array<T>> arrays, std::int64_t axis = 0) {
  return Array<T>(stack(std::vector<AnyArray>(arrays.begin(), arrays.end()), axis));
}
/// Views of `parts` equal parts. @throws InvalidInput  arrays.split.unequal_parts
[[nodiscard]] std::vector<AnyArray> split(const AnyArray& array, std::int64_t parts,
                                          std::int64_t axis = 0);
/// Repeated as often along each axis; fewer numbers than axes are for the last ones.
[[nodiscard]] AnyArray tile(const AnyArray& array, const Extents& repetitions);
/// Rotates along an axis: elements beyond the end reappear at the beginning.
[[nodiscard]] AnyArray roll(const AnyArray& array, std::int64_t distance, std::int64_t axis = 0);
/// With that many elements of `value` before and after, for each axis.
///
/// @throws InvalidInput  arrays.pad.wrong_count, arrays.pad.negative_count, arrays.assign.narrowing
[[nodiscard]] AnyArray pad(const AnyArray& array, const Extents& before, const Extents& after,
                           const Expression& value = 0);

template <Element T>
[[nodiscard]] std::vector<Array<T>> split(const Array<T>& array, std::int64_t parts,
                                          std::int64_t axis = 0) {
  const std::vector<AnyArray> views = split(array.any(), parts, axis);
  return {views.begin(), views.end()};
}
template <Element T>
[[nodiscard]] Array<T> tile(const Array<T>& array, const Extents& repetitions) {
  return Array<T>(tile(array.any(), repetitions));
}
template <Element T>
[[nodiscard]] Array<T> roll(const Array<T>& array, std::int64_t distance, std::int64_t axis = 0) {
  return Array<T>(roll(array.any(), distance, axis));
}
template <Element T>
[[nodiscard]] Array<T> pad(const Array<T>& array, const Extents& before, const Extents& after,
                           const Expression& value = 0) {
  return Array<T>(pad(array.any(), before, after, value));
}

}  // namespace rtcg::arrays
