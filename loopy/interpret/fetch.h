#pragma once
// Internal header: it is not installed.

#include <cstdint>
#include <vector>

#include "rtcg/loopy/interpret/machine.h"

// What textures give, with bounds for the weights of devices.

namespace rtcg::loopy::interpretation {

/// The element of an image, which may be outside of it.
[[nodiscard]] Value fetch_element(Machine& machine, int image, const ImageReads& reads,
                                  const std::vector<std::int64_t>& indices);
/// What an image has at a position, in elements; 0 is element 0.
///
/// Devices round weights to 1/256, and so do products of weights of several axes; a position that
/// is between two elements within its error may get either.
[[nodiscard]] Value fetch_between(Machine& machine, int image, const ImageReads& reads,
                                  const std::vector<Value>& position);

}  // namespace rtcg::loopy::interpretation
