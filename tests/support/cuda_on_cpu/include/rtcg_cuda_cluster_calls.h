// What a kernel with clusters asks of the harness.
#pragma once

namespace rtcg_cuda {

struct ClusterCalls {
  /// Waits for the other blocks; by one thread of a block, while its others wait.
  void (*wait)();
  unsigned (*rank)();
  unsigned (*size)();
  /// A place in the block's shared memory, in that of another one.
  void* (*of_block)(void* own, unsigned rank);
};

}  // namespace rtcg_cuda
