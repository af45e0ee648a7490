#pragma once

#include <string_view>

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// A statement in C: `"${b[i]} = frob(${a[i]});"` with its quotes. All parts count as read.
///
/// @throws InvalidInput  loopy.parse_statements.syntax, loopy.parse_expr.syntax
[[nodiscard]] RawCode parse_raw_code(std::string_view text);

/// Of what C text is said to read and write, that which its parts name is known by its place: such
/// parts are what is read and written, and the names need no other mention.
[[nodiscard]] RawCode with_known_places(RawCode raw);

}  // namespace rtcg::loopy
