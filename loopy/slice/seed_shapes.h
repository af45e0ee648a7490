#pragma once
// Internal header: it is not installed.

#include <cstddef>
#include <string_view>
#include <vector>

#include "rtcg/loopy/slice/slicing_problem.h"
#include "rtcg/loopy/slice/slicing_ranking.h"

// The shapes that a search tries first, before the choices of the model.

namespace rtcg::loopy::detail {

/// The places in the ranking of the tiles that hand-written matrix products use: the model's first
/// ones of each shape, because the model orders the variants of a shape better than the shapes.
///
/// @param architecture  MachineModel::architecture; nothing for one that the table does not know
[[nodiscard]] std::vector<std::size_t> seed_places(const SlicingProblem& problem,
                                                   const std::vector<RankedChoice>& ranked,
                                                   std::string_view architecture);

}  // namespace rtcg::loopy::detail
