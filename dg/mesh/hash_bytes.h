#pragma once
// Internal header: it is not installed.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "rtcg/cgen/support/structural_hash.h"

namespace rtcg::dg::detail {

/// Adds the number of bytes and their values, eight at a time.
inline void add_bytes(StructuralHash& hash, const void* data, std::size_t bytes) {
  const auto* first = static_cast<const unsigned char*>(data);
  hash.add(bytes);
  for (std::size_t i = 0; i < bytes; i += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, first + i, std::min(sizeof word, bytes - i));
    hash.add(word);
  }
}

}  // namespace rtcg::dg::detail
