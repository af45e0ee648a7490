#pragma once

#include <string_view>
#include <vector>

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// Domains in isl's notation: `[n, m] -> {[i, j]: 0 <= i < n and 0 <= j < m}`; several sets one
/// after the other make several domains.
///
/// The list of parameters may be left out; otherwise it must be complete. Conditions: comparisons
/// of affine expressions, in chains (`0 <= i, j < n` bounds both), `=` and `==`, `!=`, `and`, `or`,
/// `i mod 2 = 0`, `n // 2`, `floor(n / 2)` and `ceil(n / 2)`, `exists l: i = 2*l`, and `2l` for
/// `2*l`. A union has its first part as the domain, the rest as Domain::other_parts. So have
/// conditions that rounding or `exists` make one: `i mod 4 < 2` has a part for each remainder.
/// @throws InvalidInput  loopy.parse_domain.syntax, loopy.parse_domain.duplicate_iname,
///                       loopy.parse_domain.not_affine, loopy.parse_domain.unknown_name
/// @throws Unsupported   loopy.parse_domain.disjunction, loopy.parse_domain.exists,
///                       loopy.parse_domain.rounding
[[nodiscard]] std::vector<Domain> parse_domains(std::string_view text);

/// Facts about parameters: `n mod 16 = 0 and n >= 1`.
/// @throws  as parse_domains
[[nodiscard]] ConstraintSet parse_assumptions(std::string_view text);

/// The same conditions from an expression: comparisons joined by `and` and `or`.
/// @throws InvalidInput  loopy.parse_domain.not_affine
/// @throws Unsupported   loopy.parse_domain.disjunction, loopy.parse_domain.rounding
[[nodiscard]] Domain to_domain(std::vector<std::string> inames, const Expr& condition);
/// The same where it is no union.
[[nodiscard]] ConstraintSet to_constraints(const Expr& condition);

}  // namespace rtcg::loopy
