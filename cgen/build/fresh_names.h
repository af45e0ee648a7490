#pragma once

#include "rtcg/cgen/ast/module.h"
#include "rtcg/cgen/dialect/dialect.h"
#include "rtcg/cgen/support/name_generator.h"

namespace rtcg::cgen {

/// A generator of names that are neither reserved words of the dialect nor declared or used in
/// `module`.
[[nodiscard]] NameGenerator fresh_names(Dialect dialect, const Module& module = {});

}  // namespace rtcg::cgen
