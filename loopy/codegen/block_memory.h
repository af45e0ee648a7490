#pragma once
// Internal header: it is not installed.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "rtcg/loopy/codegen/kernel_variables.h"

namespace rtcg::loopy {

/// The shared memory of a block.
struct BlockMemory {
  std::vector<cgen::Statement> declarations{};
  std::int64_t bytes = 0;
  /// The arrays that take them, with the bytes of each.
  std::vector<std::pair<std::string, std::int64_t>> arrays{};
  /// Whether they are parts of one array whose size the launch gives.
  bool is_dynamic = false;
};

/// The temporaries in shared memory that the launch uses, as arrays.
[[nodiscard]] BlockMemory block_memory(KernelVariables& variables);

}  // namespace rtcg::loopy
