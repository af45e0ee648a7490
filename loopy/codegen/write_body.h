#pragma once
// Internal header: it is not installed.

#include <cstdint>
#include <set>
#include <vector>

#include "rtcg/loopy/codegen/array_storage.h"
#include "rtcg/loopy/codegen/function_table.h"
#include "rtcg/loopy/codegen/guarded_tree.h"
#include "rtcg/loopy/device/helper_function.h"
#include "rtcg/loopy/codegen/launch_facts.h"

namespace rtcg::loopy {

/// The body of one kernel of the program.
struct KernelBody {
  std::vector<cgen::Statement> statements{};
  BlockMemory memory{};
  /// Functions that the body calls.
  std::set<HelperFunction> helpers{};
  /// Of the variables of a thread.
  std::int64_t private_bytes = 0;
};

/// @param tree  of the launch, with its guards
/// @param is_first  whether the statements declare the axes and the arrays in shared memory that
///                  they use; what the last blocks run has both from the beginning of the function
/// @param functions  those that calls of the kernel are; added to
/// @throws InvalidInput  what lower_lanes and block_memory throw
[[nodiscard]] KernelBody write_body(const LaunchFacts& launch, const GuardedTree& tree,
                                    FunctionTable& functions, bool is_first = true);

}  // namespace rtcg::loopy
