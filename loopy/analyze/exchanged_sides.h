#pragma once
// Internal header: it is not installed.

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// Whether a reduction by a rule gives something else where the sides of a combination are
/// exchanged: products of matrices do, sums and the least value with its place do not.
///
/// The rule combines drawn elements of the reduction, and what it made of other elements, both ways
/// round. Parts of an operand that are no arithmetic are drawn, equal parts of an element alike;
/// inames are different numbers, so that a place decides between equal values. Arithmetic is exact:
/// a compensated sum, whose last bits depend on the order, is a sum. Where functions such as exp
/// occur, values count as equal that agree in 9 digits. Where nothing can be said the answer is
/// yes.
/// @throws InvalidInput  those of find_rule_operation
[[nodiscard]] bool changes_when_exchanged(const Kernel& kernel, const Reduction& reduction);

}  // namespace rtcg::loopy
