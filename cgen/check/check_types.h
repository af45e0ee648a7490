#pragma once

#include "rtcg/cgen/ast/module.h"

namespace rtcg::cgen {

/// Checks that every expression is well typed and every statement is where it is allowed, in any
/// dialect: C's rules, with C++'s where the two differ.
///
/// Expressions of Unknown, Auto, Decltype or Named type are accepted.
///
/// @throws InvalidInput  cgen.check_types.* (docs/errors.md); the message names the node and the
///   C++ line that built it
void check_types(const Module& module);

/// Checks a statement as one in the body of a function of unknown result, or as one at file scope
/// if it is allowed only there.
void check_types(const Statement& statement);
void check_types(const Expr& expr);
/// Checks the declaration, not just the name.
inline void check_types(const Declared& declared) {
  check_types(declared.declaration());
}

}  // namespace rtcg::cgen
