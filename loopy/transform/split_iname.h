#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

struct SplitOptions {
  /// Names of the new inames; empty: `i_outer`, `i_inner`, with a number where these are taken.
  std::string outer_name{};
  std::string inner_name{};
  /// Tags of the new inames, as parse_iname_tag takes them; empty: sequential.
  std::string outer_tag{};
  std::string inner_tag{};
  /// split_iname only: the statements that are split, as match_instructions takes them; the others
  /// keep the loop. Empty: all.
  std::string within{};
  /// split_iname only: first and last outer iterations that get code of their own, as
  /// separate_loop_head_tail_slab does it.
  std::int64_t head_slabs = 0;
  std::int64_t tail_slabs = 0;
};

/// Splits a loop into an outer loop and an inner loop of fixed length.
///
/// Rewrites
///     for i in [0, n): S(i)
///   into
///     for i_outer in [0, ceil(n / length)):
///       for i_inner in [0, length):
///         if (length*i_outer + i_inner < n) S(length*i_outer + i_inner)
///   and sum(i, e(i)) into sum((i_outer, i_inner), e(length*i_outer + i_inner))
///
/// @param iname   an untagged iname
/// @param length  iterations of the inner loop; > 0
/// @throws InvalidInput  loopy.split_iname.unknown_iname, loopy.split_iname.bad_length,
///                       loopy.split_iname.tagged_already, loopy.split_iname.name_taken,
///                       loopy.split_iname.axis_used_twice, loopy.iname_tag.unknown; what
///                       duplicate_inames and separate_loop_head_tail_slab throw, where these are
///                       asked for
/// @source Loo.py `split_iname`; Kloeckner 2014, arXiv:1405.7470
[[nodiscard]] Kernel split_iname(Kernel kernel, std::string_view iname, std::int64_t length,
                                 const SplitOptions& options = {});

}  // namespace rtcg::loopy
