#pragma once
// Internal header: it is not installed.

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// Puts statements into the loops in which the temporaries that they read get their values.
///
/// In `<> t = a[i]; b[j] = t` the second statement is within i too: t has another value for each i.
/// An iname that indexes the temporary does not count, and neither do those of statements that only
/// update it, such as `t = t + a[k]`: later reads of t need its last value.
/// @param settled  ids of statements whose inames the user stated
[[nodiscard]] Kernel infer_inames(Kernel kernel, const NameSet& settled);

}  // namespace rtcg::loopy
