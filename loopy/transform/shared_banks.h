#pragma once
// Internal header: it is not installed.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rtcg/loopy/kernel/kernel.h"

// Which threads of a warp meet in the banks of shared memory: what pad_bank_conflicts and
// swizzle_bank_conflicts share.

namespace rtcg::loopy {

using ConstantStrides = std::vector<std::int64_t>;

/// Nothing where one is no constant, or there is no such array.
[[nodiscard]] std::optional<ConstantStrides> constant_strides(const Kernel& kernel,
                                                              const std::string& array);

/// Lanes that a thread reads or writes side by side.
enum class JoinedLanes {
  vectors,   ///< those of vectors
  possible,  ///< all that a compiler may join: neighbours that begin at an aligned place
};

/// Turns that accesses to an array take: threads of the first warp whose elements are in one bank
/// take turns.
struct Turns {
  std::int64_t sum = 0;
  std::int64_t worst = 1;
};

/// What the first warp touches of an array in shared memory, where all loops are at their start.
class WarpAccesses {
 public:
  /// @param placed  as placed_on_axes gives it
  /// @param array   a temporary of constant lengths
  WarpAccesses(const Kernel& placed, const std::string& array, JoinedLanes joined);

  /// Turns in another layout, for all accesses together and the worst of them.
  [[nodiscard]] Turns turns(const ConstantStrides& strides, const ColumnSwizzle& swizzle) const;
  [[nodiscard]] std::size_t count() const noexcept { return accesses_.size(); }
  /// The most elements that a thread touches at once.
  [[nodiscard]] std::int64_t most_lanes() const noexcept { return most_lanes_; }

 private:
  using Element = std::vector<std::int64_t>;  ///< its indices
  struct OfWarp {
    std::int64_t bytes = 4;
    /// One for each thread; nothing for those that are not there, and where indices are only known
    /// when the kernel runs.
    std::vector<std::optional<Element>> elements{};
  };
  [[nodiscard]] std::int64_t turns_of(const OfWarp& access, const ConstantStrides& strides,
                                      const ColumnSwizzle& swizzle) const;

  const Temporary& temporary_;
  std::int64_t element_bytes_ = 4;
  std::int64_t most_lanes_ = 1;
  std::vector<OfWarp> accesses_{};
};

}  // namespace rtcg::loopy
