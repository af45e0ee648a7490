#pragma once
// Internal header: it is not installed.

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "rtcg/loopy/analyze/footprint.h"
#include "rtcg/loopy/transform/precompute.h"

namespace rtcg::loopy {

struct StagedReads {
  Kernel kernel{};
  std::string temporary{};
  /// What the temporary has of the array; it drops axes of length 1.
  std::vector<FootprintAxis> box{};
};

struct ReadsToStage {
  Argument array{};
  /// Tells them by their indices.
  std::function<bool(const std::vector<Expr>&)> is_wanted{};
  /// An axis of the array that the temporary has even where it is one element long.
  std::optional<std::size_t> kept_axis{};
};

/// Does what add_prefetch() does, for some reads of an array; it does not record itself, and does
/// not ask what add_prefetch asks of its arguments.
///
/// @throws InvalidInput  as add_prefetch
[[nodiscard]] StagedReads stage_reads(Kernel kernel, const ReadsToStage& reads,
                                      const std::vector<std::string>& sweep,
                                      const PrecomputeOptions& options);

}  // namespace rtcg::loopy
