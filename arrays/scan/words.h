#pragma once
// Internal header: it is not installed.

#include <optional>

#include "rtcg/arrays/core/dtype.h"

namespace rtcg::arrays::detail {

/// The unsigned type whose elements are the bits of those of `dtype`, for kernels that move
/// elements and do not compute with them; none for 3, 6, 12 or 16 bytes and more.
[[nodiscard]] constexpr std::optional<DType> word_of(DType dtype) {
  switch (size_bytes(dtype)) {
    case 1:
      return DType::u8;
    case 2:
      return DType::u16;
    case 4:
      return DType::u32;
    case 8:
      return DType::u64;
    default:
      return std::nullopt;
  }
}

}  // namespace rtcg::arrays::detail
