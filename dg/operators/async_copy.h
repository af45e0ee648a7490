#pragma once
// Internal header: it is not installed.

#include <vector>

#include "rtcg/cgen/ast/module.h"

namespace rtcg::dg::detail {

/// CUDA functions by which a kernel fetches numbers before it needs them:
///
///   void prefetch(const real *from, int count)      to the L2 cache
///   void async_copy(real *to, const real *from)     one number to shared memory, without waiting
///   void wait_for_copies()                          waits for this thread's copies
///
/// Devices that cannot do so copy at once and do not prefetch.
///
/// @param with_copies  whether the last two are called
/// @source PTX ISA 9.0, cp.async and cp.async.bulk.prefetch.L2
[[nodiscard]] std::vector<cgen::Statement> prefetch_functions(const cgen::Type& real,
                                                              bool with_copies);

}  // namespace rtcg::dg::detail
