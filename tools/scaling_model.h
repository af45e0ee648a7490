#pragma once

#include <array>
#include <vector>

namespace rtcg::tools {

/// What messages take that a rank sends at once: latency_us + bytes / gbs.
struct Link {
  double latency_us = 0;
  double gbs = 1;  ///< in 10^9 bytes a second
};

/// Predicts what a stage of a time step takes on many ranks, each with a device, from what it takes
/// on one.
///
/// The mesh is a box of cubic cells of six tetrahedra each, cut into equal boxes. A rank computes
/// the elements without neighbours on other ranks while the values on the faces between ranks
/// travel, then the others. A stage is not shorter than what the host needs for its launches and
/// messages.
struct ScalingModel {
  struct Stage {
    double elements = 0;
    double us = 0;
  };
  std::vector<Stage> stages{};  ///< measured on one rank, of ascending numbers of elements
  double bytes_of_face = 0;     ///< of a message
  double host_us = 0;           ///< a stage's launches and messages, of ranks that have neighbours
  Link inside{};                ///< between devices of one machine
  Link between{};               ///< between machines
  int devices_of_machine = 8;

  /// On one rank: lines between the measured points.
  ///
  /// @pre  a measured stage
  [[nodiscard]] double stage_us(double elements) const;
  /// @param cells  of the whole box along each axis
  [[nodiscard]] double stage_us(const std::array<double, 3>& cells, int ranks) const;
};

/// The numbers of parts along each axis, with `parts` as their product, whose parts have the least
/// surface.
[[nodiscard]] std::array<int, 3> best_grid(const std::array<double, 3>& cells, int parts);

}  // namespace rtcg::tools
