#pragma once

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// Puts each temporary that has no address space yet into one: local if the threads of a block
/// write different elements of it, otherwise private.
///
/// @throws InvalidInput  loopy.choose_address_spaces.ambiguous
[[nodiscard]] Kernel choose_address_spaces(Kernel kernel);

}  // namespace rtcg::loopy
