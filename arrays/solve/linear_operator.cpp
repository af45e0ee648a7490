#include "rtcg/arrays/solve/linear_operator.h"

#include <fmt/format.h>

#include "rtcg/arrays/solve/vector_loops.h"
#include "rtcg/arrays/sparse/chunked_product.h"
#include "rtcg/arrays/sparse/fused_product.h"
#include "rtcg/arrays/sparse/row_sharing.h"
#include "rtcg/cgen/support/error.h"

namespace rtcg::arrays {
namespace {

std::int64_t rows_of_square(const AnySparseMatrix& a) {
  if (a.rows() != a.columns()) {
    throw InvalidInput("arrays.solve.shape_mismatch",
                       fmt::format("a matrix of {} x {} is not square: solvers need as many rows "
                                   "as columns",
                                   a.rows(), a.columns()));
  }
  return a.rows();
}

}  // namespace

LinearOperator::LinearOperator(std::int64_t count, DType dtype, Apply apply,
                               ApplyAndDot apply_and_dot)
    : count_(count),
      dtype_(dtype),
      apply_(std::move(apply)),
      apply_and_dot_(std::move(apply_and_dot)) {
  if (dtype != DType::f32 && dtype != DType::f64) {
    throw InvalidInput(
        "arrays.solve.dtype",
        fmt::format("an operator on vectors of {}: solvers work with f32 and f64", name(dtype)));
  }
  if (count < 0) {
    throw InvalidInput("arrays.solve.shape_mismatch",
                       fmt::format("an operator on vectors of {} elements: the number has to be 0 "
                                   "or more",
                                   count));
  }
}

LinearOperator::LinearOperator(const AnySparseMatrix& a)
    : LinearOperator(rows_of_square(a), a.dtype(),
                     [a](runtime::StreamRef, const AnyArray& x, const AnyArray& y) {
                       multiply_into(a, x, y);
                     }) {
  is_repeatable_ = true;
  const AnySparseMatrix* const in_rows = detail::in_compressed_rows(a);
  if (in_rows == nullptr || a.entries() == 0 || a.way() == SparseWay::library) {
    return;
  }
  const runtime::StreamRef stream = current_stream(a.value().stream());
  if (stream.device().info().is_cpu) {
    if (detail::suits_expressions(stream, a)) {
      apply_and_dot_ = [a = *in_rows](runtime::StreamRef on, const AnyArray& x, const AnyArray& y,
                                      const AnyArray& product) {
        detail::multiply_and_dot(on, a, x, y, product);
      };
    }
  } else if (const auto shape = detail::chunk_shape(stream, *in_rows)) {
    apply_and_dot_ = [a = *in_rows, shape = *shape](runtime::StreamRef on, const AnyArray& x,
                                                    const AnyArray& y, const AnyArray& product) {
      detail::multiply_by_chunks_and_dot(on, a, x, y, product, shape);
    };
  }
}

void LinearOperator::apply_and_dot(runtime::StreamRef stream, const AnyArray& x, const AnyArray& y,
                                   const AnyArray& product) const {
  if (apply_and_dot_) {
    apply_and_dot_(stream, x, y, product);
  } else {
    apply_(stream, x, y);
    detail::dot_into(stream, x, y, product);
  }
}

}  // namespace rtcg::arrays
