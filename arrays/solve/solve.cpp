#include "rtcg/arrays/solve/solve.h"

#include <cmath>

#include <fmt/format.h>

#include "rtcg/arrays/lazy/evaluate.h"
#include "rtcg/arrays/solve/vector_loops.h"

namespace rtcg::arrays {

Preconditioner Preconditioner::of_diagonal(AnyArray inverse_diagonal) {
  Preconditioner result;
  result.diagonal_ = inverse_diagonal.contiguous();
  return result;
}

namespace detail {
namespace {

void require_vector(const char* what, const LinearOperator& a, const AnyArray& vector) {
  if (vector.axes() != 1 || vector.count() != a.count()) {
    throw InvalidInput("arrays.solve.shape_mismatch",
                       fmt::format("the operator works on vectors of {} elements, {} has the "
                                   "shape {}",
                                   a.count(), what, to_string(vector.shape())));
  }
  if (vector.dtype() != a.dtype()) {
    throw InvalidInput("arrays.solve.dtype",
                       fmt::format("the operator works on vectors of {}, {} has elements of {}: "
                                   "convert it by as_type()",
                                   name(a.dtype()), what, name(vector.dtype())));
  }
}

void require(bool is_right, const std::string& message) {
  if (!is_right) {
    throw InvalidInput("arrays.solve.bad_options", message);
  }
}

}  // namespace

void check_system(const LinearOperator& a, const AnyArray& b, const SolveOptions& options) {
  require_vector("the right-hand side", a, b);
  if (options.start) {
    require_vector("the first solution", a, *options.start);
  }
  if (options.preconditioner.diagonal()) {
    require_vector("the preconditioner's diagonal", a, *options.preconditioner.diagonal());
  }
  if (options.preconditioner.inverse()) {
    const LinearOperator& inverse = *options.preconditioner.inverse();
    if (inverse.count() != a.count() || inverse.dtype() != a.dtype()) {
      throw InvalidInput(
          "arrays.solve.shape_mismatch",
          fmt::format("the operator works on {} elements of {}, the preconditioner "
                      "on {} of {}",
                      a.count(), name(a.dtype()), inverse.count(), name(inverse.dtype())));
    }
  }
  require(options.tolerance > 0 && std::isfinite(options.tolerance),
          fmt::format("the relative residual {} cannot be reached: it must be above 0",
                      options.tolerance));
  require(options.max_iterations >= 0,
          fmt::format("{} iterations: the number must be 0 or more", options.max_iterations));
  require(options.check_every >= 1 && options.check_every <= 10000,
          fmt::format("the residual is read every {} iterations: give a number from 1 to 10000",
                      options.check_every));
}

void precondition(runtime::StreamRef stream, const Preconditioner& preconditioner,
                  const AnyArray& r, const AnyArray& z) {
  if (preconditioner.inverse()) {
    preconditioner.inverse()->apply(stream, r, z);
  } else if (preconditioner.diagonal()) {
    z.assign(*preconditioner.diagonal() * Expression(r));
  } else {
    z.assign(r);
  }
}

double true_residual(runtime::StreamRef stream, const LinearOperator& a, const AnyArray& b,
                     const AnyArray& x, const InnerProduct& product) {
  AnyArray image(a.dtype(), x.shape(), stream);
  a.apply(stream, x, image);
  image.assign(b - Expression(image));
  AnyArray square(a.dtype(), Extents{}, stream);
  if (product) {
    product(stream, image, image, square);
  } else {
    dot_into(stream, image, image, square);
  }
  return std::sqrt(square.item<double>());
}

void check_finite(double value, std::int64_t iterations) {
  if (!std::isfinite(value)) {
    throw InvalidInput("arrays.solve.not_finite",
                       fmt::format("the residual is not finite after {} iterations: check the "
                                   "right-hand side and the operator",
                                   iterations));
  }
}

}  // namespace detail
}  // namespace rtcg::arrays
