#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// What a block computes along one iname: `threads * lanes` iterations.
struct TiledIname {
  std::string iname{};
  /// Threads of the block along it.
  std::int64_t threads = 16;
  /// Iterations of one thread, done inline-parallel; neighbours in a lane are `threads` apart.
  std::int64_t lanes = 1;
};

struct TileOptions {
  /// Reduced inames and the length of the piece that a block has in shared memory at a time.
  std::vector<std::pair<std::string, std::int64_t>> reductions{};
  /// Arrays to copy to shared memory. Nothing: those whose elements are read more than once in a
  /// block, or by neighbouring threads from places far apart.
  std::optional<std::vector<std::string>> fetch{};
  /// Whether the copies are padded against bank conflicts.
  bool pad = true;
};

/// The usual tiling of matrix products, stencils and transpositions in one call: splits inames into
/// blocks, threads and lanes, keeps what a block reads in shared memory, and pads that.
///
/// Rewrites
///     c[i, j] = sum(k, a[i, k]*b[k, j])
///   with tiles i: 16 threads, j: 16 threads, k: 16 into
///     split_iname(i, 16, outer_tag=g.1, inner_tag=l.1)
///     split_iname(j, 16, outer_tag=g.0, inner_tag=l.0)
///     split_iname(k, 16)
///     add_prefetch(a, [i_inner, k_inner]);  add_prefetch(b, [j_inner, k_inner])
///     pad_bank_conflicts(a_fetch);  pad_bank_conflicts(b_fetch)
///
/// With lanes, i is 16*lanes*i_outer + 16*i_lane + i_inner, and i_lane is tagged `ilp`. Rules are
/// expanded. Arrays that the kernel writes are not fetched.
/// @param inames  one to three, the one of neighbouring threads last: it gets g.0 and l.0
/// @throws InvalidInput  loopy.tile.unknown_iname, loopy.tile.bad_length, loopy.tile.is_reduced,
///                       loopy.tile.unknown_array, loopy.tile.tagged_already; and for arrays asked
///                       for, what add_prefetch throws
[[nodiscard]] Kernel tile(Kernel kernel, const std::vector<TiledIname>& inames,
                          const TileOptions& options = {});

/// `i:16` or `i:16*4`: threads, and lanes where there are several.
/// @throws InvalidInput  loopy.tile.syntax
[[nodiscard]] TiledIname parse_tiled_iname(std::string_view text);

}  // namespace rtcg::loopy
