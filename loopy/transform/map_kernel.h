#pragma once
// Internal header: it is not installed.

#include <functional>
#include <optional>
#include <string_view>

#include "rtcg/loopy/kernel/kernel.h"
#include "rtcg/loopy/transform/refusal.h"

// Changes of all constraints, expressions or chosen statements of a kernel.

namespace rtcg::loopy {

/// Each set of constraints of the domains replaced.
[[nodiscard]] Kernel map_constraints(Kernel kernel,
                                     const std::function<ConstraintSet(const ConstraintSet&)>& map);

/// Each expression of statements and rules; `map` is not asked about rules with a parameter that
/// is called `shadowed`.
[[nodiscard]] Kernel map_expressions_unless_shadowed(Kernel kernel, std::string_view shadowed,
                                                     const std::function<Expr(const Expr&)>& map);

/// Ids of the statements that fit, as match_instructions takes them; none and a refusal where the
/// text cannot be read.
[[nodiscard]] NameSet matching_ids(const Kernel& kernel, std::string_view match,
                                   std::optional<Refusal>& refusal);
/// `change` applied to each statement that fits.
[[nodiscard]] Kernel map_matching(Kernel kernel, std::string_view match,
                                  const std::function<void(Instruction&)>& change);

}  // namespace rtcg::loopy
