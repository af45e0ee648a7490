#pragma once

#include "rtcg/cgen/ast/module.h"

namespace rtcg::cgen {

/// Checks that every expression is well typed and every statement stands where it may, whatever the
/// dialect: C's rules, with C++'s where the two differ in what they allow.
///
/// Expressions of Unknown, Auto, Decltype or Named type are taken to be right.
///
/// @throws InvalidInput  cgen.check_types.* (docs/errors.md); the message names the node and the
///   C++ line that built it
void check_types(const Module& module);

/// Checks a statement as if it stood in the body of a function of unknown result, or at file scope
/// when it may stand there only.
void check_types(const Statement& statement);
void check_types(const Expr& expr);
/// Checks the declaration, not just the name.
inline void check_types(const Declared& declared) {
  check_types(declared.declaration());
}

}  // namespace rtcg::cgen
