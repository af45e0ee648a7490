#pragma once
// Internal header: it is not installed.

#include <functional>
#include <string>
#include <vector>

#include "rtcg/loopy/slice/enumerate_slicings.h"
#include "rtcg/loopy/tune/wisdom.h"
#include "rtcg/runtime/device/device.h"

// How kernels of arrays choose a slicing: wisdom first, then the model.

namespace rtcg::arrays::detail {

/// The constraints of slicings that `device` runs, for some lengths: at most 512 threads a block.
[[nodiscard]] loopy::SlicingConstraints constraints_on(const loopy::IntegerValues& lengths,
                                                       runtime::Device device);

/// Tries slicings until the device accepts one, and keeps the reasons against the others.
class SlicingTrials {
 public:
  /// @param use  makes a slicing ready to run; throws an Error if it does not fit
  explicit SlicingTrials(std::function<void(const loopy::Slicing&)> use) : use_(std::move(use)) {}

  /// Whether the slicing fits; it is in use then.
  [[nodiscard]] bool takes(const loopy::Slicing& slicing);
  /// The slicing that wisdom has for lengths within a factor of two of these, if it fits.
  ///
  /// @param allows  whether a slicing may be used at all; null: all may
  [[nodiscard]] bool takes_from_wisdom(
      const loopy::Wisdom& wisdom, const loopy::Kernel& kernel, runtime::Device device,
      const loopy::IntegerValues& lengths,
      const std::function<bool(const loopy::Slicing&)>& allows = {});
  /// The model's first choice that fits. It gives up when most_refused do not: the model does not
  /// know all that a device may lack.
  ///
  /// @param forms  a choice as the forms to try, the first ones first; null: as it is
  [[nodiscard]] bool takes_from_model(
      const loopy::Kernel& kernel, const loopy::SlicingConstraints& constraints,
      const std::function<std::vector<loopy::Slicing>(const loopy::Slicing&)>& forms = {});

  static constexpr std::size_t most_refused = 16;
  /// Slicings that did not fit, each with the reason.
  [[nodiscard]] const std::vector<std::string>& refused() const noexcept { return refused_; }

 private:
  std::function<void(const loopy::Slicing&)> use_;
  std::vector<std::string> refused_;
};

}  // namespace rtcg::arrays::detail
