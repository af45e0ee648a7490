#pragma once

#include <string_view>

#include "rtcg/loopy/kernel/kernel.h"
#include "rtcg/loopy/kernel/kernel_options.h"

namespace rtcg::loopy {

/// A kernel from text.
///
///     make_kernel("{[i, j, k]: 0 <= i, j, k < n}", "c[i, j] = sum(k, a[i, k]*b[k, j])",
///                 {.default_type = cgen::f32});
///
/// Undeclared names become arguments: arrays with the shape that the accesses need, parameters of
/// domains and shapes as i32 scalars, and other scalars. A statement is within the inames that its
/// indices and values mention, those of the `for` around it, those in which the temporaries that it
/// reads get their values, and those on which the domains of all these depend. Inames that share no
/// condition become domains of their own, so that a sum over an empty loop is 0. Patterns of `dep=`
/// and queries of `dep_query=` match any statement but the one itself; `dep=*` means all before it.
/// @param domains     as parse_domains takes them
/// @param statements  as parse_statements takes them
/// @throws InvalidInput  what the parsers throw; loopy.make_kernel.duplicate_id,
///         loopy.make_kernel.unknown_iname, loopy.make_kernel.unknown_dependency,
///         loopy.make_kernel.mixed_use, loopy.make_kernel.undeclared_target,
///         loopy.make_kernel.rank, loopy.make_kernel.unknown_shape,
///         loopy.make_kernel.arguments
/// @source Loo.py `make_kernel`; Kloeckner 2014, arXiv:1405.7470
[[nodiscard]] Kernel make_kernel(std::string_view domains, std::string_view statements,
                                 const KernelOptions& options = {});

}  // namespace rtcg::loopy
