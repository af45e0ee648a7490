#pragma once

#include <optional>

#include "rtcg/arrays/lazy/functions.h"

// Dense linear algebra in the words of `numpy.linalg`: the last two axes are those of matrices, all
// axes before them are batches. Elements of integers are taken as f64, f16 and bf16 as f32.

namespace rtcg::arrays {

/// Who computes.
enum class DenseWay {
  /// Generated kernels for matrices of at most 32 rows and columns, otherwise the library; of eigh
  /// and svd the library where there is one.
  automatic,
  /// Generated kernels, on every device.
  ///
  /// @throws Unsupported  arrays.dense.too_large: more than 32 rows or columns
  generated,
  /// LAPACK on the host, cuSOLVER on CUDA devices. @throws Unsupported  arrays.dense.no_library
  library,
};

struct DenseOptions {
  DenseWay way = DenseWay::automatic;
  /// An array of i32 of the shape of the batch. It gets 0 for each matrix, or a number from 1 on:
  /// of the first column whose pivot is 0, of the first leading minor that is not positive, or
  /// the library's, of what did not converge. Nothing is thrown then, and results of such matrices
  /// are not defined. Without it the functions wait and throw.
  std::optional<AnyArray> info{};
};

/// X of A X = B.
///
/// @shape a  [..., n, n]
/// @shape b  [n], or [..., n, k]; batches broadcast
/// @throws InvalidInput  arrays.dense.shape; arrays.dense.dtype; arrays.dense.info;
///         arrays.dense.singular
/// @throws Unsupported   arrays.dense.no_library, arrays.dense.too_large
/// @throws DeviceError   arrays.dense.call_failed
/// @cost   generated: four launches, and waits unless `info` is given. LAPACK waits; so does
///         cuSOLVER unless `info` is given and it needs no memory of the host
[[nodiscard]] AnyArray solve(const Expression& a, const Expression& b,
                             const DenseOptions& options = {});
/// The inverse. @throws, @cost  as solve
[[nodiscard]] AnyArray inv(const Expression& a, const DenseOptions& options = {});
/// The determinant of each matrix, of the batch's shape; 0 for singular ones, and nothing is
/// thrown.
[[nodiscard]] AnyArray det(const Expression& a, const DenseOptions& options = {});

struct LuResult {
  AnyArray lu;      ///< U on and above the diagonal, L without its ones below
  AnyArray pivots;  ///< [..., n] of i32: the row that was exchanged with each row, in order, from 0
};
/// P A = L U with partial pivoting. @throws, @cost  as solve
[[nodiscard]] LuResult lu(const Expression& a, const DenseOptions& options = {});

/// The lower L of A = L L^H. Only the lower triangle of `a` is read.
///
/// @throws InvalidInput  as solve, with arrays.dense.not_positive_definite
[[nodiscard]] AnyArray cholesky(const Expression& a, const DenseOptions& options = {});

struct QrResult {
  AnyArray q;  ///< [..., m, min(m, n)]: orthonormal columns
  AnyArray r;  ///< [..., min(m, n), n]: zeros below the diagonal
};
/// A = Q R for matrices of any shape.
[[nodiscard]] QrResult qr(const Expression& a, const DenseOptions& options = {});

struct EighResult {
  AnyArray values;   ///< [..., n]: real, ascending
  AnyArray vectors;  ///< [..., n, n]: in columns
};
/// Eigenvalues and eigenvectors of symmetric or Hermitian matrices. Only the lower triangle of `a`
/// is read.
///
/// @throws InvalidInput  as solve, with arrays.dense.no_convergence
[[nodiscard]] EighResult eigh(const Expression& a, const DenseOptions& options = {});
[[nodiscard]] AnyArray eigvalsh(const Expression& a, const DenseOptions& options = {});

struct SvdResult {
  AnyArray u;       ///< [..., m, min(m, n)]
  AnyArray values;  ///< [..., min(m, n)]: descending
  AnyArray vh;      ///< [..., min(m, n), n]
};
/// A = U diag(values) V^H, with as many vectors as there are values.
///
/// @throws  as eigh
[[nodiscard]] SvdResult svd(const Expression& a, const DenseOptions& options = {});

/// The library that computes on a device, or why there is none.
[[nodiscard]] std::string describe_dense_library(runtime::Device device);

}  // namespace rtcg::arrays
