#pragma once

#include <string_view>

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// Makes one loop of an iname over which several reductions run, though later ones use the results
/// of earlier ones: each iteration adds its part to running values.
///
/// Rewrites, with j in [0, n)
///     top[i] = reduce(max, (j, k), x[i, j, k])
///     out[i, d] = sum((j, k), exp(x[i, j, k] - top[i])*v[j, k, d])
///   into
///     top_run = -inf;  for d: out_run = 0
///     for j:
///       top_run_next = max(top_run, reduce(max, k, x[i, j, k]))
///       top_run_pivot = if(top_run_next == -inf, 0, top_run_next)
///       factor = exp(top_run - top_run_pivot)
///       for d: out_run = out_run*factor + sum(k, exp(x[i, j, k] - top_run_pivot)*v[j, k, d])
///       top_run = top_run_next
///     top[i] = top_run
///     for d: out[i, d] = out_run*exp(top_run - top_run)
///
/// The statements may be within different loops, such as those over columns of a result. A running
/// value has an axis for each sequential loop that not all of the statements are within; the length
/// of this loop is constant. What each iteration reduces is over the other inames of a reduction, a
/// tile for example, which threads may share. The results are those of the separate passes, also
/// infinite and not-a-number ones, with floating-point sums taken in another order.
/// @param iname  a loop of all of the reductions, and of no statement: rename_inames unites several
/// @throws InvalidInput  loopy.reduction_chain.unknown_iname, loopy.reduction_chain.no_chain,
///                       loopy.reduction_chain.not_alike: a reduction is over tuples, in a branch
///                       or under a condition; or the iname is not a loop, or one around a
///                       statement, loopy.reduction_chain.input_changes,
///                       loopy.reduction_chain.no_repair, loopy.reduction_chain.may_be_empty, what
///                       infer_types throws, and loopy.privatize_temporaries.no_constant_length
/// @source Milakov and Gimelshein 2018, arXiv:1805.02867; Dao et al. 2022, arXiv:2205.14135
[[nodiscard]] Kernel reduce_online(Kernel kernel, std::string_view iname);

}  // namespace rtcg::loopy
