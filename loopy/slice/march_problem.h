#pragma once
// Internal header: it is not installed.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rtcg/loopy/slice/enumerate_slicings.h"
#include "rtcg/loopy/slice/slicing_problem.h"

// What there is to keep for a block that marches along the slow loop of a stencil.

namespace rtcg::loopy::detail {

/// An array whose elements a march reads again.
struct MarchedArray {
  std::string array{};
  double element_bytes = 4;
  double elements = 1;             ///< of the array that are read
  std::int64_t length = 1;         ///< of the queue of a block
  std::int64_t thread_length = 0;  ///< of the queue of a thread; below 2: it keeps nothing
  double thread_box = 1;           ///< elements of it in each place of the queue
  /// Of the queue of a block that fills the queues of its threads: from the first plane that others
  /// read to the last that a thread's queue takes.
  std::int64_t feeding_length = 0;
  double other_reads = 0;      ///< that a thread's queue does not have, of a point
  double shifted_reads = 0;    ///< of these, at other places along the fast loop
  bool is_one_plane = false;   ///< whether these are all at one distance
  double reads = 1;            ///< of a point
  bool has_wide_rows = false;  ///< whether rows begin at multiples of 16 bytes
  /// Elements beyond those of a block's points along the fast loop and the one between.
  std::array<double, 2> halo = {0, 0};
};

struct MarchProblem {
  SlicedLoop march{};
  std::vector<SlicedLoop> across{};  ///< the fastest varying first; one or two
  std::vector<std::string> sums{};   ///< over distances: unrolled
  std::vector<MarchedArray> arrays{};
  double points = 1;
  double compulsory_bytes = 0;
  double operations = 0;        ///< of all points, in instructions
  double other_bytes = 0;       ///< of a point: accesses to other arrays
  double other_read_bytes = 0;  ///< of these, reads
  double other_reads = 0;       ///< of a point, of other arrays
  double float_clocks = 0;      ///< of all points, on one multiprocessor

  [[nodiscard]] std::int64_t length_between() const {
    return across.size() > 1 ? across[1].length : 1;
  }
};

/// Nothing where no loop but the fast one has reads at several distances along it.
/// @throws InvalidInput  loopy.slicings.missing_parameter
[[nodiscard]] std::optional<MarchProblem> read_march_problem(const Kernel& kernel,
                                                             const SlicingConstraints& constraints);

}  // namespace rtcg::loopy::detail
