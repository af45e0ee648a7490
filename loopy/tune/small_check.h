#pragma once
// Internal header: it is not installed.

#include <cstdint>
#include <string>

#include "rtcg/loopy/analyze/evaluate_integer.h"
#include "rtcg/loopy/kernel/kernel.h"
#include "rtcg/loopy/slice/slicing.h"
#include "rtcg/runtime/device/device.h"

namespace rtcg::loopy {

/// Compares what a slicing computes with the interpreted description, at sizes of 32 to 63 that
/// leave the same remainders: of descriptions that cannot be interpreted at the sizes of the
/// search. A size is longer where the slicing needs it, as copies that run ahead of a loop need
/// iterations of it, and the others may be shorter then. Where no size suits it, tiles wait for
/// their copies. Blocks of fewer elements than a warp has threads take three launches in place of
/// looking back.
///
/// @param sizes  of the search
/// @return the first number that differs; empty if all agree
/// @throws  as apply()
[[nodiscard]] std::string wrong_at_small_sizes(const Kernel& described, const IntegerValues& sizes,
                                               const runtime::Device& device, Slicing slicing,
                                               std::uint64_t seed);

}  // namespace rtcg::loopy
