#pragma once

#include <string_view>

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// A statement in C: `"${b[i]} = frob(${a[i]});"` with its quotes. All parts count as read.
///
/// @throws InvalidInput  loopy.parse_statements.syntax, loopy.parse_expr.syntax
[[nodiscard]] RawCode parse_raw_code(std::string_view text);

/// Declared reads and writes of C text that are parts of it are known by their elements: these
/// parts are the accesses, and the names need no further declaration.
[[nodiscard]] RawCode with_known_places(RawCode raw);

}  // namespace rtcg::loopy
