#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// Gives an iname another name, or unites it with an iname that has the same bounds.
///
/// Rewrites
///     for i: S(i)
///     for j: T(j)
///   with i becoming j into
///     for j: S(j); T(j)
///
/// @param new_name  a new name; or an iname over the same values, that no statement uses together
///                  with `iname`: then the tag of `new_name` counts. Refused where one loop would
///                  read or write an element before the other one did
/// @throws InvalidInput  loopy.rename_iname.unknown_iname, loopy.rename_iname.name_taken,
///                       loopy.rename_iname.different_bounds, loopy.rename_iname.used_together,
///                       loopy.rename_iname.carried_value
/// @source Loo.py `rename_iname`
[[nodiscard]] Kernel rename_iname(Kernel kernel, std::string_view iname, std::string_view new_name);
[[nodiscard]] std::optional<std::string> why_not_rename_iname(const Kernel& kernel,
                                                              std::string_view iname,
                                                              std::string_view new_name);

/// Removes inames that no statement, rule or reduction uses; of the others' bounds remains what
/// they say without them.
///
/// @source Loo.py `remove_unused_inames`
[[nodiscard]] Kernel remove_unused_inames(Kernel kernel);

}  // namespace rtcg::loopy
