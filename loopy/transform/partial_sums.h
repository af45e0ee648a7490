#pragma once
// Internal header: it is not installed.

#include <string>
#include <vector>

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// A sum over some of the inames of a sum of products, of the factors that mention them:
///     sum((i, j), x[i]*a[i, j]*y[j]) = sum(i, x[i]*sum(j, a[i, j]*y[j]))
struct PartialSum {
  Expr inner = 0;  ///< sum(j, a[i, j]*y[j])
  Expr whole = 0;  ///< with it in place
};

/// One for each set of inames that some factor does not mention, in the order of the inames. None
/// for sums over one iname or more than four, and where an outer iname would bound an inner one
/// that does not mention it.
[[nodiscard]] std::vector<PartialSum> partial_sums(const Kernel& kernel, const Expr& expr);

/// The kernel with all sums that have a partial sum of these inames written by it.
/// @param kernel  without rules
[[nodiscard]] Kernel with_partial_sums(Kernel kernel, const NameSet& inames);

}  // namespace rtcg::loopy
