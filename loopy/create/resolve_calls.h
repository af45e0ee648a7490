#pragma once
// Internal header: it is not installed.

#include <vector>

#include "rtcg/loopy/create/parse_statements.h"

namespace rtcg::loopy {

/// The statements with their calls resolved: `[k]: b[i, k] = f([k]: a[i, k])` with `f` one of
/// `callees` is a call of it, `s, c = sincos(x)` two assignments, and `a$tag[i]` or `f$tag(x)` the
/// call of a rule of that name, which is added.
///
/// Several values: of sincos, divmod, minmax, make_tuple, and of rules whose body is one of these.
/// @throws InvalidInput  loopy.make_kernel.result_count, loopy.make_kernel.part_of_array,
///                       loopy.make_kernel.rank
[[nodiscard]] ParsedStatements resolve_calls(ParsedStatements parsed,
                                             const std::vector<Kernel>& callees);

}  // namespace rtcg::loopy
