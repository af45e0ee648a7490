#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rtcg/dg/flux/flux_expr.h"

// Vectors of the flux language. A vector may have named axes of space. One definition with cross
// products then serves in three dimensions and in reductions to fewer:
//
//   const FluxVector w = fields(3);
//   const FluxVector e = w.slice(0, 1).on_axes("z"), h = w.slice(1, 2);   // the TM mode
//   const FluxVector n = normal(2);
//   const FluxVector flux = 0.5 * cross(n, jump(h) - alpha * cross(n, jump(e)));   // one component

namespace rtcg::dg {

/// Some scalars in order. Two or three of them have the axes xy or xyz unless on_axes sets others.
class FluxVector {
 public:
  FluxVector() = default;
  explicit FluxVector(std::vector<FluxExpr> components);
  FluxVector(std::initializer_list<FluxExpr> components)
      : FluxVector(std::vector<FluxExpr>(components)) {}
  /// @param axes  one of `xyz` a component, in ascending order
  FluxVector(std::vector<FluxExpr> components, std::string axes);

  [[nodiscard]] std::size_t count() const noexcept { return components_.size(); }
  [[nodiscard]] const std::vector<FluxExpr>& components() const noexcept { return components_; }
  /// Empty when the components belong to no axes.
  [[nodiscard]] const std::string& axes() const noexcept { return axes_; }

  /// @throws InvalidInput  dg.flux_vector.bad_index
  [[nodiscard]] const FluxExpr& operator[](int index) const;
  /// Components [first, first + count).
  ///
  /// @throws InvalidInput  dg.flux_vector.bad_slice
  [[nodiscard]] FluxVector slice(int first, int count) const;
  /// The same components on the axes named, such as `z` or `xy`.
  ///
  /// @throws InvalidInput  dg.flux_vector.bad_axes: not one axis a component, ascending
  [[nodiscard]] FluxVector on_axes(std::string axes) const;

 private:
  std::vector<FluxExpr> components_;
  std::string axes_;
};

/// The components of a state, numbered from `first`; they print as `name[0]`, `name[1]`, ....
[[nodiscard]] FluxVector fields(int count, const std::string& name = "w", int first = 0);
/// The normal that points out of the interior side; 1 to 3 axes.
///
/// @throws InvalidInput  dg.normal.bad_dimension
[[nodiscard]] FluxVector normal(int dimension);
/// The point in space.
///
/// @throws InvalidInput  dg.normal.bad_dimension
[[nodiscard]] FluxVector coordinates(int dimension);
[[nodiscard]] FluxVector boundary_values(const std::string& name, int count);

[[nodiscard]] FluxVector interior(const FluxVector& value);
[[nodiscard]] FluxVector exterior(const FluxVector& value);
[[nodiscard]] FluxVector jump(const FluxVector& value);
[[nodiscard]] FluxVector average(const FluxVector& value);
[[nodiscard]] FluxVector flip(const FluxVector& flux);

/// @throws InvalidInput  dg.flux_vector.shape_mismatch: other counts, or other axes
[[nodiscard]] FluxVector operator+(const FluxVector& left, const FluxVector& right);
[[nodiscard]] FluxVector operator-(const FluxVector& left, const FluxVector& right);
[[nodiscard]] FluxVector operator*(const FluxExpr& factor, const FluxVector& vector);
[[nodiscard]] FluxVector operator*(const FluxVector& vector, const FluxExpr& factor);
[[nodiscard]] FluxVector operator/(const FluxVector& vector, const FluxExpr& divisor);
[[nodiscard]] FluxVector operator-(const FluxVector& vector);
[[nodiscard]] FluxVector if_positive(const FluxExpr& condition, const FluxVector& then_value,
                                     const FluxVector& else_value);
/// The components of all, one after the other; on no axes.
[[nodiscard]] FluxVector concatenate(const std::vector<FluxVector>& parts);

/// The inner product; components on axes that only one of the two has count as zero.
///
/// @throws InvalidInput  dg.flux_vector.shape_mismatch
[[nodiscard]] FluxExpr dot(const FluxVector& left, const FluxVector& right);
/// Euclidean length.
[[nodiscard]] FluxExpr norm(const FluxVector& vector);
/// The cross product, components on axes that an operand lacks being zero. The result has the axes
/// where it can be other than zero: of `xy` and `xy` on `z`, of `xy` and `z` on `xy`.
///
/// @throws InvalidInput  dg.cross.no_axes: an operand has no axes
[[nodiscard]] FluxVector cross(const FluxVector& left, const FluxVector& right);

/// `[a, b, c]`.
[[nodiscard]] std::string to_string(const FluxVector& vector);

}  // namespace rtcg::dg
