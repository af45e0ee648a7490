#pragma once

namespace rtcg::distributed {

/// Who waits for the messages of Rounds, as steps of dg and sums of few numbers use them. The bits
/// are the same in all ways.
enum class Waiting {
  hosts,
  /// If each rank has a device of its own that reaches those of the others; otherwise hosts. A host
  /// still waits until its partners' hosts have submitted what its stream is to wait for.
  devices,
  /// Sums of few numbers wait as by `devices`. A solver of dg times some steps in both ways, and
  /// remembers which is faster.
  measured,
};

}  // namespace rtcg::distributed
