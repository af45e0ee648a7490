#pragma once
// Internal header: it is not installed.

#include <optional>

#include "rtcg/arrays/core/array.h"

// Kernels of the loop engine that update vectors and add up products in one launch. All scalars are
// arrays without axes; all vectors are contiguous and of one type, f32 or f64.

namespace rtcg::loopy {
struct Kernel;
}  // namespace rtcg::loopy

namespace rtcg::arrays::detail {

/// product = the sum of a[i]*b[i].
///
/// @cost  one launch, two in OpenCL
void dot_into(runtime::StreamRef stream, const AnyArray& a, const AnyArray& b,
              const AnyArray& product);

/// The scalars of an iteration. While `square` is above `limit`, the method goes on.
struct StepScalars {
  AnyArray rho;          ///< r . z
  AnyArray square;       ///< r . r
  AnyArray p_dot_image;  ///< p . A p
  AnyArray limit;
};
struct StepVectors {
  AnyArray x;
  AnyArray p;
  AnyArray image;  ///< A p
  AnyArray r;
  AnyArray next_r;
  std::optional<AnyArray> diagonal{};  ///< of the preconditioner
};
/// What a step adds up.
struct StepSums {
  std::optional<AnyArray> square{};  ///< of the next r
  std::optional<AnyArray> rho{};     ///< next r . diagonal . next r; with a diagonal
};
/// x += alpha p and next_r = r - alpha A p with alpha = rho / (p . A p), or 0 where the method has
/// come to its end.
///
/// @cost  as dot_into
void step_along(runtime::StreamRef stream, const StepVectors& vectors, const StepScalars& scalars,
                const StepSums& sums);
/// Its kernel with the sum of squares, and that of a diagonal preconditioner.
///
/// @param blocks    that take turns, as on GPUs; 0: a block for each `elements`, as on processors
/// @param elements  that a block takes at a time; a multiple of 256
[[nodiscard]] loopy::Kernel step_kernel(DType dtype, bool has_rho, std::int64_t blocks,
                                        std::int64_t elements);
/// p = z + beta p, where beta = next_rho / rho, or 0 where the method has come to its end.
///
/// @param diagonal  if there is one, z = diagonal . z
/// @param square    of the present residual
void turn_direction(runtime::StreamRef stream, const AnyArray& p, const AnyArray& z,
                    const std::optional<AnyArray>& diagonal, const AnyArray& next_rho,
                    const AnyArray& rho, const AnyArray& square, const AnyArray& limit);

/// z = the block-diagonal matrix times r.
///
/// @shape blocks [ceil(n / m), m, m]; what is beyond n is not read
void multiply_blocks(runtime::StreamRef stream, const AnyArray& blocks, const AnyArray& r,
                     const AnyArray& z);

}  // namespace rtcg::arrays::detail
