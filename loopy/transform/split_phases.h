#pragma once

#include <cstdint>
#include <string_view>

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// Splits a loop into steps of `count` iterations and the phases within a step, and takes the steps
/// out of quotients and remainders: those that the phases do not determine stay.
///
/// Rewrites
///     for i in [0, n): S(i, (i + 1) // 2, (i + 1) % 2)
///   into
///     for i_step in [0, ceil(n / 2)):
///       for i_phase in [0, 2):
///         if (2*i_step + i_phase < n) S(2*i_step + i_phase, i_step + i_phase, 1 - i_phase)
///
/// @param iname  an untagged iname
/// @param count  phases; > 0
/// @throws InvalidInput  what split_iname throws
/// @source polyphase filters: Bellanger, Bonnerot and Coudreuse 1976
[[nodiscard]] Kernel split_phases(Kernel kernel, std::string_view iname, std::int64_t count);

}  // namespace rtcg::loopy
