#pragma once

#include <string_view>

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// Makes a substitution rule out of the only assignment to a variable: its value is computed where
/// it is used. A temporary goes; an argument is still assigned, but no longer read.
///
/// Rewrites
///     t[i] = 2*a[i];  b[i] = t[i] + t[i+1]
///   into
///     t_subst(i) := 2*a[i];  b[i] = t_subst(i) + t_subst(i + 1)
///
/// A type that was stated for the temporary becomes a cast where the value has another one.
/// @param temporary  a temporary or an array argument: written by one statement, without
///                   conditions, whose indices are different inames; what it reads is not written
///                   afterwards, and the statements that read it are within the other inames of its
///                   value. Where bounds of its sums depend on loops or on computed values, only
///                   the element of the same iteration is read. An argument: no element is read
///                   before it is written
/// @param rule       name of the rule; empty: `t_subst`
/// @throws InvalidInput  loopy.assignment_to_subst.unknown_temporary,
///                       loopy.assignment_to_subst.not_one_assignment,
///                       loopy.assignment_to_subst.bad_target,
///                       loopy.assignment_to_subst.argument_value,
///                       loopy.assignment_to_subst.input_changes,
///                       loopy.assignment_to_subst.reorders_loops,
///                       loopy.assignment_to_subst.inactive_iname,
///                       loopy.assignment_to_subst.reduced_twice,
///                       loopy.assignment_to_subst.name_taken
/// @source Loo.py `assignment_to_subst`
[[nodiscard]] Kernel assignment_to_subst(Kernel kernel, std::string_view temporary,
                                         std::string_view rule = {});

}  // namespace rtcg::loopy
