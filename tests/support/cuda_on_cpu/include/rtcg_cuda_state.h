// What a kernel compiled for the CPU and the harness that runs it know of each other.
#pragma once

namespace rtcg_cuda {

struct Index {
  unsigned x, y, z;
};

/// What a kernel asks of the harness. Each may suspend the calling thread of the block.
struct Calls {
  /// Waits for all threads of the block; what the predicates of all have in common.
  struct Votes {
    int count, total;
  };
  Votes (*barrier)(int line, int predicate);
  /// Waits for the lanes of `mask`; the values that its 32 lanes brought.
  const unsigned long long* (*exchange)(int line, unsigned mask, unsigned long long value,
                                        unsigned* present);
};

/// One per compiled text and thread of the CPU. The harness writes it: `thread` whenever another
/// thread of the block runs on.
struct State {
  Index thread, block, block_size, grid_size;
  const Calls* calls;
  char* static_shared;
  char* static_shared_end;
  char* dynamic_shared;  ///< always the same for one thread of the CPU
  /// Waits for the other blocks; by one thread of a block, while its others wait. Null: the launch
  /// is not cooperative.
  void (*wait_for_grid)();
};

}  // namespace rtcg_cuda
