#pragma once

#include <cstddef>
#include <string>

#include "rtcg/loopy/slice/enumerate_slicings.h"

namespace rtcg::loopy {

/// How many slicings have these words among theirs.
inline std::size_t count_of(const SlicingStream& stream, const std::string& words) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < stream.count(); ++i) {
    count += stream.at(i).words.find(words) != std::string::npos ? 1 : 0;
  }
  return count;
}

}  // namespace rtcg::loopy
