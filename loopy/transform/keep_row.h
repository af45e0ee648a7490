#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

struct ArrayAccess;

struct KeepRowOptions {
  /// Registers of each thread, or shared memory of the block.
  AddressSpace address_space = AddressSpace::private_;
  /// Name of the copy; empty: `ARRAY_row`.
  std::string temporary_name{};
  /// Neighbours that are read at once: the length of the innermost loops along the row, which go
  /// from element to element. 0: one by one.
  std::int64_t vector_width = 0;
};

/// Copies a row of an array once for all nests that read it.
///
/// Rewrites, with threads j_1 and l_1
///     s = sum((j_1, j_0), x[i, 64*j_0 + j_1])
///     for l_0: for l_1: y[i, 64*l_0 + l_1] = x[i, 64*l_0 + l_1]/s
///   into
///     for x_row_0: for x_row_1: x_row[x_row_0] = x[i, 64*x_row_0 + x_row_1]
///     s = sum((j_1, j_0), x_row[j_0])
///     for l_0: for l_1: y[i, 64*l_0 + l_1] = x_row[l_0]/s
///
/// All nests are cut alike, onto the same axes of the block. In registers each thread keeps the
/// elements that it reads itself. In shared memory the copy has the whole row, one for each thread
/// of the block along other axes that the indices mention. Reads with other indices stay. What is
/// read under a condition is copied without it, and has to be within the array.
/// @param array   an argument that no statement writes between the reads, nor in a loop along the
///                row; but the last that reads it may update what it reads, `x[i, l] = x[i, l]/s`
/// @param inames  the loops along the row, of all nests: their ranges are constant
/// @throws InvalidInput  loopy.keep_row.not_possible, loopy.keep_row.nothing_kept,
///                       loopy.keep_row.cut_differently
[[nodiscard]] Kernel keep_row(Kernel kernel, std::string_view array,
                              const std::vector<std::string>& inames,
                              const KeepRowOptions& options = {});

/// Whether the indices of an access are known to be within the array wherever its loops are, also
/// where its conditions do not hold: a copy of the row may read what it reads.
[[nodiscard]] bool may_keep_without_conditions(const Kernel& kernel, const ArrayAccess& access);

}  // namespace rtcg::loopy
