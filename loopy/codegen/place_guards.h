#pragma once
// Internal header: it is not installed.

#include "rtcg/loopy/codegen/guarded_tree.h"
#include "rtcg/loopy/codegen/launch_facts.h"

namespace rtcg::loopy {

/// @param tree  of the launch, with its barriers
/// @throws InvalidInput  loopy.generate.unbounded, loopy.generate.too_many_copies,
///         loopy.generate.too_many_statements, loopy.generate.call_split, loopy.generate.call_form
[[nodiscard]] GuardedTree place_guards(const LaunchFacts& launch, const LoopTree& tree);

}  // namespace rtcg::loopy
