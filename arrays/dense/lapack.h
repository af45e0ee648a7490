#pragma once
// Internal header: it is not installed.

#include <string>

#include "rtcg/arrays/core/array.h"

// Factorisations of matrices on the host by LAPACK, which is opened at run time.

namespace rtcg::arrays::detail {

/// Whether there is a LAPACK: liblapack.so.3 or libopenblas.so.0, or the library of
/// RTCG_LIBLAPACK.
[[nodiscard]] bool has_lapack();
/// The name it was opened by, or why there is none.
[[nodiscard]] const std::string& describe_lapack();

// All take matrices of f32, f64, c64 or c128 on the host, one after the other in memory, in the
// order of FORTRAN: [count, columns, rows] in C order. They change them in place, at once: work on
// them must be done. `info` gets an i32 for each matrix: 0, or LAPACK's positive number.
//
// @throws InternalError  LAPACK calls an argument illegal

/// getrf. @shape pivots  [count, n] of i32, from 1 on
void lapack_lu(const AnyArray& a, const AnyArray& pivots, const AnyArray& info);
/// getrs, without a transposition. @shape b  [count, right-hand sides, n]
void lapack_solve(const AnyArray& lu, const AnyArray& pivots, const AnyArray& b);
/// potrf, of the lower triangle; what is above stays.
void lapack_cholesky(const AnyArray& a, const AnyArray& info);
/// geqrf into `a`; what is on and above the diagonal is R.
///
/// @shape tau  [count, min(m, n)]
void lapack_qr(const AnyArray& a, const AnyArray& tau);
/// orgqr or ungqr, of as many columns as `a` has, at most its rows.
void lapack_q(const AnyArray& a, const AnyArray& tau);
/// syevd or heevd, of the lower triangle: eigenvectors into `a`.
///
/// @shape values  [count, n], of the real type
void lapack_eigh(const AnyArray& a, const AnyArray& values, bool with_vectors,
                 const AnyArray& info);
/// gesdd, of the first min(m, n) vectors.
///
/// @shape u  [count, min(m, n), m];  vh  [count, n, min(m, n)]
void lapack_svd(const AnyArray& a, const AnyArray& values, const AnyArray& u, const AnyArray& vh,
                const AnyArray& info);

}  // namespace rtcg::arrays::detail
