#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// Leaves unused elements between the rows of arrays in shared memory, so that the threads of a
/// warp that touch them at the same time find their elements in different banks.
///
/// Rewrites
///     a_fetch: f32[16, 16];                      out[i, j] = a_fetch[j_inner, i_inner]
///   into
///     a_fetch: f32[16, 16] {strides=17:1};       out[i, j] = a_fetch[j_inner, i_inner]
///
/// Takes the rows for which all accesses together need the fewest turns, of 0 to 32 more elements,
/// and the shortest of these. Arrays without conflicts stay as they are.
/// @param temporaries  empty: all arrays in shared memory
/// @throws InvalidInput  loopy.pad_bank_conflicts.unknown_temporary,
///                       loopy.pad_bank_conflicts.not_shared,
///                       loopy.pad_bank_conflicts.not_constant
/// @source Loo.py `add_padding_to_avoid_bank_conflicts`; 32 banks of 4 bytes, and warps of 32
///         threads, CUDA C++ Programming Guide, "Shared Memory"
[[nodiscard]] Kernel pad_bank_conflicts(Kernel kernel,
                                        const std::vector<std::string>& temporaries = {});

/// The most turns that an access to the array takes: threads of the first warp whose elements are
/// in one bank take turns. 1 if there are no conflicts.
///
/// @throws InvalidInput  as pad_bank_conflicts
[[nodiscard]] std::int64_t bank_conflicts(const Kernel& kernel, const std::string& temporary);

}  // namespace rtcg::loopy
