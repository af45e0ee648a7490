#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

struct DuplicateOptions {
  /// The statements that get the new inames, as match_instructions takes them; empty: all.
  std::string within{};
  /// Names of the new inames, one for each; empty: `i_0`, with another number where that is taken.
  std::vector<std::string> new_names{};
};

/// Gives some statements loops of their own.
///
/// Rewrites
///     for i: S(i); T(i)
///   with T within into
///     for i: S(i)
///     for i_0: T(i_0)
///
/// Rules that use the inames are expanded in these statements.
/// @param inames  inames of loops or of reductions; the new ones are sequential
/// @throws InvalidInput  loopy.duplicate_inames.unknown_iname, loopy.duplicate_inames.unused,
///                       loopy.duplicate_inames.name_taken,
///                       loopy.duplicate_inames.bounds_depend,
///                       loopy.duplicate_inames.torn_value,
///                       loopy.duplicate_inames.carried_value, loopy.match_instructions.syntax
/// @source Loo.py `duplicate_inames`
[[nodiscard]] Kernel duplicate_inames(Kernel kernel, const std::vector<std::string>& inames,
                                      const DuplicateOptions& options = {});

/// Gives each reduction inames of its own: none is shared with another reduction, nor with the
/// loops around a statement.
///
/// Rewrites
///     b[i] = sum(k, a[i, k]);  c[i] = sum(k, a[k, i])
///   into
///     b[i] = sum(k, a[i, k]);  c[i] = sum(k_0, a[k_0, i])
///
/// @source Loo.py `make_reduction_inames_unique`
[[nodiscard]] Kernel make_reduction_inames_unique(Kernel kernel);

}  // namespace rtcg::loopy
