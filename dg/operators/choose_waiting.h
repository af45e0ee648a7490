#pragma once
// Internal header: it is not installed.

#include <string>
#include <vector>

#include "rtcg/dg/operators/discretization.h"
#include "rtcg/dg/operators/stage_runner.h"
#include "rtcg/distributed/exchange/waiting.h"
#include "rtcg/distributed/group/group.h"
#include "rtcg/loopy/tune/wisdom.h"

namespace rtcg::dg::detail {

/// Whether Waiting::kernels is one of the ways, on all ranks, which all call it: a stage is one
/// kernel, and gives the bits of the other ways. That is tried, since compilers join products and
/// sums in one of several ways, and the kernels are not the same. State and residual are changed.
[[nodiscard]] bool can_wait_in_kernels(StageRunner& runner, const Discretization& on,
                                       const distributed::Group& group);

/// Decides who waits for the messages of a step: hosts, devices or kernels. It is the fastest way,
/// for which some steps are timed, or which is remembered for this mesh and number of ranks. The
/// runner waits in this way from then on. Its state becomes zero.
///
/// All ranks call it and get the same answer: that of the slowest one.
///
/// @param key        what the kernels are, for `wisdom`
/// @param remembers  adds what is measured to `wisdom`
/// @cost  about 0.1 s if nothing is remembered
[[nodiscard]] distributed::Waiting choose_waiting(StageRunner& runner, const Discretization& on,
                                                  const std::vector<Stage>& stages,
                                                  const std::string& key,
                                                  const loopy::Wisdom& wisdom, bool remembers);

}  // namespace rtcg::dg::detail
