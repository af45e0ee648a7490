#pragma once

#include <set>
#include <string>

#include "rtcg/cgen/ast/module.h"
#include "rtcg/cgen/dialect/dialect.h"

namespace rtcg::cgen {

/// How the type of a use is compared with that of the declaration.
enum class UseTypes {
  exact,
  without_qualifiers,  ///< const, volatile and address spaces of what is pointed at may differ
};

/// Checks that every name is declared before it is used, once a scope, with the type that its uses
/// take it to have, and may be a name.
///
/// Names with `::` in them belong to others and are not looked up. What headers declare is not
/// known here either: pass it as `known_names`.
///
/// @param dialect      whose reserved words no name may be
/// @param known_names  names that exist without being declared in `module`
/// @throws InvalidInput  cgen.check_names.undeclared, cgen.check_names.duplicate,
///   cgen.check_names.reserved, cgen.check_names.not_an_identifier, cgen.check_names.missing_label,
///   cgen.check_names.duplicate_label, cgen.check_names.line_break,
///   cgen.check_names.other_type; the message names the C++ line
///   that built the node
void check_names(const Module& module, Dialect dialect,
                 const std::set<std::string>& known_names = {},
                 UseTypes use_types = UseTypes::exact);

/// Checks a piece of a function body: `statement` and what it declares.
void check_names(const Statement& statement, Dialect dialect,
                 const std::set<std::string>& known_names = {});

}  // namespace rtcg::cgen
