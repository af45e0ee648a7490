#pragma once

#include <string>

#include "rtcg/cgen/ast/statement.h"

// Short forms for messages; what is compiled comes from print/.

namespace rtcg::cgen {

/// E.g. `const f32*`.
[[nodiscard]] std::string describe(const Type& type);
/// C-like, every operation in parentheses, cut off where it grows long.
[[nodiscard]] std::string describe(const Expr& expr);
/// The kind of a statement and what it names, e.g. `declaration of 'x'`.
[[nodiscard]] std::string describe(const Statement& statement);

}  // namespace rtcg::cgen
