#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

struct PrecomputeOptions {
  /// Tag of the new inames. Empty: `l.auto` if all threads of a block need the same values,
  /// otherwise loops.
  std::string default_tag{};
  /// Names of the new inames, one for each axis that is kept; empty: `NAME_0`, `NAME_1`, ... An
  /// iname that is there already is shared: it takes the same values, and keeps its tag. If all
  /// uses have it as their index, the values may read what other statements change in its
  /// iterations.
  std::vector<std::string> inames{};
  /// Name of the temporary; empty: `RULE_store`, `ARRAY_fetch`.
  std::string temporary_name{};
  AddressSpace address_space = AddressSpace::automatic;
  /// Loops around the new statement, besides those that its values depend on.
  std::vector<std::string> outer_inames{};
  /// Neighbours in the array that are read at once, 2 or 4, of at most 16 bytes: add_prefetch only,
  /// where rows are known to begin at multiples of them. 0: one by one. They are also
  /// written at once if they are contiguous in the temporary.
  std::int64_t vector_width = 0;
  /// Reads at constant distances from those that are named are replaced as well: add_prefetch only.
  bool any_offset = false;
  /// Calls that mention some of the swept inames are replaced as well, each for the values that its
  /// own of them take: precompute only. The temporary has the values of all of them.
  bool any_sweep = false;
  /// Statements whose uses are replaced, as match_instructions takes it; empty: all.
  std::string within{};
};

/// Computes a substitution rule ahead, for all values that its arguments take while some inames are
/// swept, into a temporary, and reads that where the rule was called.
///
/// Rewrites
///     f(x) := a[x]*a[x];  out[16*io + ii] = f(16*io + ii)         swept: ii
///   into
///     f_store[f_store_0] = a[16*io + f_store_0]*a[16*io + f_store_0]
///     out[16*io + ii] = f_store[ii]
///
/// Calls that mention all swept inames are replaced, or, with PrecomputeOptions::any_sweep, some;
/// others stay, also where other rules call the rule. The arguments' footprint is a box around what
/// the calls ask for; axes of length 1 are dropped. Values are 0 where the box goes beyond what the
/// rule can read. The new statement is within the loops that the values depend on, and those that
/// change what the rule reads.
/// @param rule   its name, or one of its calls, `f(16*io + ii, j)`: only calls with these arguments
///               are replaced; with `:` for an argument, any, and the inames of it are swept
/// @param sweep  inames with a constant range, of statements or of reductions
/// @throws InvalidInput  loopy.precompute.not_possible, loopy.precompute.nothing_replaced,
///                       loopy.precompute.input_changes, loopy.precompute.reorders_loops, and what
///                       footprint throws
/// @source Loo.py `precompute`
[[nodiscard]] Kernel precompute(Kernel kernel, std::string_view rule,
                                const std::vector<std::string>& sweep,
                                const PrecomputeOptions& options = {});

/// Copies what an array's accesses touch, while some inames are swept, into a temporary ahead of
/// them: into shared memory for a block, into registers for a thread.
///
/// Rewrites
///     out[16*io + ii] = sum(k, a[16*io + k])                        swept: k
///   into
///     a_fetch[a_fetch_0] = a[16*io + a_fetch_0]
///     out[16*io + ii] = sum(k, a_fetch[k])
///
/// The part of the footprint that may be outside of the array is read as 0, without a branch around
/// a barrier. Only reads that mention all swept inames are replaced, also
/// those within rules.
/// @param array  the array, an argument or a temporary, or one of its accesses as it stands in the
/// kernel now,
///               `a[16*j_outer + j_inner, i]`: only reads with these indices are replaced, with
///               PrecomputeOptions::any_offset also `a[16*j_outer + j_inner + 1, i]`; `:` for an
///               index stands for the whole axis, of constant length; or its uses with one tag,
///               `a$near`
/// @throws InvalidInput  loopy.add_prefetch.not_possible, loopy.add_prefetch.nothing_replaced,
///                       loopy.add_prefetch.input_changes, loopy.add_prefetch.reorders_loops,
///                       loopy.add_prefetch.no_vector, loopy.add_prefetch.image,
///                       loopy.parse_expr.syntax, and what footprint throws
/// @source Loo.py `add_prefetch`
[[nodiscard]] Kernel add_prefetch(Kernel kernel, std::string_view array,
                                  const std::vector<std::string>& sweep,
                                  const PrecomputeOptions& options = {});

}  // namespace rtcg::loopy
