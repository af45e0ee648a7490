#pragma once
// Internal header: it is not installed.

#include "rtcg/cgen/ast/type.h"

namespace rtcg::cgen {

/// value_type(type) as a part of `type`, which it lives as long as: a copy would count references.
[[nodiscard]] const Type& value_type_within(const Type& type);

}  // namespace rtcg::cgen
