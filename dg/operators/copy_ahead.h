#pragma once
// Internal header: it is not installed.

#include <vector>

#include "rtcg/cgen/ast/module.h"

namespace rtcg::dg::detail {

/// CUDA functions that a kernel calls to have numbers near before it needs them:
///
///   void prefetch(const real *from, int count)      towards the cache that all blocks share
///   void copy_ahead(real *to, const real *from)     one number to shared memory, without waiting
///   void finish_copies()                            waits for this thread's copies
///
/// Devices that cannot do so copy at once and do not prefetch.
///
/// @param with_copies  whether the last two are called
/// @source PTX ISA 9.0, cp.async and cp.async.bulk.prefetch.L2
[[nodiscard]] std::vector<cgen::Statement> functions_for_ahead(const cgen::Type& real,
                                                               bool with_copies);

}  // namespace rtcg::dg::detail
