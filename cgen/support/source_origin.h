#pragma once

#include <cstdint>

namespace rtcg {

/// A place in the C++ program that built a piece of generated text.
///
/// `SourceOrigin::current()` as a default argument names the caller's line. It replaces
/// std::source_location, which clang 14 does not have with libstdc++.
struct SourceOrigin {
  const char* file = nullptr;  ///< a string of static storage duration; null when unknown
  std::uint32_t line = 0;      ///< 1-based; 0 when unknown

  static constexpr SourceOrigin current(const char* file = __builtin_FILE(),
                                        std::uint32_t line = __builtin_LINE()) noexcept {
    return {file, line};
  }
};

}  // namespace rtcg
