#pragma once

#include "rtcg/arrays/solve/solve.h"

namespace rtcg::arrays {

/// The factors L U of the matrix that have entries only where it has, ILU(0), with its rows in the
/// order of colours: rows of one colour are not coupled with each other, so that all of them are
/// solved at once. Few colours are many rows at once, and a weaker preconditioner than the order of
/// the matrix gives.
///
/// @throws InvalidInput  arrays.solve.zero_pivot: names the first row whose pivot is 0;
///         arrays.solve.shape_mismatch, arrays.solve.dtype
/// @cost   waits; the host colours and factors. Memory as the matrix. Each use takes about four
/// launches a
///         colour
/// @source Saad 2003, ch. 10 and 12
[[nodiscard]] Preconditioner incomplete_lu(const AnySparseMatrix& a);

/// The same of a symmetric positive definite matrix, whose factors are L D L^T: IC(0), symmetric
/// and positive definite itself, for conjugate_gradients and minres.
///
/// @throws InvalidInput  arrays.solve.not_symmetric: names an entry that differs from that on the
///         other side of the diagonal by more than rounding; arrays.solve.not_definite: a pivot
///         that is not positive; as incomplete_lu
/// @cost   as incomplete_lu
[[nodiscard]] Preconditioner incomplete_cholesky(const AnySparseMatrix& a);

namespace detail {
/// Numbers of rows so that those of coupled ones differ, from 0 on, each the least that is free.
///
/// @param first, column  compressed rows of a square matrix
[[nodiscard]] std::vector<std::int32_t> colours_of_rows(const std::vector<std::int32_t>& first,
                                                        const std::vector<std::int32_t>& column);
}  // namespace detail

}  // namespace rtcg::arrays
