#pragma once

#include <string>
#include <vector>

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// Keeps values of threads in global memory, where another launch needs them: registers and shared
/// memory do not outlive a global barrier, nor an iteration of a loop with one within.
///
/// Rewrites
///     t = a[i];  ... gbarrier;  b[i] = t          i: 16*i_outer + i_inner, on g.0 and l.0
///   into
///     t_saved[i_outer, i_inner] = a[i];  ... gbarrier;  b[i] = t_saved[i_outer, i_inner]
///
/// @param temporaries  empty: all that statements on both sides of a global barrier use, or that
///                     hand values on from one iteration of a loop to the next. All statements that
///                     touch one are within the same inames of the grid and of the block
/// @throws InvalidInput  loopy.save_and_reload_temporaries.unknown_temporary,
///                       loopy.save_and_reload_temporaries.nothing_to_save,
///                       loopy.save_and_reload_temporaries.different_axes,
///                       loopy.save_and_reload_temporaries.no_length
/// @source Loo.py `save_and_reload_temporaries`
[[nodiscard]] Kernel save_and_reload_temporaries(Kernel kernel,
                                                 const std::vector<std::string>& temporaries = {});

}  // namespace rtcg::loopy
