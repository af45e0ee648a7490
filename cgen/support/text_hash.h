#pragma once
// Internal header: it is not installed.

#include <cstdint>
#include <string_view>

namespace rtcg {

/// FNV-1a of a text, for names and keys that are stored: the same in every version.
///
/// Not cryptographic: it distinguishes the texts of one user. Tables in memory use StructuralHash.
[[nodiscard]] constexpr std::uint64_t text_hash(std::string_view text) noexcept {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char c : text) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  }
  return hash;
}

}  // namespace rtcg
