#pragma once
// Internal header: it is not installed.

#include "rtcg/arrays/lazy/lower_steps.h"
#include "rtcg/loopy/device/vector_pack.h"

// Neighbouring elements of arrays that one instruction reads or writes.

namespace rtcg::arrays::detail {

using Pack = loopy::VectorPack;

/// @param lanes  a power of two; lanes * size_bytes(dtype) <= Pack::most_bytes
[[nodiscard]] inline Pack pack_of(DType dtype, int lanes, cgen::Dialect dialect) {
  return {memory_type(dtype, dialect), is_complex(dtype) ? 2 : 1, lanes};
}

}  // namespace rtcg::arrays::detail
