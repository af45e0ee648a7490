#pragma once
// Internal header: it is not installed.

#include <string>
#include <vector>

#include "rtcg/loopy/analyze/evaluate_integer.h"
#include "rtcg/loopy/slice/slicing.h"

namespace rtcg::loopy::detail {

/// A kernel that computes some of its temporaries where they are used.
struct InlinedKernel {
  Slicing words{};  ///< Slicing::inlines
  Kernel kernel{};
  /// Whether its text would have so many parts, once all rules are expanded, that only those of its
  /// slicings are listed that keep values of rules.
  bool is_long = false;
};

/// The array temporaries that nests hand on: one nest of loops writes them, another without any of
/// these loops reads them, and nothing says in which memory they are. They are in global memory
/// unless they are computed where they are used.
[[nodiscard]] std::vector<std::string> handed_on(const Kernel& kernel);

/// The kernel with all temporaries that are handed on and can be computed where they are used, then
/// with fewer of them: those whose values are computed anew most often go first.
[[nodiscard]] std::vector<InlinedKernel> find_inlined_kernels(const Kernel& kernel,
                                                              const IntegerValues& parameters);

}  // namespace rtcg::loopy::detail
