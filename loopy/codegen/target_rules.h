#pragma once
// Internal header: it is not installed.

#include <cstdint>
#include <limits>

#include "rtcg/cgen/dialect/dialect.h"
#include "rtcg/loopy/codegen/generate.h"

namespace rtcg::loopy {

/// What the code for a target may contain and what it needs: passes ask these, never the target.
struct TargetRules {
  cgen::Dialect dialect = cgen::Dialect::c;
  /// Whether the device runs the threads of a block. Otherwise the kernel contains loops over them,
  /// needs no barriers, and the memory of a block is ordinary arrays without a limit.
  bool has_threads = true;
  /// Whether several elements are loaded or stored in one access.
  bool has_vectors = true;
  /// Whether shared memory has banks, which swizzled rows spread their elements over.
  bool has_banks = true;
  /// Whether numbers of 16 bits are ones that C computes with; otherwise their bits are stored.
  bool computes_f16 = true;
  bool computes_bf16 = false;
  bool has_warp_shuffles = false;
  bool has_tensor_cores = false;
  /// Whether an instruction computes two numbers of 16 bits, which a word holds.
  bool has_packed_arithmetic = false;
  /// Whether a block can order its accesses for all blocks of the launch: fences of OpenCL C 1.2
  /// are about a block alone.
  bool has_device_fences = true;
  /// Whether all blocks of a launch can wait for each other.
  bool has_grid_barriers = false;
  /// Whether copies to shared memory run while the threads compute. Only these need fences.
  bool has_async_copies = false;
  /// Arrays of a block that need more are parts of one array whose size the launch gives.
  std::int64_t most_static_shared_bytes = std::numeric_limits<std::int64_t>::max();
  /// Whether equal conditions that are apart are put together, see join_conditions.
  bool gathers_conditions = true;
  /// Whether a hint to unroll states the number of copies of a short loop as well: compilers for
  /// devices take it from the bounds.
  bool states_short_lengths = false;
  /// Whether loops whose iterations hand on elements are marked, see Helper::ordered_iterations.
  bool marks_ordered_iterations = false;
  bool has_extern_c = true;
  /// What a kernel states about the size of its blocks.
  bool has_launch_bounds = false;
  bool has_work_group_size = false;
};

[[nodiscard]] TargetRules target_rules(Target target);

}  // namespace rtcg::loopy
