#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// How a block gets the value of the blocks before it.
enum class GridScan {
  three_launches,  ///< the order of the operations is the same each time
  /// In one launch, on targets with warp shuffles (CUDA): each block scans its elements, publishes
  /// a value and reads what blocks before it have published, in three steps at most. The order of
  /// the operations is the same each time. Other targets run three launches.
  look_back,
};

struct ScanOverGridOptions {
  GridScan how = GridScan::three_launches;
  /// Threads that scan the parts in the second of three launches, along l.0.
  std::int64_t threads = 256;
  /// Look-back only: scalars in which the kernel has computed what the elements of a block combine
  /// to, one for each result of the scan. Stated by the user.
  std::vector<std::string> totals{};
};

/// Lets the blocks of the grid share a scan.
///
/// Rewrites, with g on an axis of the grid and 0 <= l < 256,
///     s[256*g + l] = scan(sum, j, a[j])           with 0 <= j <= 256*g + l
///   into three launches
///     s_parts[g] = sum(l, a[256*g + l])
///     ... gbarrier
///     s_before[q] = scan(sum, p, s_parts[p])      with 0 <= p < q
///     ... gbarrier
///     s[256*g + l] = s_before[g] + scan(sum, j, a[256*g + j])     with 0 <= j <= l
///
/// All operations of scans are taken, also rules and several results; with rules, one thread
/// combines the elements of a block in the first launch, because rules need not commute. The order
/// of the elements is kept and is the same each time. All scans along the axis share the three
/// launches. Preprocessing does this by itself wherever a scan along an axis of the grid is left.
///
/// Look-back marks the scan, which is printed as `scan_by_look_back(sum, j, a[j])`. It takes blocks
/// whose threads are along l.0 alone, a multiple of 32, with or without loops of each thread that
/// count within them, and elements that begin with the first block. Blocks take their tiles in the
/// order in which they begin, so that each waits only for blocks that run. It moves each element
/// twice, three launches move it three times.
///
/// With `totals` a block publishes what it has computed, and scans no elements. The scan is that of
/// the elements before the block, 0 <= j < 256*g, in a statement within g alone. So blocks can
/// place results of which they find any number.
/// @param iname    on an axis of the grid; the upper bound of the scan grows with it
/// @source Merrill and Garland 2016, Single-pass parallel prefix scan with decoupled look-back
/// @throws InvalidInput  loopy.scan_over_grid.unknown_iname, loopy.scan_over_grid.not_on_grid,
///                       loopy.scan_over_grid.no_scan, loopy.scan_over_grid.bounds,
///                       loopy.scan_over_grid.surroundings, loopy.scan_over_grid.threads,
///                       loopy.scan_over_grid.look_back, loopy.scan_over_grid.totals
[[nodiscard]] Kernel scan_over_grid(Kernel kernel, std::string_view iname,
                                    const ScanOverGridOptions& options = {});

/// The iname on l.0 with the most iterations, if these are a multiple of a warp and no iname is on
/// another axis of the block; empty otherwise.
[[nodiscard]] std::string find_look_back_threads(const Kernel& kernel);
/// The inames on axes of the grid that scans go along, without those that look back.
[[nodiscard]] NameSet grid_inames_of_scans(const Kernel& kernel);
/// The kernel whose scans look back only where they can: nowhere if the target cannot.
[[nodiscard]] Kernel without_impossible_look_back(Kernel kernel, bool has_look_back);

}  // namespace rtcg::loopy
