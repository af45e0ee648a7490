#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

struct BufferOptions {
  /// What the buffer's elements are at first, in terms of `base`, the array's element: `0`,
  /// `2*base`.
  std::string init = "base";
  /// What the array's elements become in the end, in terms of `base` and `buffer`:
  /// `base + buffer`.
  std::string store = "buffer";
  /// Name of the buffer; empty: `ARRAY_buffer`.
  std::string temporary_name{};
  /// Tag of the inames that fill the buffer and write it back, such as `l.auto`; empty: those of
  /// the inames that are buffered over.
  std::string default_tag{};
  /// false: the buffer is not filled first. The first statement that touches the array then writes
  /// each element that is written back, and reads none.
  bool is_filled = true;
};

/// Works on a copy of what loops touch of an array, and writes it back in the end.
///
/// Rewrites
///     for i: for k: c[i] = c[i] + a[i, k]                     buffered over no iname
///   into
///     for i:
///       c_buffer = c[i]
///       for k: c_buffer = c_buffer + a[i, k]
///       c[i] = c_buffer
///
/// All accesses to the array have the same indices, but for those of statements outside of a
/// sequential loop in which the copy is made again and again. The copy is made within the loops
/// that the indices mention, but for the buffered inames, for each of whose values it has an
/// element; inames that the indices do not mention run between the copy and the writing back.
/// @param inames  in the indices, and with constant bounds around the other inames
/// @throws InvalidInput  loopy.buffer_array.unknown_array, loopy.buffer_array.not_written,
///                       loopy.buffer_array.different_accesses, loopy.buffer_array.bad_inames,
///                       loopy.buffer_array.name_taken, loopy.buffer_array.reorders_loops,
///                       loopy.buffer_array.not_all_written, loopy.iname_tag.unknown,
///                       loopy.parse_expr.syntax, and what footprint throws
/// @source Loo.py `buffer_array`
[[nodiscard]] Kernel buffer_array(Kernel kernel, std::string_view array,
                                  const std::vector<std::string>& inames = {},
                                  const BufferOptions& options = {});

}  // namespace rtcg::loopy
