#pragma once

#include "rtcg/cgen/ast/statement.h"

// The rules for types and expressions, of which check_types applies the ones for statements.
// Internal to check.

namespace rtcg::cgen {

/// A type that C has: no array of functions, no pointer to a reference and so on.
/// @throws InvalidInput  cgen.check_types.bad_type
void require_valid(const Type& type, SourceOrigin where);

/// A valid type of an object that a name may have.
/// @throws InvalidInput  cgen.check_types.bad_type, cgen.check_types.void_object
void require_object(const Type& type, const std::string& name, SourceOrigin where);

/// @throws InvalidInput  cgen.check_types.conversion
void require_initializes(const Type& type, const Expr& value, const std::string& name,
                         SourceOrigin where);

/// That a variable may lie in its memory here, and be aligned so.
/// @throws InvalidInput  cgen.check_types.misplaced, cgen.check_types.shared_initializer,
///   cgen.check_types.bad_type, cgen.check_types.bad_alignment
void require_memory(const Declaration& declaration, bool is_in_function, SourceOrigin where);

/// What kernels alone have or lack: result, parameters, bounds.
/// @throws InvalidInput  cgen.check_types.kernel_result, cgen.check_types.kernel_parameter,
///   cgen.check_types.launch_bounds
void require_kernel_rules(const Function& function, SourceOrigin where);

/// @throws InvalidInput  cgen.check_types.bad_alignment
void require_alignment(std::optional<int> align_bytes, const std::string& name, SourceOrigin where);

/// @throws InvalidInput  cgen.check_types.condition
void require_condition(const Expr& condition);

}  // namespace rtcg::cgen
