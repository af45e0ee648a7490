#pragma once

#include "rtcg/cgen/ast/module.h"
#include "rtcg/cgen/dialect/dialect.h"
#include "rtcg/cgen/support/name_generator.h"

namespace rtcg::cgen {

/// A generator whose names collide with no reserved word of the dialect and no name that `module`
/// declares or uses anywhere.
[[nodiscard]] NameGenerator fresh_names(Dialect dialect, const Module& module = {});

}  // namespace rtcg::cgen
