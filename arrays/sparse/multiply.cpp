// Products of sparse matrices: kernels of the loop engine with rows of computed lengths.
#include <map>
#include <memory>
#include <mutex>
#include <tuple>

#include <fmt/format.h>

#include "rtcg/arrays/create/create.h"
#include "rtcg/arrays/kernels/loop_call.h"
#include "rtcg/arrays/kernels/loop_lowering.h"
#include "rtcg/arrays/lazy/evaluate.h"
#include "rtcg/arrays/sparse/sparse_matrix.h"
#include "rtcg/arrays/sparse/tiled_product.h"
#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/create/make_kernel.h"

namespace rtcg::arrays {
namespace {

loopy::Kernel sparse_product(DType dtype, bool has_columns) {
  const char* const bounds =
      "<> begin = first[i] {id=begin}\n"
      "<> end = first[i + 1] {id=end}\n";
  loopy::KernelOptions options;
  options.name = has_columns ? "sparse_times_dense" : "sparse_product";
  options.default_type = detail::loop_type(dtype);
  options.arguments = has_columns ? "value: [nz]; x: [m, w]; y: [n, w]; first: i32[n + 1]; "
                                    "column: i32[nz]; n, m, nz, w: i32"
                                  : "value: [nz]; x: [m]; y: [n]; first: i32[n + 1]; "
                                    "column: i32[nz]; n, m, nz: i32";
  options.assumptions =
      has_columns ? "n >= 1 and m >= 1 and nz >= 1 and w >= 1" : "n >= 1 and m >= 1 and nz >= 1";
  return has_columns
             ? loopy::make_kernel(
                   "{[i, j]: 0 <= i < n and 0 <= j < w} {[k]: begin <= k < end}",
                   fmt::format("{}y[i, j] = sum(k, value[k]*x[column[k], j]) {{dep=begin:end}}",
                               bounds),
                   options)
             : loopy::make_kernel(
                   "{[i]: 0 <= i < n} {[k]: begin <= k < end}",
                   fmt::format("{}y[i] = sum(k, value[k]*x[column[k]]) {{dep=begin:end}}", bounds),
                   options);
}

/// Made once for each element type.
const detail::LoopCall& product_of(DType dtype, bool has_columns) {
  using Key = std::tuple<DType, bool>;
  static std::mutex mutex;
  static auto& known = *new std::map<Key, std::unique_ptr<const detail::LoopCall>>;
  const std::lock_guard lock(mutex);
  auto& product = known[{dtype, has_columns}];
  if (!product) {
    product = std::make_unique<const detail::LoopCall>(sparse_product(dtype, has_columns),
                                                       detail::LoopWishes{});
  }
  return *product;
}

void require_fitting(const AnySparseMatrix& a, const AnyArray& x) {
  if ((x.axes() != 1 && x.axes() != 2) || x.shape()[0] != a.columns()) {
    throw InvalidInput("arrays.sparse.shape_mismatch",
                       fmt::format("a sparse matrix of {} x {} and an array of shape {} cannot be "
                                   "multiplied: the array needs {} rows, and one or two axes",
                                   a.rows(), a.columns(), to_string(x.shape()), a.columns()));
  }
  if (x.dtype() != a.dtype()) {
    throw InvalidInput("arrays.sparse.dtype",
                       fmt::format("a sparse matrix of {} times an array of {}: convert one of "
                                   "them by as_type()",
                                   name(a.dtype()), name(x.dtype())));
  }
  if (!(x.device() == a.device())) {
    throw InvalidInput("arrays.evaluate.mixed_devices",
                       fmt::format("the matrix is on {} and the array on {}: copy one of them",
                                   runtime::to_string(a.device().info().id),
                                   runtime::to_string(x.device().info().id)));
  }
}

Extents shape_of_product(const AnySparseMatrix& a, const AnyArray& x) {
  Extents shape = x.shape();
  shape[0] = a.rows();
  return shape;
}

}  // namespace

void multiply_into(const AnySparseMatrix& a, const AnyArray& x, const AnyArray& y) {
  require_fitting(a, x);
  if (y.shape() != shape_of_product(a, x) || y.dtype() != a.dtype()) {
    throw InvalidInput(
        y.dtype() != a.dtype() ? "arrays.sparse.dtype" : "arrays.sparse.shape_mismatch",
        fmt::format("the product has elements of {} and the shape {}, the array for "
                    "it {} and {}",
                    name(a.dtype()), to_string(shape_of_product(a, x)), name(y.dtype()),
                    to_string(y.shape())));
  }
  detail::require_contiguous(y);
  if (y.count() == 0) {
    return;
  }
  if (a.entries() == 0 || a.columns() == 0) {
    y.assign(0);
    return;
  }
  const bool has_columns = x.axes() == 2 && x.shape()[1] != 1;
  const runtime::StreamRef stream = current_stream(y.stream());
  const auto sharing = has_columns ? detail::RowSharing::planned : detail::row_sharing(stream, a);
  if (sharing != detail::RowSharing::planned) {
    const auto product = sharing == detail::RowSharing::tiles ? detail::multiply_by_tiles
                                                              : detail::multiply_by_threads;
    product(stream, a, x.reshape(a.columns()).contiguous(), y.reshape(a.rows()));
    return;
  }
  loopy::IntegerValues lengths = {{"n", a.rows()}, {"m", a.columns()}, {"nz", a.entries()}};
  if (has_columns) {
    lengths["w"] = x.shape()[1];
  }
  product_of(a.dtype(), has_columns)
      .run(stream,
           {{"value", a.value()},
            {"x", x.contiguous()},
            {"y", y},
            {"first", a.first()},
            {"column", a.column()}},
           lengths);
}

AnyArray multiply(const AnySparseMatrix& a, const AnyArray& x) {
  require_fitting(a, x);
  AnyArray y(a.dtype(), shape_of_product(a, x), current_stream(x.stream()));
  multiply_into(a, x, y);
  return y;
}

}  // namespace rtcg::arrays
