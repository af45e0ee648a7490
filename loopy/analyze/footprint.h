#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// The range of some accesses along one axis while inames are swept: `base` ... `base + length -
/// 1`.
struct FootprintAxis {
  Affine base{};  ///< in inames that are not swept, and parameters
  std::int64_t length_elements = 1;
};

/// The box around the elements that `accesses` touch while `sweep` takes all its values.
///
/// @param accesses  indices of each access, of the same rank; affine
/// @throws InvalidInput  loopy.footprint.not_affine, loopy.footprint.unbounded_sweep,
///                       loopy.footprint.no_common_base
[[nodiscard]] std::vector<FootprintAxis> footprint(const Kernel& kernel, const std::string& what,
                                                   const std::vector<std::vector<Expr>>& accesses,
                                                   const NameSet& sweep);

}  // namespace rtcg::loopy
