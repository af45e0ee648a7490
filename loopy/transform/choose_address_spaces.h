#pragma once

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// Puts each temporary that has no address space yet into one: local if the threads of a block
/// write different elements of it, otherwise private. An array of more than 65,536
/// elements, or whose length depends on parameters, is global if each element is written once.
///
/// @throws InvalidInput  loopy.choose_address_spaces.ambiguous
[[nodiscard]] Kernel choose_address_spaces(Kernel kernel);

}  // namespace rtcg::loopy
