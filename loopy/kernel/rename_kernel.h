#pragma once
// Internal header: it is not installed.

#include <functional>
#include <map>
#include <string>

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// New names by old ones.
using NewNames = std::map<std::string, std::string, std::less<>>;

/// The new name, or the old one if it has no new one.
[[nodiscard]] const std::string& new_name(const NewNames& names, const std::string& old);

/// The kernel with its arguments, temporaries, inames, rules and statements called otherwise.
///
/// @param names        of all but statements
/// @param ids          of statements
/// @param rename_expr  renames what an expression mentions
[[nodiscard]] Kernel rename_kernel(Kernel kernel, const NewNames& names, const NewNames& ids,
                                   const std::function<Expr(const Expr&)>& rename_expr);

}  // namespace rtcg::loopy
