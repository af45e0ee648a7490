#pragma once

#include <string_view>

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// Lets neighbouring threads load and store neighbouring elements where each thread owns several
/// that follow each other: the threads of a block exchange them through shared memory.
///
/// Rewrites, with l on l.0 of 256 threads and 0 <= q < 16 the items of a thread,
///     y[4096*g + 16*l + q] = f(x[4096*g + 16*l + q])
///   into
///     for r in [0, 16): x_items[256*r + l] = x[4096*g + 256*r + l]
///     ... barrier
///     y_items[16*l + q] = f(x_items[16*l + q])
///     ... barrier
///     for r in [0, 16): y[4096*g + 256*r + l] = y_items[256*r + l]
///
/// Vectors are loaded and stored where the items are lanes of one and rows are known to be aligned.
/// Rows of shared memory are padded, so that the threads of a warp find their items in different
/// banks. The statements are marked, and preprocessing exchanges what it can: elements of arrays in
/// global memory that one statement writes and no other touches, or that no statement writes, by
/// one access outside of branches, if the items of the block follow each other. That includes the
/// elements of scans, which are known only then. Others are loaded and stored as they were, and so
/// are those that do not fit into 48 KB of shared memory.
/// @param iname  on l.0; the threads that own the items
/// @throws InvalidInput  loopy.exchange_items.unknown_iname, loopy.exchange_items.not_threads,
///                       loopy.exchange_items.no_items: no statement within it has items
/// @cost   shared memory for the items of a block, two barriers
/// @source NVIDIA CUB, `BlockLoad` and `BlockStore` with `BLOCK_LOAD_TRANSPOSE`; Merrill and
/// Garland
///         2016, Single-pass parallel prefix scan with decoupled look-back
[[nodiscard]] Kernel exchange_items(Kernel kernel, std::string_view iname);

}  // namespace rtcg::loopy
