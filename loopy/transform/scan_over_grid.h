#pragma once

#include <string_view>

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

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
/// @param iname    on an axis of the grid; the upper bound of the scan grows with it
/// @param threads  that scan the parts in the second launch, along l.0
/// @throws InvalidInput  loopy.scan_over_grid.unknown_iname, loopy.scan_over_grid.not_on_grid,
///                       loopy.scan_over_grid.no_scan, loopy.scan_over_grid.bounds,
///                       loopy.scan_over_grid.surroundings, loopy.scan_over_grid.threads
[[nodiscard]] Kernel scan_over_grid(Kernel kernel, std::string_view iname,
                                    std::int64_t threads = 256);

/// The inames on axes of the grid that scans go along.
[[nodiscard]] NameSet grid_inames_of_scans(const Kernel& kernel);

}  // namespace rtcg::loopy
