#pragma once

#include "rtcg/cgen/build/block_builder.h"

// Kernels whose blocks form clusters: neighbours that run at the same time, read and write each
// other's shared memory and wait for each other. CUDA has them, from compute capability 9.0 on;
// printing in other dialects throws Unsupported, cgen.lower.cuda_only.
//
// A kernel waits at a cluster_barrier() before it touches shared memory of another block, which may
// not have begun, and before it ends if others may still touch its own.

namespace rtcg::cgen {

/// What the functions below call. A module has it once, before its kernels.
[[nodiscard]] Statement cluster_functions(SourceOrigin where = SourceOrigin::current());

/// As an attribute of a kernel: its clusters have so many blocks, each launch of it consists of
/// whole ones. 8 blocks are possible everywhere. Without it, LaunchAttributes of the runtime say
/// it.
[[nodiscard]] Attribute cluster_of(int x, int y = 1, int z = 1);

/// The block's number in its cluster, u32.
[[nodiscard]] Expr cluster_rank(SourceOrigin where = SourceOrigin::current());
/// How many blocks the cluster has, u32.
[[nodiscard]] Expr cluster_size(SourceOrigin where = SourceOrigin::current());

/// The same place in the shared memory of another block of the cluster.
///
/// @param place  a pointer into shared memory, or a shared array
/// @param rank   of the other block, below cluster_size()
/// @returns      a pointer of the same type; atomic functions take it, too
[[nodiscard]] Expr in_block_of_cluster(const Operand& place, const Operand& rank);

/// All threads of the cluster meet; what they wrote before is then visible to all of them.
[[nodiscard]] Statement cluster_barrier(SourceOrigin where = SourceOrigin::current());
// Its two halves, with work between them that does not touch shared memory of others.
[[nodiscard]] Statement cluster_arrive(SourceOrigin where = SourceOrigin::current());
[[nodiscard]] Statement cluster_wait(SourceOrigin where = SourceOrigin::current());

}  // namespace rtcg::cgen
