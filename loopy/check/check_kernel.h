#pragma once

#include <cstdint>

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// Refuses kernels without a meaning: undeclared names, statements outside of the loops whose
/// inames they use, dependencies without an order, axes without a length.
///
/// Expects expanded rules and no types; with types, indices have to be integers. check_bounds and
/// check_races check the accesses to elements.
///
/// @throws InvalidInput
///   of names and lengths: loopy.check_kernel.bad_name, bad_length;
///   of statements: loopy.check_kernel.duplicate_id, unknown_dependency, dependency_cycle,
///     bad_target, undefined_temporary, unknown_name, index_count, index_type;
///     loopy.type_of.unknown_function, argument_count;
///   of inames: loopy.check_kernel.unknown_iname, inactive_iname, missing_outer_iname,
///     reduced_twice, axis_used_twice, data_dependent_axis, no_constant_length, too_many_threads;
///   of images: what check_images throws
void check_kernel(const Kernel& kernel);

}  // namespace rtcg::loopy
