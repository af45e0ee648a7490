// What a slicing takes on a processor.
#include <algorithm>
#include <cmath>

#include "rtcg/loopy/slice/slicing_cost.h"

namespace rtcg::loopy::detail {
namespace {

// By how much kernels are slower than the fastest. All are estimates.
constexpr double vector_lanes = 16;             // results that one instruction computes, f32
constexpr double vector_register_bytes = 2048;  // 32 registers of 64 bytes
constexpr double slowdown_of_rows = 2;          // several rows of threads: no single vector loop
constexpr double slowdown_of_copies = 3;        // tiles are copied, but caches would serve as well
constexpr double slowdown_of_neighbours = 1.5;  // items side by side make accesses strided
constexpr double slowdown_of_spills = 4;        // sums that vector registers cannot hold
constexpr double slowdown_of_ends = 1.15;       // threads of partial tiles: a loop of fewer steps
constexpr double slowdown_of_guards = 10;       // items of partial tiles: no vectors

}  // namespace

// Fast slicings keep their sums in vector registers: one row of threads as long as a vector, a few
// items that share what is read along it, no guards and no copies.
double SlicingCost::cpu_seconds(const SlicingChoice& choice) const {
  const double threads = static_cast<double>(choice.threads());
  const double items = static_cast<double>(items_per_thread(choice));
  const double row = choice.fast[1] * choice.reduction_threads;
  double slowdown = std::max(1.0, vector_lanes / row) * cpu_layout_factor(choice);
  slowdown *= choice.slow[1] > 1 ? slowdown_of_rows : 1;
  slowdown *= choice.fetched != 0 ? slowdown_of_copies : 1;
  slowdown *= choice.fast[0] * choice.fast[2] > 1 ? slowdown_of_neighbours : 1;
  slowdown *= items * threads * 4 > vector_register_bytes ? slowdown_of_spills : 1;
  for (const std::size_t loop : {fast_loop, slow_loop}) {
    const std::int64_t tile = loop == fast_loop ? choice.fast_tile() : choice.slow_tile();
    const bool has_items = loop == slow_loop || choice.fast[0] * choice.fast[2] > 1;
    const SlicedLoop& cut = problem_.loops[loop];
    const bool is_whole = cut.begin % tile == 0 && (cut.begin + cut.length) % tile == 0;
    slowdown *= is_whole || tile == 1 ? 1 : has_items ? slowdown_of_guards : slowdown_of_ends;
  }
  const double loads = 1.0 / std::max(1.0, items) + vector_lanes / (8 * std::max(8.0, row));
  const double steps = static_cast<double>(problem_.loops[reduced_loop].length) /
                       (choice.reduction_threads * static_cast<double>(sharing_blocks(choice)));
  const double operations = operations_of_step_ * steps + operations_outside_;
  const double block_clocks = 20 + static_cast<double>(tiles_of_block(choice)) * operations *
                                       items * threads / vector_lanes * slowdown * (0.5 + loads);
  const double cores = std::max(1, machine_.multiprocessors);
  const double rounds = std::ceil(static_cast<double>(blocks(choice)) / cores);
  return rounds * block_clocks / machine_.clock_hz + (choice.shared_steps != 0 ? 4e-6 : 2e-6);
}

}  // namespace rtcg::loopy::detail
