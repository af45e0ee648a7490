#pragma once

#include <string>
#include <vector>

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// Makes one reduction, in one pass over the elements, of reductions whose later ones use the
/// results of earlier ones.
///
/// Rewrites
///     top = reduce(max, j, x[j]);  total = sum(j, exp(x[j] - top))
///   into
///     online(m, s, n, t) := make_tuple(max(m, n), the sums with the smaller maximum's corrected)
///     top_run, total_run = reduce(online, j, x[j], 1)
///     top = top_run;  total = total_run*exp(top_run - top_run)
///
/// The values of two parts of the elements are combined by the new rule, so loops, the threads of a
/// block and the blocks of the grid can share the reduction. Sums of `exp(a - r)*b` are multiplied
/// by a factor, `exp(r - r')`, when the earlier value r becomes r'; factors that do not change from
/// element to element are applied in the end. Sums of `(a - r)*(b - s)` are computed from the
/// number of elements, their means, and the products of their distances from these; for the
/// variance this is the method of Chan, Golub and LeVeque. All other reductions over the inames are
/// computed in the same pass. Infinite and not-a-number results are those of the separate passes:
/// the last factor, `exp(top_run - top_run)`, is 1 or NaN. Floating-point sums are taken in another
/// order.
/// @param inames  of the reductions, which are over all of these and no others: rename_inames
/// unites
///                those of several
/// @throws InvalidInput  loopy.fuse_reductions.one_reduction,
///                       loopy.reduction_chain.unknown_iname, loopy.reduction_chain.no_chain,
///                       loopy.reduction_chain.not_alike: a reduction is over tuples, in a branch
///                       or under a condition, or a statement is within other loops,
///                       loopy.reduction_chain.input_changes: statements between the reductions
///                       change what later ones read, loopy.reduction_chain.no_repair,
///                       loopy.reduction_chain.may_be_empty, and what infer_types throws
/// @source Milakov and Gimelshein 2018, arXiv:1805.02867; Chan, Golub and LeVeque 1983
[[nodiscard]] Kernel fuse_reductions(Kernel kernel, const std::vector<std::string>& inames);

}  // namespace rtcg::loopy
