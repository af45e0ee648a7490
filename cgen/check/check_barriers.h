#pragma once

#include <optional>
#include <string>

#include "rtcg/cgen/ast/module.h"

namespace rtcg::cgen {

/// Finds a barrier that only some of the threads of a block may reach; nothing if all threads reach
/// all barriers.
///
/// A value depends on the thread if it is computed from a thread's index or from results of
/// shuffles, votes and atomics, or is assigned where only some threads come. A value read from
/// memory depends on the thread only if its address does. Barriers of warps and the bodies of
/// called functions are not checked, but a call of a function that waits by an instruction of PTX
/// (`barrier.cluster.wait`) is a barrier.
[[nodiscard]] std::optional<std::string> why_barriers_diverge(const Module& module);

}  // namespace rtcg::cgen
