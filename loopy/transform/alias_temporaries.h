#pragma once

#include <string>
#include <vector>

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// Lets temporaries that are never needed at the same time share their storage.
///
/// Rewrites
///     s: f32[64];  t: f32[32, 2];     s[i] = a[i]; b[i] = s[63 - i];  t[j, k] = ...; ... = t[k, j]
///   into
///     s: f32[64];                     s[i] = a[i]; b[i] = s[63 - i];  s[2*j + k] = ...
///
/// Each is written and read for the last time before the next one is written; barriers between them
/// follow from that. Arrays of different shapes become one-dimensional.
/// @param temporaries  two or more of one type and address space, of constant size; the result has
///                     the name of the first
/// @throws InvalidInput  loopy.alias_temporaries.unknown_temporary,
///                       loopy.alias_temporaries.different_kinds,
///                       loopy.alias_temporaries.not_constant,
///                       loopy.alias_temporaries.needed_together
/// @source Loo.py `alias_temporaries`
[[nodiscard]] Kernel alias_temporaries(Kernel kernel, const std::vector<std::string>& temporaries);

}  // namespace rtcg::loopy
