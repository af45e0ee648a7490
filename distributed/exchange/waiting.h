#pragma once

#include <optional>
#include <string_view>

namespace rtcg::distributed {

/// Who waits for the messages of Rounds, as steps of dg and sums of few numbers use them. The bits
/// are the same in all ways.
enum class Waiting {
  hosts,
  /// If each rank has a device of its own that reaches those of the others; otherwise hosts. A host
  /// still waits until its partners' hosts have submitted what its stream is to wait for.
  devices,
  /// As `devices`. The fused kernel of a solver of dg besides writes neighbours' ghosts in their
  /// memory, and waits for them itself: nothing is packed, and a stage is one launch.
  kernels,
  /// Sums of few numbers wait as by `devices`. A solver of dg times some steps in all ways that it
  /// has, and remembers which is fastest.
  measured,
};

[[nodiscard]] std::string_view to_string(Waiting waiting);
[[nodiscard]] std::optional<Waiting> parse_waiting(std::string_view name);

}  // namespace rtcg::distributed
