#pragma once

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// Takes factors that do not change within a sum out of it.
///
/// Rewrites
///     c[i, j] = sum(k, alpha*a[i, k]*b[k, j])
///   into
///     c[i, j] = alpha*sum(k, a[i, k]*b[k, j])
///
/// If the terms are sums of products, it takes the factors that all of these have. Sums of integers
/// and of types with fewer digits than f32 stay as they are: their products may leave the range
/// that the terms are within. Results differ by roundings.
///
/// @source Loo.py `hoist_invariant_multiplicative_terms_in_sum_reduction`
[[nodiscard]] Kernel hoist_factors(Kernel kernel);

namespace detail {
/// Whether hoist_factors() changes the kernel.
[[nodiscard]] bool has_constant_factors(const Kernel& kernel);
}  // namespace detail

}  // namespace rtcg::loopy
