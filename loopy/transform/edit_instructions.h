#pragma once

#include <map>
#include <string>
#include <string_view>

#include "rtcg/loopy/kernel/kernel.h"

// Statements are chosen as match_instructions says.

namespace rtcg::loopy {

/// Makes some statements wait for others.
///
/// @param later    the statements that wait
/// @param earlier  those that they wait for; a statement never waits for itself
/// @throws InvalidInput  loopy.add_dependency.nothing_fits, loopy.add_dependency.circle,
///                       loopy.match_instructions.syntax
/// @source Loo.py `add_dependency`
[[nodiscard]] Kernel add_dependency(Kernel kernel, std::string_view later,
                                    std::string_view earlier);

/// Removes statements. What waited for one waits for what that waited for.
///
/// @throws InvalidInput  loopy.match_instructions.syntax
/// @source Loo.py `remove_instructions`
[[nodiscard]] Kernel remove_instructions(Kernel kernel, std::string_view match);

/// Gives statements other ids.
///
/// @param new_ids  old ids and new ones
/// @throws InvalidInput  loopy.replace_instruction_ids.unknown_id,
///                       loopy.replace_instruction_ids.name_taken
/// @source Loo.py `replace_instruction_ids`
[[nodiscard]] Kernel replace_instruction_ids(Kernel kernel,
                                             const std::map<std::string, std::string>& new_ids);

/// Adds a tag to statements, for others to choose them by.
///
/// @throws InvalidInput  loopy.match_instructions.syntax
/// @source Loo.py `tag_instructions`
[[nodiscard]] Kernel tag_instructions(Kernel kernel, std::string_view tag,
                                      std::string_view match = {});

/// Takes away conditions that hold wherever the statements run.
///
/// Rewrites
///     for i in [0, n): b[i] = a[i] {if=i >= 0}
///   into
///     for i in [0, n): b[i] = a[i]
///
/// @throws InvalidInput  loopy.remove_predicates.nothing_fits, loopy.remove_predicates.not_implied,
///                       loopy.match_instructions.syntax
/// @source Loo.py `remove_predicates_from_insn`, which does not ask whether they hold
[[nodiscard]] Kernel remove_predicates(Kernel kernel, std::string_view match = {});

struct BarrierOptions {
  /// `local`, for the threads of a block, or `global`, for all.
  std::string scope = "global";
  /// Id of the barrier; empty: `barrier`, with a number where that is taken.
  std::string id{};
};
/// Puts a barrier between some statements and others, in the loops that all of them share.
///
/// @throws InvalidInput  loopy.add_barrier.nothing_fits, loopy.add_barrier.circle,
///                       loopy.add_barrier.unknown_scope, loopy.add_barrier.name_taken,
///                       loopy.match_instructions.syntax
/// @source Loo.py `add_barrier`
[[nodiscard]] Kernel add_barrier(Kernel kernel, std::string_view earlier, std::string_view later,
                                 const BarrierOptions& options = {});

}  // namespace rtcg::loopy
