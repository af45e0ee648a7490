#pragma once

#include <optional>
#include <string>

#include "rtcg/cgen/ast/module.h"

namespace rtcg::cgen {

/// Says which barrier only some of the threads of a block may come to; nothing where all threads
/// come to all of them.
///
/// A value depends on the thread where it is computed from a thread's index, from what shuffles,
/// votes and atomics give, or is assigned where only some threads come; what memory holds does not,
/// unless its address does. Barriers of warps and what functions do that are called are not looked
/// at.
[[nodiscard]] std::optional<std::string> why_barriers_diverge(const Module& module);

}  // namespace rtcg::cgen
