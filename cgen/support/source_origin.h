#pragma once

#include <cstdint>

namespace rtcg {

/// A place in the C++ program that built a piece of generated text.
///
/// `SourceOrigin::current()` as a default argument names the caller's line. It stands in for
/// std::source_location, which libstdc++ does not offer to clang 14.
struct SourceOrigin {
  const char* file = nullptr;  ///< a string of static storage duration; null when unknown
  std::uint32_t line = 0;      ///< 1-based; 0 when unknown

  static constexpr SourceOrigin current(const char* file = __builtin_FILE(),
                                        std::uint32_t line = __builtin_LINE()) noexcept {
    return {file, line};
  }
};

}  // namespace rtcg
