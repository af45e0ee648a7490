#pragma once
// Internal header: it is not installed.

#include <cstddef>
#include <vector>

#include "rtcg/loopy/slice/slicing_problem.h"
#include "rtcg/loopy/slice/slicing_ranking.h"

// Shapes that were fast wherever they were measured, whatever the model says.

namespace rtcg::loopy::detail {

/// Where in the ranking tiles of products of matrices stand that hand-written kernels have: the
/// model's first ones of each shape, since its order of shapes is what is not to be relied on.
[[nodiscard]] std::vector<std::size_t> usual_places(const SlicingProblem& problem,
                                                    const std::vector<RankedChoice>& ranked);

}  // namespace rtcg::loopy::detail
