#pragma once

#include <optional>
#include <vector>

#include "rtcg/dg/flux/evaluators.h"

namespace rtcg::dg::detail {

/// A volume flux that is a sum of fields with weights that are constant within an element.
struct LinearVolume {
  std::vector<std::vector<int>> reads;  ///< of each field's flux, the fields that it is made of
  int terms = 0;                        ///< of the longest of these lists
  Evaluators weights;                   ///< [field][term]; 0 after the end of a shorter list
};

/// nullopt: `flux` is not linear in the fields, has a constant part, or reads coordinates.
[[nodiscard]] std::optional<LinearVolume> linear_volume(const Evaluators& flux);

}  // namespace rtcg::dg::detail
