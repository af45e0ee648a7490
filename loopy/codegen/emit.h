#pragma once
// Internal header: it is not installed.

#include <set>
#include <string>
#include <vector>

#include "rtcg/loopy/codegen/code_block.h"
#include "rtcg/loopy/codegen/function_table.h"
#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/codegen/helper_function.h"
#include "rtcg/loopy/codegen/target_rules.h"
#include "rtcg/loopy/schedule/launch_axes.h"
#include "rtcg/loopy/schedule/loop_tree.h"

namespace rtcg::loopy {

/// The body of one kernel of the program.
struct EmittedBody {
  std::vector<cgen::Statement> statements;
  std::int64_t shared_bytes = 0;
  /// The arrays that take them, with the bytes of each.
  std::vector<std::pair<std::string, std::int64_t>> shared_arrays{};
  /// Whether they are parts of one array whose size the launch gives.
  bool is_shared_dynamic = false;
};

/// @param kernel  preprocessed and typed
/// @param tree    with its barriers; no launch boundaries
/// @param helpers  functions that the body calls; added to
/// @param functions  those that calls of the kernel are; added to
[[nodiscard]] EmittedBody emit_body(const Kernel& kernel, const LoopTree& tree,
                                    const LaunchAxes& axes, const TargetRules& rules,
                                    const GenerateOptions& options,
                                    std::set<HelperFunction>& helpers, FunctionTable& functions);

}  // namespace rtcg::loopy
