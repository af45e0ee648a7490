#pragma once

#include <string>
#include <vector>

#include "rtcg/cgen/support/source_origin.h"

namespace rtcg {

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
