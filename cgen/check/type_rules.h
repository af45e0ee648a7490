#pragma once
// Internal header: it is not installed.

#include "rtcg/cgen/ast/statement.h"

// The rules for types and expressions; check_types has the rules for statements.

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

/// That a variable is allowed in its memory here, with its alignment.
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

/// What a requires clause takes: a bool.
/// @throws InvalidInput  cgen.check_types.condition
void require_constraint(const Expr& requirement);

/// @returns the type of the elements that a range-based loop runs over; Unknown for those of
/// classes
/// @throws InvalidInput  cgen.check_types.not_a_range
Type require_range(const Expr& range);

/// That there is a name for each member of `type`, if these are known.
/// @throws InvalidInput  cgen.check_types.structured_binding
void require_binding(const StructuredBinding& binding, const Type& type, SourceOrigin where);

/// @throws InvalidInput  cgen.check_types.bad_type, cgen.check_types.void_object,
///   cgen.check_types.specifier
void require_exception(const Parameter& exception, SourceOrigin where);

/// That `new` can make this, from these arguments where they are not a constructor's.
/// @throws InvalidInput  cgen.check_types.bad_type, cgen.check_types.void_object,
///   cgen.check_types.conversion
void require_new_object(const New& made, const Expr& expr);

/// That specifiers and `= default`, `= delete` and `= 0` fit each other.
/// @throws InvalidInput  cgen.check_types.specifier
void require_function_form(const Function& function, bool is_in_record, SourceOrigin where);
/// @throws InvalidInput  cgen.check_types.specifier
void require_record_form(const RecordDefinition& record, bool is_in_record, SourceOrigin where);

}  // namespace rtcg::cgen
