#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rtcg {

/// A place in the C++ program that built a piece of generated text.
struct SourceOrigin {
  const char* file = nullptr;  ///< a string of static storage duration; null when unknown
  std::uint32_t line = 0;      ///< 1-based; 0 when unknown
};

/// Generated text and, for each of its lines, the C++ call that built it.
///
/// `origins` is empty (text written by hand) or has one entry a line of `text`. This is what passes
/// from the printer to the compilers, so that a compiler's message about line 40 can name the line
/// of the program that is to blame.
struct SourceText {
  std::string text;
  std::vector<SourceOrigin> origins;
};

}  // namespace rtcg
