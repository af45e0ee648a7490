#pragma once

#include <string>
#include <vector>

namespace rtcg::arrays {

/// How a kernel of the loop engine runs, and why.
struct LoopPlan {
  enum class Source {
    wisdom,  ///< the result of a search
    model,   ///< the model's best that fits
    plain,   ///< the kernel as described, without a slicing: few elements
  };
  Source source = Source::plain;
  std::string slicing{};
  /// Slicings that were to be used and do not fit, each with the reason.
  std::vector<std::string> refused{};
};

}  // namespace rtcg::arrays
