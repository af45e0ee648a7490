#pragma once
// Internal header: it is not installed.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "rtcg/loopy/codegen/launch_facts.h"

// Statements that are one call of a function: they become a function of the text.

namespace rtcg::loopy {

/// The call whose function is being written.
struct CallFrame {
  /// Its loops.
  NameSet inames{};
  /// What does not change within, of the indices of each array: the pointer that the function gets
  /// points there. The first access of an array decides.
  std::map<std::string, std::vector<Affine>> bases{};
};

/// One past the last of the nodes from `begin` on that are one call; `begin` if there is none, or
/// within a call.
[[nodiscard]] std::size_t end_of_call(const LaunchFacts& launch, const LoopTree& nodes,
                                      std::size_t begin, const EmitContext& context);

/// @throws InvalidInput  loopy.generate.call_split, loopy.generate.call_form
[[nodiscard]] std::shared_ptr<CallFrame> call_frame(const LaunchFacts& launch, const LoopTree& run);

}  // namespace rtcg::loopy
