#pragma once
// Internal header: it is not installed.

#include <cstdint>
#include <optional>
#include <vector>

#include "rtcg/loopy/interpret/machine.h"
#include "rtcg/loopy/interpret/mipmap.h"

// What textures give, with bounds for the weights of devices.

namespace rtcg::loopy::interpretation {

/// An image that expressions of a kernel read.
class FetchedImage {
 public:
  /// @param machine  one of those that evaluate the expressions, with its arguments
  FetchedImage(const Machine& machine, const Argument& image);

  /// The element, which may be outside of the image; of a mipmap that of level 0.
  [[nodiscard]] Value element(Machine& machine, const std::vector<std::int64_t>& indices) const;
  /// What the image has at a position, in elements; 0 is element 0. A level may follow.
  ///
  /// Devices round weights to 1/256, and so do products of weights of several axes; a position that
  /// is between two elements within its error may get either. Normalised coordinates have errors
  /// that grow with the lengths of the axes.
  [[nodiscard]] Value between(Machine& machine, const std::vector<Value>& position) const;
  /// A device may have any value.
  [[nodiscard]] Value unknown() const;

 private:
  struct Coordinate;
  [[nodiscard]] std::int64_t length(std::size_t axis, int level) const;
  [[nodiscard]] Value load(Machine& machine, const std::vector<std::int64_t>& indices,
                           int level) const;
  [[nodiscard]] std::optional<std::vector<Coordinate>> coordinates_of(
      const std::vector<Value>& position) const;
  [[nodiscard]] Value at_level(Machine& machine, const std::vector<Coordinate>& of_level_0,
                               int level) const;
  [[nodiscard]] Value mixed(const Value& near, const Value& far, long double weight) const;

  int variable_;
  ImageReads reads_;
  Variable level_0_;  // without its numbers, which the machine has
  std::vector<MipmapLevel> data_{};
  std::vector<Variable> levels_{};  // of a mipmap; they point into data_
};

}  // namespace rtcg::loopy::interpretation
