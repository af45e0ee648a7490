#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <type_traits>
#include <utility>

#include "rtcg/arrays/core/array.h"
#include "rtcg/arrays/sparse/sparse_matrix.h"

namespace rtcg::arrays {

/// A square linear map of vectors on a device: how many elements a vector has, of which type, and
/// `apply(stream, x, y)`, which submits y = A x to the stream. It must not wait.
template <class Map>
concept LinearMap = requires(const Map& map, runtime::StreamRef stream, const AnyArray& x) {
  { map.count() } -> std::convertible_to<std::int64_t>;
  { map.dtype() } -> std::same_as<DType>;
  map.apply(stream, x, x);
};

/// What solvers work with: any linear map, by value. Sparse matrices convert to one, and so do
/// objects of a type that is a LinearMap.
///
///     const LinearOperator twice(n, DType::f64, [](runtime::StreamRef, const AnyArray& x,
///                                                  const AnyArray& y) { y.assign(2 * x); });
///
/// A handle: copies share what they apply. Vectors are contiguous arrays of one axis; x and y have
/// no elements in common. While a solver calls it, its stream is also that of a StreamScope.
class LinearOperator {
 public:
  using Apply = std::function<void(runtime::StreamRef, const AnyArray& x, const AnyArray& y)>;
  /// Also sets the array `product`, which has no axes, to the sum of x[i]*y[i].
  using ApplyAndDot = std::function<void(runtime::StreamRef, const AnyArray& x, const AnyArray& y,
                                         const AnyArray& product)>;

  /// @param dtype  f32 or f64
  /// @throws InvalidInput  arrays.solve.dtype; arrays.solve.shape_mismatch: a negative count
  LinearOperator(std::int64_t count, DType dtype, Apply apply, ApplyAndDot apply_and_dot = {});
  // NOLINTBEGIN(google-explicit-constructor): conjugate_gradients(matrix, b)
  /// @throws InvalidInput  arrays.solve.dtype; arrays.solve.shape_mismatch: it is not square
  /// @cost   waits for the length of the longest row, which decides on kernels: convert a matrix
  ///         once for several solutions
  LinearOperator(const AnySparseMatrix& a);
  template <Element T>
  LinearOperator(const SparseMatrix<T>& a) : LinearOperator(a.any()) {}
  template <class Map>
  requires(!std::is_same_v<std::remove_cvref_t<Map>, LinearOperator> && LinearMap<Map>)
      LinearOperator(Map map)
      : LinearOperator(map.count(), map.dtype(),
                       [map](runtime::StreamRef stream, const AnyArray& x, const AnyArray& y) {
                         map.apply(stream, x, y);
                       }) {}
  // NOLINTEND(google-explicit-constructor)

  [[nodiscard]] std::int64_t count() const noexcept { return count_; }
  [[nodiscard]] DType dtype() const noexcept { return dtype_; }
  /// Whether `apply` submits the same work to the stream each time and does nothing else, so that
  /// solvers may capture iterations as a graph and repeat that. Sparse matrices are, functions are
  /// not unless repeatable() says so.
  [[nodiscard]] bool is_repeatable() const noexcept { return is_repeatable_; }
  [[nodiscard]] LinearOperator repeatable(bool is_repeatable = true) const {
    LinearOperator result = *this;
    result.is_repeatable_ = is_repeatable;
    return result;
  }
  /// y = A x.
  void apply(runtime::StreamRef stream, const AnyArray& x, const AnyArray& y) const {
    apply_(stream, x, y);
  }
  /// y = A x and product = x . y, in one launch if the operator can.
  void apply_and_dot(runtime::StreamRef stream, const AnyArray& x, const AnyArray& y,
                     const AnyArray& product) const;

 private:
  std::int64_t count_;
  DType dtype_;
  Apply apply_;
  ApplyAndDot apply_and_dot_;
  bool is_repeatable_ = false;
};

}  // namespace rtcg::arrays
