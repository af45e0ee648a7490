#include "rtcg/arrays/dense/dense.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "rtcg/arrays/create/create.h"
#include "rtcg/arrays/dense/cusolver.h"
#include "rtcg/arrays/dense/lapack.h"
#include "rtcg/arrays/dense/small_matrices.h"
#include "rtcg/arrays/lazy/evaluate.h"
#include "rtcg/arrays/scan/scanned_expression.h"
#include "rtcg/cgen/support/error.h"

namespace rtcg::arrays {
namespace {

using detail::SmallMatrices;

DType dense_dtype(const char* function, DType dtype) {
  if (is_vector(dtype)) {
    throw InvalidInput("arrays.dense.dtype",
                       fmt::format("{} of matrices of short vectors ({}); take their components()",
                                   function, name(dtype)));
  }
  const DType floating = floating_for(dtype);
  return is_half(floating) ? DType::f32 : floating;
}

/// Matrices of one batch, along one axis: [count, rows, columns].
struct Batch {
  AnyArray matrices;
  Extents shape;  ///< of the batch

  [[nodiscard]] std::int64_t count() const { return matrices.shape()[0]; }
  [[nodiscard]] std::int64_t rows() const { return matrices.shape()[1]; }
  [[nodiscard]] std::int64_t columns() const { return matrices.shape()[2]; }
};

Extents with(Extents shape, std::initializer_list<std::int64_t> more) {
  for (const std::int64_t length : more) {
    shape.push_back(length);
  }
  return shape;
}

Batch batch_of(const char* function, const Expression& a) {
  const DType dtype = dense_dtype(function, a.dtype());
  if (a.shape().size() < 2) {
    throw InvalidInput("arrays.dense.shape",
                       fmt::format("{} of an array of shape {}; its last two axes are those of "
                                   "matrices",
                                   function, to_string(a.shape())));
  }
  Extents shape = a.shape();
  shape.pop_back();
  shape.pop_back();
  const AnyArray given = detail::values_of(a.node());
  const AnyArray values = detail::fitted_array(given, dtype);
  const std::int64_t rows = a.shape()[a.shape().size() - 2];
  return {values.reshape({element_count(shape), rows, a.shape().back()}), shape};
}

Batch square_batch_of(const char* function, const Expression& a) {
  Batch batch = batch_of(function, a);
  if (batch.rows() != batch.columns()) {
    throw InvalidInput("arrays.dense.shape",
                       fmt::format("{} of matrices of {} rows and {} columns; they must be square",
                                   function, batch.rows(), batch.columns()));
  }
  return batch;
}

bool is_none(const std::string& library) {
  return library.rfind("none", 0) == 0;
}

/// Whether generated kernels compute; otherwise the library is there.
///
/// @param prefers_library  for matrices that both can compute
/// @throws Unsupported  arrays.dense.too_large, arrays.dense.no_library
bool by_kernels(const char* function, const Batch& batch, DenseWay way,
                bool prefers_library = false) {
  const std::int64_t longest = std::max(batch.rows(), batch.columns());
  const bool is_small = longest <= detail::most_small_rows;
  if (way == DenseWay::generated) {
    if (!is_small) {
      throw Unsupported(
          "arrays.dense.too_large",
          fmt::format("generated kernels of {} take at most {} rows and columns, "
                      "not {} and {}; use DenseWay::automatic",
                      function, detail::most_small_rows, batch.rows(), batch.columns()));
    }
    return true;
  }
  const bool has_kernels = way == DenseWay::automatic && is_small;
  if (has_kernels && !prefers_library) {
    return true;
  }
  const runtime::Device device = current_stream().device();
  const std::string library = describe_dense_library(device);
  if (has_kernels && is_none(library)) {
    return true;
  }
  if (is_none(library)) {
    throw Unsupported(
        "arrays.dense.no_library",
        fmt::format("{} of matrices of {} rows and {} columns on {} by a library: {}", function,
                    batch.rows(), batch.columns(), runtime::to_string(device.info().id), library));
  }
  return false;
}

/// Where the state of each matrix goes: the caller's array, or one that is looked at.
class Info {
 public:
  Info(const char* function, const Batch& batch, const DenseOptions& options)
      : function_(function),
        batch_(batch.shape),
        is_own_(!options.info),
        values_(options.info ? *options.info
                             : AnyArray(DType::i32, {batch.count()}, current_stream())) {
    if (!is_own_) {
      if (values_.dtype() != DType::i32 || !(values_.shape() == batch.shape) ||
          !values_.layout().is_contiguous()) {
        throw InvalidInput("arrays.dense.info",
                           fmt::format("the states of {} matrices go into an array of {} of shape "
                                       "{}; it must be one of i32 in C order of the batch's shape, "
                                       "{}",
                                       batch.count(), name(values_.dtype()),
                                       to_string(values_.shape()), to_string(batch.shape)));
      }
      values_ = values_.reshape({batch.count()});
    }
  }

  [[nodiscard]] const AnyArray& values() const { return values_; }
  /// Throws for the first matrix whose state is not 0. @cost  waits
  void check(const char* code, const char* what) const {
    if (!is_own_) {
      return;
    }
    const std::vector<std::int32_t> found = Array<std::int32_t>(values_).to_vector();
    const auto bad =
        std::find_if(found.begin(), found.end(), [](std::int32_t each) { return each != 0; });
    if (bad != found.end()) {
      const std::string which =
          batch_.empty() && found.size() == 1
              ? std::string("the matrix")
              : fmt::format("matrix {} of {}", bad - found.begin(), found.size());
      throw InvalidInput(code, fmt::format("{}: {} {} {}; pass `info` to go on with the others",
                                           function_, which, what, *bad));
    }
  }

 private:
  const char* function_;
  Extents batch_;
  bool is_own_;
  AnyArray values_;
};

constexpr const char* singular_code = "arrays.dense.singular";
constexpr const char* singular_text = "is singular: there is no pivot in column";

/// Copies in the order of FORTRAN, whose work is done: [count, columns, rows].
AnyArray columns_first(const AnyArray& matrices) {
  return matrices.swap_axes(1, 2).copy();
}

AnyArray rows_first(const AnyArray& matrices) {
  return matrices.swap_axes(1, 2).copy();
}

bool is_on_host() {
  return current_stream().device().info().id.kind == runtime::BackendKind::host;
}

/// Calls LAPACK when the work on the stream is done, or submits what cuSOLVER does to it.
template <class OnHost, class OnCuda>
void by_library(const OnHost& on_host, const OnCuda& on_cuda) {
  const runtime::StreamRef stream = current_stream();
  if (is_on_host()) {
    stream.synchronize();
    on_host();
  } else {
    on_cuda(*detail::CusolverApi::find(), stream);
  }
}

AnyArray library_pivots(const Batch& batch) {
  return {is_on_host() ? DType::i32 : DType::i64, {batch.count(), batch.rows()}, current_stream()};
}

void library_lu(const AnyArray& a, const AnyArray& pivots, const AnyArray& info) {
  by_library([&] { detail::lapack_lu(a, pivots, info); },
             [&](const detail::CusolverApi& api, runtime::StreamRef stream) {
               detail::cusolver_lu(api, stream, a, pivots, info);
             });
}

AnyArray empty_like_batch(DType dtype, const Extents& shape) {
  return {dtype, shape, current_stream()};
}

/// The smallest arrays that LAPACK computes nothing of.
bool is_empty(const Batch& batch) {
  return batch.matrices.count() == 0;
}

Expression identity(std::int64_t n, DType dtype) {
  const AnyArray i = arange(DType::i64, 0, n);
  return cast(Expression(i(whole, newaxis)) == Expression(i), dtype);
}

/// Solves for right-hand sides of [count, n, k].
AnyArray solve_batch(const char* function, const Batch& a, const AnyArray& b,
                     const DenseOptions& options) {
  const runtime::StreamRef stream = current_stream();
  const Info info(function, a, options);
  if (by_kernels(function, a, options.way)) {
    const SmallMatrices lu(a.matrices, stream);
    const SmallMatrices pivots(DType::i32, a.count(), a.rows(), 1, stream);
    const SmallMatrices solution(b, stream);
    detail::factor_lu(lu, pivots, info.values());
    detail::solve_lu(lu, pivots, solution);
    info.check(singular_code, singular_text);
    return solution.matrices().contiguous();
  }
  const AnyArray lu = columns_first(a.matrices);
  const AnyArray solution = columns_first(b);
  const AnyArray pivots = library_pivots(a);
  library_lu(lu, pivots, info.values());
  info.check(singular_code, singular_text);
  by_library([&] { detail::lapack_solve(lu, pivots, solution); },
             [&](const detail::CusolverApi& api, runtime::StreamRef stream) {
               detail::cusolver_solve(api, stream, lu, pivots, solution);
             });
  return rows_first(solution);
}

Expression lower_triangle(const AnyArray& a) {
  const Expression row = arange(DType::i64, 0, a.shape()[1])(whole, newaxis);
  const Expression column = arange(DType::i64, 0, a.shape()[2]);
  return where(column <= row, a, 0);
}

Expression upper_triangle(const AnyArray& a) {
  const Expression row = arange(DType::i64, 0, a.shape()[1])(whole, newaxis);
  const Expression column = arange(DType::i64, 0, a.shape()[2]);
  return where(column >= row, a, 0);
}

}  // namespace

AnyArray solve(const Expression& a, const Expression& b, const DenseOptions& options) {
  const AnyArray left = detail::values_of(a.node());
  const StreamScope scope(current_stream(left.stream()));
  Batch matrices = square_batch_of("solve", left);
  const bool is_vector_side = b.shape().size() == 1;
  const AnyArray given = detail::values_of(b.node());
  const AnyArray right = is_vector_side ? given.expand_dims(1) : given;
  const DType dtype = promote(dense_dtype("solve", a.dtype()), dense_dtype("solve", b.dtype()));
  if (right.axes() < 2 || right.shape()[right.axes() - 2] != matrices.rows()) {
    throw InvalidInput(
        "arrays.dense.shape",
        fmt::format("matrices of {} rows and right-hand sides of shape {}; give (n,) "
                    "or (..., n, k)",
                    matrices.rows(), to_string(b.shape())));
  }
  Extents right_batch = right.shape();
  right_batch.pop_back();
  right_batch.pop_back();
  const Extents batch = broadcast_shapes(matrices.shape, right_batch);
  const std::int64_t n = matrices.rows();
  const std::int64_t count = element_count(batch);
  const auto spread = [&](const AnyArray& values, std::int64_t columns) {
    const AnyArray typed = detail::fitted_array(values, dtype);
    return typed.broadcast_to(with(batch, {n, columns})).reshape({count, n, columns});
  };
  const std::int64_t columns = right.shape().back();
  const Batch wide{spread(left, n), batch};
  const Extents shape = is_vector_side ? with(batch, {n}) : with(batch, {n, columns});
  if (element_count(shape) == 0) {
    return empty_like_batch(dtype, shape);
  }
  return solve_batch("solve", wide, spread(right, columns), options).reshape(shape);
}

AnyArray inv(const Expression& a, const DenseOptions& options) {
  const AnyArray given = detail::values_of(a.node());
  const StreamScope scope(current_stream(given.stream()));
  const Batch batch = square_batch_of("inv", given);
  const DType dtype = batch.matrices.dtype();
  const Extents shape = with(batch.shape, {batch.rows(), batch.rows()});
  if (is_empty(batch)) {
    return empty_like_batch(dtype, shape);
  }
  const AnyArray right =
      evaluate(identity(batch.rows(), dtype)).broadcast_to(batch.matrices.shape());
  return solve_batch("inv", batch, right, options).reshape(shape);
}

LuResult lu(const Expression& a, const DenseOptions& options) {
  const AnyArray given = detail::values_of(a.node());
  const StreamScope scope(current_stream(given.stream()));
  const Batch batch = square_batch_of("lu", given);
  const runtime::StreamRef stream = current_stream();
  const Extents shape = with(batch.shape, {batch.rows(), batch.rows()});
  const Extents pivot_shape = with(batch.shape, {batch.rows()});
  if (is_empty(batch)) {
    return {empty_like_batch(batch.matrices.dtype(), shape),
            empty_like_batch(DType::i32, pivot_shape)};
  }
  const Info info("lu", batch, options);
  if (by_kernels("lu", batch, options.way)) {
    const SmallMatrices factors(batch.matrices, stream);
    const SmallMatrices pivots(DType::i32, batch.count(), batch.rows(), 1, stream);
    detail::factor_lu(factors, pivots, info.values());
    info.check(singular_code, singular_text);
    return {factors.matrices().contiguous().reshape(shape),
            pivots.matrices().contiguous().reshape(pivot_shape)};
  }
  const AnyArray factors = columns_first(batch.matrices);
  const AnyArray pivots = library_pivots(batch);
  library_lu(factors, pivots, info.values());
  info.check(singular_code, singular_text);
  return {rows_first(factors).reshape(shape),
          evaluate(cast(pivots - 1, DType::i32)).reshape(pivot_shape)};
}

AnyArray det(const Expression& a, const DenseOptions& options) {
  const AnyArray given = detail::values_of(a.node());
  const StreamScope scope(current_stream(given.stream()));
  const Batch batch = square_batch_of("det", given);
  const DType dtype = batch.matrices.dtype();
  const runtime::StreamRef stream = current_stream();
  if (is_empty(batch)) {
    return ones(dtype, batch.shape, stream);
  }
  DenseOptions silent = options;
  if (!silent.info) {
    silent.info = AnyArray(DType::i32, batch.shape, stream);
  }
  if (by_kernels("det", batch, options.way)) {
    const Info info("det", batch, silent);
    const SmallMatrices factors(batch.matrices, stream);
    const SmallMatrices pivots(DType::i32, batch.count(), batch.rows(), 1, stream);
    detail::factor_lu(factors, pivots, info.values());
    const AnyArray result(dtype, {batch.count()}, stream);
    detail::multiply_pivots(factors, pivots, result);
    return result.reshape(batch.shape);
  }
  const LuResult factors = lu(batch.matrices.reshape(a.shape()), silent);
  const AnyArray places = arange(DType::i64, 0, batch.rows());
  const AnyArray all = factors.lu.reshape(batch.matrices.shape());
  const AnyArray pivots = factors.pivots.reshape({batch.count(), batch.rows()});
  Layout diagonal = all.layout();
  diagonal.shape = {batch.count(), batch.rows()};
  diagonal.strides = {batch.rows() * batch.rows(), batch.rows() + 1};
  const Expression signs = where(Expression(pivots) == Expression(places), 1, -1);
  return evaluate(prod(all.view(diagonal), over(1)) * cast(prod(signs, over(1)), real_of(dtype)))
      .reshape(batch.shape);
}

AnyArray cholesky(const Expression& a, const DenseOptions& options) {
  const AnyArray given = detail::values_of(a.node());
  const StreamScope scope(current_stream(given.stream()));
  const Batch batch = square_batch_of("cholesky", given);
  const Extents shape = with(batch.shape, {batch.rows(), batch.rows()});
  if (is_empty(batch)) {
    return empty_like_batch(batch.matrices.dtype(), shape);
  }
  const Info info("cholesky", batch, options);
  const auto check = [&] {
    info.check("arrays.dense.not_positive_definite",
               "is not positive definite: not so is the leading minor of order");
  };
  if (by_kernels("cholesky", batch, options.way)) {
    const SmallMatrices factors(batch.matrices, current_stream());
    detail::factor_cholesky(factors, info.values());
    check();
    return factors.matrices().contiguous().reshape(shape);
  }
  const AnyArray factors = columns_first(batch.matrices);
  by_library([&] { detail::lapack_cholesky(factors, info.values()); },
             [&](const detail::CusolverApi& api, runtime::StreamRef stream) {
               detail::cusolver_cholesky(api, stream, factors, info.values());
             });
  check();
  return evaluate(lower_triangle(factors.swap_axes(1, 2))).reshape(shape);
}

QrResult qr(const Expression& a, const DenseOptions& options) {
  const AnyArray given = detail::values_of(a.node());
  const StreamScope scope(current_stream(given.stream()));
  const Batch batch = batch_of("qr", given);
  const runtime::StreamRef stream = current_stream();
  const DType dtype = batch.matrices.dtype();
  const std::int64_t least = std::min(batch.rows(), batch.columns());
  const Extents q_shape = with(batch.shape, {batch.rows(), least});
  const Extents r_shape = with(batch.shape, {least, batch.columns()});
  const Info info("qr", batch, options);
  info.values().assign(0);
  if (is_empty(batch)) {
    return {empty_like_batch(dtype, q_shape), empty_like_batch(dtype, r_shape)};
  }
  if (by_kernels("qr", batch, options.way)) {
    const SmallMatrices factors(batch.matrices, stream);
    const SmallMatrices q(dtype, batch.count(), batch.rows(), least, stream);
    const SmallMatrices work(dtype, batch.count(), least, 1, stream);
    detail::factor_qr(factors, q, work);
    return {q.matrices().contiguous().reshape(q_shape),
            factors.matrices()(whole, Slice{0, least}).contiguous().reshape(r_shape)};
  }
  const AnyArray factors = columns_first(batch.matrices);
  const AnyArray tau = empty_like_batch(dtype, {batch.count(), least});
  by_library([&] { detail::lapack_qr(factors, tau); },
             [&](const detail::CusolverApi& api, runtime::StreamRef on) {
               detail::cusolver_qr(api, on, factors, tau);
             });
  const AnyArray r =
      evaluate(upper_triangle(factors.swap_axes(1, 2)(whole, Slice{0, least}))).reshape(r_shape);
  const AnyArray q = factors(whole, Slice{0, least}).copy();
  by_library([&] { detail::lapack_q(q, tau); },
             [&](const detail::CusolverApi& api, runtime::StreamRef on) {
               detail::cusolver_q(api, on, q, tau);
             });
  return {rows_first(q).reshape(q_shape), r};
}

namespace {

EighResult eigenvalues(const char* function, const Expression& a, bool with_vectors,
                       const DenseOptions& options) {
  const AnyArray given = detail::values_of(a.node());
  const StreamScope scope(current_stream(given.stream()));
  const Batch batch = square_batch_of(function, given);
  const DType dtype = batch.matrices.dtype();
  const Extents shape = with(batch.shape, {batch.rows(), batch.rows()});
  const Extents values_shape = with(batch.shape, {batch.rows()});
  if (is_empty(batch)) {
    return {empty_like_batch(real_of(dtype), values_shape), empty_like_batch(dtype, shape)};
  }
  const Info info(function, batch, options);
  if (by_kernels(function, batch, options.way, true)) {
    const SmallMatrices matrices(batch.matrices, current_stream());
    const SmallMatrices vectors(dtype, batch.count(), batch.rows(), batch.rows(), current_stream());
    const SmallMatrices values(real_of(dtype), batch.count(), batch.rows(), 1, current_stream());
    detail::find_eigenvalues(matrices, vectors, values, info.values());
    info.check("arrays.dense.no_convergence", "has eigenvalues that were not found, as is said by");
    return {values.matrices().contiguous().reshape(values_shape),
            vectors.matrices().contiguous().reshape(shape)};
  }
  const AnyArray vectors = columns_first(batch.matrices);
  const AnyArray values = empty_like_batch(real_of(dtype), {batch.count(), batch.rows()});
  by_library([&] { detail::lapack_eigh(vectors, values, with_vectors, info.values()); },
             [&](const detail::CusolverApi& api, runtime::StreamRef stream) {
               detail::cusolver_eigh(api, stream, vectors, values, with_vectors, info.values());
             });
  info.check("arrays.dense.no_convergence",
             "has eigenvalues that were not found, as the library says by");
  return {values.reshape(values_shape), rows_first(vectors).reshape(shape)};
}

}  // namespace

EighResult eigh(const Expression& a, const DenseOptions& options) {
  return eigenvalues("eigh", a, true, options);
}

AnyArray eigvalsh(const Expression& a, const DenseOptions& options) {
  return eigenvalues("eigvalsh", a, false, options).values;
}

SvdResult svd(const Expression& a, const DenseOptions& options) {
  const AnyArray given = detail::values_of(a.node());
  const StreamScope scope(current_stream(given.stream()));
  const Batch batch = batch_of("svd", given);
  const DType dtype = batch.matrices.dtype();
  const std::int64_t least = std::min(batch.rows(), batch.columns());
  const Extents u_shape = with(batch.shape, {batch.rows(), least});
  const Extents values_shape = with(batch.shape, {least});
  const Extents vh_shape = with(batch.shape, {least, batch.columns()});
  if (is_empty(batch)) {
    return {empty_like_batch(dtype, u_shape), empty_like_batch(real_of(dtype), values_shape),
            empty_like_batch(dtype, vh_shape)};
  }
  const Info info("svd", batch, options);
  const bool is_generated = by_kernels("svd", batch, options.way, true);
  const auto check = [&] {
    info.check("arrays.dense.no_convergence",
               fmt::format("has singular values that were not found, as {} by",
                           is_generated ? "is said" : "the library says")
                   .c_str());
  };
  if (is_generated) {
    // A = U S V^H is A^H = V S U^H, which has more rows if A has more columns
    const bool is_wide = batch.rows() < batch.columns();
    const auto adjoint = [](const AnyArray& matrices) {
      return evaluate(conj(matrices.swap_axes(1, 2)));
    };
    const SmallMatrices tall(is_wide ? adjoint(batch.matrices) : batch.matrices, current_stream());
    const SmallMatrices v(dtype, batch.count(), least, least, current_stream());
    const SmallMatrices values(real_of(dtype), batch.count(), least, 1, current_stream());
    detail::find_singular_values(tall, v, values, info.values());
    check();
    const SmallMatrices& left = is_wide ? v : tall;
    const SmallMatrices& right = is_wide ? tall : v;
    return {left.matrices().contiguous().reshape(u_shape),
            values.matrices().contiguous().reshape(values_shape),
            adjoint(right.matrices()).reshape(vh_shape)};
  }
  if (!is_on_host()) {
    const detail::CusolverSvd found = detail::cusolver_svd(
        *detail::CusolverApi::find(), current_stream(), batch.matrices, info.values());
    check();
    return {found.u.reshape(u_shape), found.values.reshape(values_shape),
            found.vh.reshape(vh_shape)};
  }
  const AnyArray factors = columns_first(batch.matrices);
  const AnyArray values = empty_like_batch(real_of(dtype), {batch.count(), least});
  const AnyArray u = empty_like_batch(dtype, {batch.count(), least, batch.rows()});
  const AnyArray vh = empty_like_batch(dtype, {batch.count(), batch.columns(), least});
  current_stream().synchronize();
  detail::lapack_svd(factors, values, u, vh, info.values());
  check();
  return {rows_first(u).reshape(u_shape), values.reshape(values_shape),
          rows_first(vh).reshape(vh_shape)};
}

std::string describe_dense_library(runtime::Device device) {
  switch (device.info().id.kind) {
    case runtime::BackendKind::host:
      return detail::has_lapack() ? detail::describe_lapack()
                                  : fmt::format(
                                        "none: {}; install liblapack3 or libopenblas0, or "
                                        "name a library by RTCG_LIBLAPACK",
                                        detail::describe_lapack());
    case runtime::BackendKind::cuda:
      return detail::CusolverApi::find() != nullptr
                 ? detail::CusolverApi::find()->library
                 : fmt::format(
                       "none: {}; install libcusolver of CUDA 12 or 13, or name it by "
                       "RTCG_LIBCUSOLVER",
                       detail::CusolverApi::why_none());
    default:
      return "none: LAPACK computes on the host, and cuSOLVER on CUDA devices; copy the matrices "
             "there";
  }
}

}  // namespace rtcg::arrays
