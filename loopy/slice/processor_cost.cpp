// What a slicing takes on a processor: the instructions of vectors that a core issues for a block.
#include <algorithm>
#include <cmath>

#include "rtcg/loopy/slice/slicing_cost.h"

namespace rtcg::loopy::detail {
namespace {

// Of a core. All are estimates for processors of the last ten years.
constexpr double vector_bytes = 32;
constexpr double vector_registers = 16;
constexpr double issued_per_clock = 2;    // instructions of arithmetic; loads, beside them
constexpr double clocks_of_addition = 4;  // that a sum waits for the one before
constexpr double clocks_of_iteration = 1.5;
constexpr double clocks_of_spill = 0.5;        // of a sum that registers do not hold, in each step
constexpr double clocks_of_gathered_lane = 1;  // that is read, or written, by itself
constexpr double clocks_of_lanes = 8;          // to add up those of a vector
constexpr double clocks_of_begin = 40;
constexpr double near_bytes = 24e3;  // that the first level of caches holds
constexpr double near_rate = 16;     // bytes of a clock from the next one
constexpr double seconds_of_fork = 2e-6;
constexpr double other_registers = 3;  // that hold what is read

// By how much loops are slower that compilers do not turn into one of vectors.
constexpr double slowdown_of_rows = 2;        // several rows of threads
constexpr double slowdown_of_neighbours = 4;  // results side by side in each lane
constexpr double slowdown_of_copies = 3;      // barriers end loops, and caches would serve as well
constexpr double slowdown_of_ends = 1.15;     // threads of partial tiles: a loop of fewer steps
constexpr double slowdown_of_guards = 10;     // items of partial tiles

/// Whether lanes next to each other along a loop read what are no neighbours.
/// @param fastest  the axis along which neighbours are contiguous, or any_axis
bool is_gathered(const SlicedRead& read, std::size_t fastest, std::size_t loop) {
  if (!read.mentions[loop] || fastest == any_axis) {
    return false;
  }
  for (std::size_t axis = 0; axis < read.axes.size(); ++axis) {
    if (std::abs(read.axes[axis].coefficients[loop]) != (axis == fastest ? 1 : 0)) {
      return true;
    }
  }
  return false;
}

}  // namespace

SlicingCost::Lanes SlicingCost::lanes_of(const SlicingChoice& choice) const {
  Lanes lanes;
  const bool is_reduced = choice.reduction_threads > 1 && choice.fast[1] == 1;
  lanes.loop = is_reduced ? reduced_loop : choice.fast[1] > 1 ? fast_loop : slow_loop;
  const double count = is_reduced                ? choice.reduction_threads
                       : lanes.loop == fast_loop ? choice.fast[1]
                                                 : choice.slow[1];
  const double most = std::max(1.0, vector_bytes / std::max(4.0, problem_.result_bytes));
  lanes.of_vector = std::min(count, most);
  lanes.vectors = std::ceil(count / most);
  lanes.rows = static_cast<double>(choice.threads()) / count;
  return lanes;
}

/// Clocks of the loads of one element for each lane and item.
double SlicingCost::clocks_of_loads(const SlicedRead& read, const SlicingChoice& choice,
                                    const Lanes& lanes) const {
  const double elements = own_items(read, choice) * read.times * read.other_steps * lanes.rows;
  const double vectors = read.mentions[lanes.loop] ? lanes.vectors : 1;
  return elements * vectors *
         (is_gathered(read, fastest_axis(choice, read), lanes.loop)
              ? lanes.of_vector * clocks_of_gathered_lane
              : 1 / issued_per_clock);
}

/// Fast slicings keep their sums in vector registers: lanes that read and write neighbours, or that
/// share sums along which rows are read, a few items that share what is read, no guards and no
/// copies.
double SlicingCost::processor_block_clocks(const SlicingChoice& choice) const {
  const Lanes lanes = lanes_of(choice);
  const double items = static_cast<double>(items_per_thread(choice));
  const double results = items * lanes.vectors * lanes.rows;  // vectors of them
  double loads = 0;
  double outer_loads = 0;
  double bytes = 0;
  bool has_vectors = true;
  for (const SlicedRead& read : problem_.reads) {
    const bool is_in_steps = read.is_in_cut_sum && read.mentions[reduced_loop];
    (is_in_steps ? loads : outer_loads) += clocks_of_loads(read, choice, lanes);
    has_vectors =
        has_vectors && !(is_in_steps && is_gathered(read, fastest_axis(choice, read), lanes.loop));
    bytes += tile_of(read, choice).elements * read.element_bytes;
  }
  // what items share is computed once for all of them
  const double fast_items = choice.fast[0] * choice.fast[2];
  const double slow_items = choice.slow[0] * choice.slow[2];
  const auto& [by_none, by_fast, by_slow, by_both] = problem_.shares_of_loops;
  const double computed =
      by_none + by_fast * fast_items + by_slow * slow_items + by_both * fast_items * slow_items;
  // compilers compute lane by lane what they gather
  const double operations = operations_of_step_ * computed * results / (fast_items * slow_items) *
                            (has_vectors ? 1 : lanes.of_vector) / issued_per_clock;
  const double spilt = std::max(0.0, results + other_registers - vector_registers);
  const double steps = static_cast<double>(problem_.loops[reduced_loop].length) /
                       (choice.reduction_threads * static_cast<double>(sharing_blocks(choice)));
  const double step = problem_.has(reduced_loop)
                          ? std::max({operations, loads, clocks_of_addition}) +
                                clocks_of_spill * spilt + clocks_of_iteration
                          : std::max(operations, loads);
  const bool writes_vectors =
      lanes.loop == fast_loop && problem_.writes_neighbours && choice.fast[2] == 1;
  const double ends =
      lanes.loop == reduced_loop
          ? clocks_of_lanes * items * lanes.rows
          : results * (writes_vectors ? 1 : lanes.of_vector * clocks_of_gathered_lane);
  const double tile = steps * step + operations_outside_ * results / issued_per_clock +
                      outer_loads + ends + (bytes > near_bytes ? bytes / near_rate : 0);
  return clocks_of_begin + static_cast<double>(tiles_of_block(choice)) * tile;
}

double SlicingCost::cpu_seconds(const SlicingChoice& choice) const {
  double slowdown = cpu_layout_factor(choice);
  const Lanes lanes = lanes_of(choice);
  slowdown *= lanes.rows > 1 ? slowdown_of_rows : 1;
  const bool has_neighbours = (lanes.loop == fast_loop && choice.fast[2] > 1) ||
                              (lanes.loop == slow_loop && choice.slow[2] > 1);
  slowdown *= has_neighbours && choice.threads() > 1 ? slowdown_of_neighbours : 1;
  slowdown *= choice.fetched != 0 ? slowdown_of_copies : 1;
  for (const std::size_t loop : {fast_loop, slow_loop}) {
    const std::int64_t tile = loop == fast_loop ? choice.fast_tile() : choice.slow_tile();
    const bool has_items = loop == slow_loop || choice.fast[0] * choice.fast[2] > 1;
    const SlicedLoop& cut = problem_.loops[loop];
    const bool is_whole = cut.begin % tile == 0 && (cut.begin + cut.length) % tile == 0;
    slowdown *= is_whole || tile == 1 ? 1 : has_items ? slowdown_of_guards : slowdown_of_ends;
  }
  const double cores = std::max(1, machine_.multiprocessors);
  const double rounds = std::ceil(static_cast<double>(blocks(choice)) / cores);
  return rounds * processor_block_clocks(choice) * slowdown / machine_.clock_hz +
         (choice.shared_steps != 0 ? 2 : 1) * seconds_of_fork;
}

}  // namespace rtcg::loopy::detail
