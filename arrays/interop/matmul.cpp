#include "rtcg/arrays/interop/matmul.h"

#include <fmt/format.h>

#include "rtcg/arrays/create/create.h"
#include "rtcg/arrays/interop/cublas.h"
#include "rtcg/arrays/interop/matmul_kernels.h"
#include "rtcg/cgen/support/error.h"

namespace rtcg::arrays {
namespace {

[[noreturn]] void throw_shape_mismatch(const AnyArray& a, const AnyArray& b) {
  throw InvalidInput("arrays.matmul.shape_mismatch",
                     fmt::format("shapes {} and {} cannot be multiplied: the last length of the "
                                 "first must be the last but one of the second",
                                 to_string(a.shape()), to_string(b.shape())));
}

loopy::NamedArgument argument(const char* name, const AnyArray& matrix) {
  return {name, loopy::NamedArgument::Array{
                    matrix.device(),
                    matrix.address(),
                    static_cast<std::size_t>(matrix.count()),
                    matrix.dtype() == DType::f32 ? cgen::ScalarKind::f32 : cgen::ScalarKind::f64,
                    {matrix.shape().begin(), matrix.shape().end()}}};
}

/// How many axes come before those of the matrix.
int batch_axes(const AnyArray& array) {
  return array.axes() - 2;
}

/// Whether all matrices of a batch are the same one.
bool has_one_matrix(const AnyArray& array) {
  bool result = true;
  for (int axis = 0; axis < batch_axes(array); ++axis) {
    result = result && (array.strides()[axis] == 0 || array.shape()[axis] == 1);
  }
  return result;
}

AnyArray first_matrix(const AnyArray& array) {
  Layout layout = array.layout();
  while (layout.axes() > 2) {
    layout.shape.erase(0);
    layout.strides.erase(0);
  }
  return array.view(layout);
}

/// In one launch: the kernel takes all axes of the batch as one.
void run_engine(const loopy::Executor& product, runtime::StreamRef stream, const AnyArray& a,
                const AnyArray& b, const AnyArray& c, bool is_batched) {
  const auto taken = [&](const AnyArray& array) {
    const Extents& shape = array.shape();
    const std::int64_t rows = shape[array.axes() - 2];
    const AnyArray whole = array.contiguous();
    return is_batched ? whole.reshape({-1, rows, shape.back()})
                      : whole.reshape({rows, shape.back()});
  };
  const AnyArray left = taken(a);
  const AnyArray right = taken(b);
  const AnyArray result = taken(c);
  for (const AnyArray* each : {&left, &right, &result}) {
    each->storage()->use_on(stream);
  }
  product(stream, {argument("a", left), argument("b", right), argument("c", result)});
}

void multiply_matrices(const AnyArray& a, const AnyArray& b, const AnyArray& c,
                       const MatmulSizes& sizes, const MatmulOptions& options) {
  const std::int64_t matrices = c.count() / (sizes.rows * sizes.columns);
  if (matrices > 1 && has_one_matrix(b) && a.layout().is_contiguous() && !options.slicing) {
    // the rows of all matrices on the left make one matrix
    const MatmulSizes all{sizes.rows * matrices, sizes.columns, sizes.depth};
    multiply_matrices(a.reshape({all.rows, all.depth}), first_matrix(b),
                      c.reshape({all.rows, all.columns}), all, options);
    return;
  }
  const runtime::StreamRef stream = current_stream(c.stream());
  const detail::PlannedMatmul planned =
      detail::planned_matmul(c.dtype(), sizes, stream.device(), options, matrices > 1);
  if (planned.kernel) {
    run_engine(*planned.kernel, stream, a, b, c, matrices > 1);
    return;
  }
  const AnyArray left = detail::has_cublas_layout(a) ? a : a.copy();
  const AnyArray right = detail::has_cublas_layout(b) ? b : b.copy();
  detail::multiply_with(*detail::CublasApi::find(), stream, left, right, c);
}

}  // namespace

AnyArray matmul(const AnyArray& a, const AnyArray& b, const MatmulOptions& options) {
  if (a.axes() == 0 || b.axes() == 0) {
    throw_shape_mismatch(a, b);
  }
  const AnyArray left = a.axes() == 1 ? a.expand_dims(0) : a;
  const AnyArray right = b.axes() == 1 ? b.expand_dims(1) : b;
  const MatmulSizes sizes{left.shape()[left.axes() - 2], right.shape().back(), left.shape().back()};
  if (right.shape()[right.axes() - 2] != sizes.depth) {
    throw_shape_mismatch(a, b);
  }
  const auto batch_of = [](const AnyArray& array) {
    Extents shape = array.shape();
    shape.pop_back();
    shape.pop_back();
    return shape;
  };
  const Extents batch = broadcast_shapes(batch_of(left), batch_of(right));
  const auto with_matrix = [&](std::int64_t rows, std::int64_t columns) {
    Extents shape = batch;
    shape.push_back(rows);
    shape.push_back(columns);
    return shape;
  };
  const StreamScope scope(current_stream(a.stream()));
  const DType dtype = promote(a.dtype(), b.dtype());
  const auto squeezed = [&](const AnyArray& result) {
    Extents shape = batch;
    if (a.axes() > 1) {
      shape.push_back(sizes.rows);
    }
    if (b.axes() > 1) {
      shape.push_back(sizes.columns);
    }
    return result.reshape(shape);
  };
  const bool has_engine = dtype == DType::f32 || dtype == DType::f64;
  if (!has_engine || sizes.depth == 0 ||
      element_count(with_matrix(sizes.rows, sizes.columns)) == 0) {
    const Expression products =
        AnyArray(left.expand_dims(-1)) * AnyArray(right.expand_dims(right.axes() - 2));
    return squeezed(evaluate(sum(products, {.axes = Extents{-2}, .dtype = dtype})));
  }
  AnyArray result(dtype, with_matrix(sizes.rows, sizes.columns), current_stream());
  const auto converted = [&](const AnyArray& array) { return detail::fitted_array(array, dtype); };
  multiply_matrices(converted(left).broadcast_to(with_matrix(sizes.rows, sizes.depth)),
                    converted(right).broadcast_to(with_matrix(sizes.depth, sizes.columns)), result,
                    sizes, options);
  return squeezed(result);
}

}  // namespace rtcg::arrays
