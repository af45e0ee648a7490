#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

struct StoreOptions {
  /// A temporary of each iteration of the loops over the inames, in place of an array in global
  /// memory. Only what is within all of these loops uses it.
  bool in_loops = false;
};

/// Computes a value that is used several times once for all, into an array in global memory, or
/// once in each iteration of the loops that it depends on.
///
/// Rewrites
///     for i: top[i] = reduce(max, j, sum(e, q[i, e]*k[j, e]))
///            total[i] = sum(l, exp(sum(f, q[i, f]*k[l, f]) - top[i]))
///   with s[i, j] into
///     for i_s, j_s: s[i_s, j_s] = sum(e_s, q[i_s, e_s]*k[j_s, e_s])
///     for i: top[i] = reduce(max, j, s[i, j])
///            total[i] = sum(l, exp(s[i, l] - top[i]))
///
/// The value is the largest expression that mentions these inames and no others, of the first
/// statement that has one and does not store it itself; those with reductions come first. If other
/// places compute a part of it that has reductions, the value is that part. It may also be part of
/// a sum over several inames: [b, i] of sum((i, j), x[b, i]*a[i, j]*y[b, j]) is
/// x[b, i]*sum(j, a[i, j]*y[b, j]), and the rest sum(i, s[b, i]). One with
/// reductions is replaced wherever it occurs: inames may have other names, and terms and factors
/// may come in another order. Others are replaced where they were found. Rules are expanded, and
/// reductions get inames of their own.
///
/// If nothing is computed from these inames alone, it is an element of an array that is read: the
/// new array is a copy with the axes in this order, [j, k] of sum(k, a[i, k]*b[k, j]) a transpose.
///
/// The values are computed in loops of their own, before the loops that use them. If they depend on
/// what a statement of these loops computes, they stay in its loops, and the first statement that
/// uses them gets loops of its own, together with those after it. Different launches may so compute
/// and use them (add_barrier).
///
/// With `in_loops` the value of
///     for i, j: y[i, j] = x[i, j]/sum(a, x[i, a])
///   with s and [i] becomes a temporary:
///     for i: s = sum(a, x[i, a])
///            for j: y[i, j] = x[i, j]/s
/// @param array   the name of the new array, with an axis for each iname, or of the temporary
/// @param inames  of loops and of reductions, with values from 0 on; of loops with `in_loops`
/// @throws InvalidInput  loopy.store_value.unknown_iname, loopy.store_value.name_taken,
///                       loopy.store_value.not_found, loopy.store_value.bounds,
///                       loopy.store_value.input_changes, and what duplicate_inames throws
/// @cost   memory for all values, or a register
[[nodiscard]] Kernel store_value(Kernel kernel, std::string_view array,
                                 const std::vector<std::string>& inames,
                                 const StoreOptions& options = {});

}  // namespace rtcg::loopy
