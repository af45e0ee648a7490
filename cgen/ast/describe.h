#pragma once

#include <string>

#include "rtcg/cgen/ast/statement.h"

// Short forms for messages; print/ writes the compiled text.

namespace rtcg::cgen {

/// E.g. `const f32*`.
[[nodiscard]] std::string describe(const Type& type);
/// C-like, every operation in parentheses, cut off if long.
[[nodiscard]] std::string describe(const Expr& expr);
/// The kind of a statement and its name, e.g. `declaration of 'x'`.
[[nodiscard]] std::string describe(const Statement& statement);

}  // namespace rtcg::cgen
