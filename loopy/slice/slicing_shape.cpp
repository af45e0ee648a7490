// Into how many blocks, threads and items a slicing cuts a kernel, and what these hold: elements of
// arrays, shared memory and registers.
#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "rtcg/cgen/support/integer.h"
#include "rtcg/loopy/slice/gpu_figures.h"
#include "rtcg/loopy/slice/slicing_cost.h"

namespace rtcg::loopy::detail {
namespace {

// Registers of a thread. The limit is that of NVIDIA's GPUs; the rest are estimates.
constexpr double most_registers = 255;
constexpr double registers_of_loops = 26;       // counters, addresses and bounds
constexpr double registers_of_scheduler = 512;  // of each lane of its warps
constexpr double most_statements_of_inner_loops = 48;

}  // namespace

std::int64_t SlicingCost::sharing_blocks(const SlicingChoice& choice) const {
  return choice.shared_steps == 0
             ? 1
             : ceil_divide(problem_.loops[reduced_loop].length,
                           std::int64_t{choice.shared_steps} * choice.reduction_threads);
}

std::int64_t SlicingCost::blocks_along(const SlicingChoice& choice, std::size_t loop) const {
  const std::int64_t length = problem_.loops[loop].length;
  return loop == fast_loop   ? ceil_divide(length, choice.fast_tile())
         : loop == slow_loop ? ceil_divide(length, choice.slow_tile())
         : choice.is_in_thread(loop) || problem_.loops[loop].is_inner ? 1
         : loop == choice.batch_loop() ? ceil_divide(length, choice.batch)
                                       : length;
}

bool SlicingCost::is_off_grid(const SlicingChoice& choice, std::size_t loop) const {
  if (problem_.loops[loop].is_inner) {
    return !choice.is_in_thread(loop);
  }
  return loop == first_whole_loop + 1 && problem_.has(loop) && !choice.is_in_thread(loop) &&
         !choice.is_in_thread(first_whole_loop);
}

std::int64_t SlicingCost::blocks(const SlicingChoice& choice) const {
  std::int64_t count = sharing_blocks(choice);
  for (std::size_t i = 0; i < loop_count; ++i) {
    count *= i == reduced_loop || is_off_grid(choice, i) ? 1 : blocks_along(choice, i);
  }
  return count;
}

std::int64_t SlicingCost::tiles_of_block(const SlicingChoice& choice) const {
  std::int64_t tiles = problem_.other_results;
  for (std::size_t i = first_whole_loop; i < loop_count; ++i) {
    tiles *= is_off_grid(choice, i) ? problem_.loops[i].length : 1;
  }
  return tiles;
}

std::int64_t SlicingCost::items_per_thread(const SlicingChoice& choice) const {
  std::int64_t count = choice.tile_items();
  for (std::size_t i = first_whole_loop; i < loop_count; ++i) {
    count *= choice.is_in_thread(i) ? problem_.loops[i].length : 1;
  }
  return count;
}

double SlicingCost::outer_steps() const {
  double steps = 1;
  for (const SlicedRead& each : problem_.reads) {
    steps = std::max(steps, each.outer_steps);
  }
  return steps;
}

bool SlicingCost::moves_along_reduction(const SlicingChoice& choice) const {
  return choice.depth != 0 && choice.depth < problem_.loops[reduced_loop].length;
}

bool SlicingCost::can_pipeline(const SlicingChoice& choice) const {
  const std::int64_t steps = choice.shared_steps != 0 ? std::int64_t{choice.shared_steps}
                                                      : problem_.loops[reduced_loop].length;
  return choice.depth != 0 && choice.depth < steps && has_known_beginning(choice) &&
         std::any_of(problem_.reads.begin(), problem_.reads.end(),
                     [&](const SlicedRead& read) {
                       return read.mentions[reduced_loop] && is_fetched(choice, read.fetchable);
                     }) &&
         std::all_of(problem_.reads.begin(), problem_.reads.end(), [&](const SlicedRead& read) {
           return !read.mentions[reduced_loop] || !is_fetched(choice, read.fetchable) ||
                  problem_.fetchable[read.fetchable].can_run_ahead;
         });
}

std::int64_t SlicingCost::others_of(const SlicedRead::Axis& axis,
                                    const SlicingChoice& choice) const {
  return axis.others + (moves_along_reduction(choice) ? 0 : axis.outer_sums);
}

double SlicingCost::length(const SlicedRead::Axis& axis, const SlicingChoice& choice) const {
  double length = static_cast<double>(others_of(axis, choice));
  for (std::size_t i = 0; i < loop_count; ++i) {
    if (axis.coefficients[i] == 0) {
      continue;
    }
    const std::int64_t values =
        i == fast_loop   ? choice.fast_tile()
        : i == slow_loop ? choice.slow_tile()
        : i == reduced_loop
            ? (choice.depth != 0 ? std::int64_t{choice.depth} : problem_.loops[i].length)
        : choice.is_in_thread(i)   ? problem_.loops[i].length
        : i == choice.batch_loop() ? std::int64_t{choice.batch}
                                   : 1;
    length += static_cast<double>(std::abs(axis.coefficients[i]) * (values - 1));
  }
  return length;
}

double SlicingCost::thread_footprint(const SlicedRead& read, const SlicingChoice& choice) const {
  double elements = 1;
  for (const SlicedRead::Axis& axis : read.axes) {
    double length = static_cast<double>(others_of(axis, choice));
    for (std::size_t i = 0; i < loop_count; ++i) {
      const std::int64_t values =
          i == fast_loop   ? choice.fast[2]
          : i == slow_loop ? choice.slow[2]
          : i == reduced_loop
              ? (choice.depth != 0 ? std::int64_t{choice.depth} : problem_.loops[i].length)
              : (choice.is_in_thread(i) ? problem_.loops[i].length : 1);
      length += static_cast<double>(std::abs(axis.coefficients[i]) * (values - 1));
    }
    elements *= length;
  }
  return elements;
}

bool SlicingCost::is_fetched(const SlicingChoice& choice, std::size_t fetchable) const {
  return fetchable != nowhere && (choice.fetched >> fetchable & 1) != 0;
}

bool SlicingCost::is_kept(const SlicingChoice& choice, std::size_t fetchable) const {
  return fetchable != nowhere && (choice.kept >> fetchable & 1) != 0;
}

double SlicingCost::kept_elements(const SlicingChoice& choice) const {
  double elements = 0;
  for (const SlicedRead& read : problem_.reads) {
    elements +=
        choice.kept != 0 && is_kept(choice, read.fetchable) ? thread_footprint(read, choice) : 0;
  }
  return elements;
}

bool SlicingCost::gains_from_keeping(const SlicingChoice& choice, std::size_t fetchable) const {
  const auto is_it = [&](const SlicedRead& each) { return each.fetchable == fetchable; };
  const auto read = std::find_if(problem_.reads.begin(), problem_.reads.end(), is_it);
  // what one statement reads at several places at once the compiler loads once by itself
  if (machine_.is_cpu || !problem_.has(reduced_loop) || choice.fast[0] != 1 ||
      choice.slow[0] != 1 || choice.reduction_threads != 1 || choice.shared_steps != 0 ||
      read->times != 1 || read->is_gathered) {
    return false;
  }
  if (read->mentions[reduced_loop] && choice.depth == 0 &&
      !problem_.loops[reduced_loop].is_constant) {
    return false;
  }
  double loads = (read->mentions[fast_loop] ? choice.fast[2] : 1) *
                 (read->mentions[slow_loop] ? choice.slow[2] : 1);
  if (read->mentions[reduced_loop]) {
    loads *= static_cast<double>(choice.depth != 0 ? std::int64_t{choice.depth}
                                                   : problem_.loops[reduced_loop].length);
  }
  for (const SlicedRead::Axis& axis : read->axes) {
    loads *= static_cast<double>(others_of(axis, choice));
  }
  constexpr double most_elements = 64;
  const double elements = thread_footprint(*read, choice);
  return elements <= most_elements && loads >= 1.5 * elements;
}

std::array<std::size_t, most_fetchable> SlicingCost::first_reads() const {
  std::array<std::size_t, most_fetchable> places{};
  places.fill(nowhere);
  for (std::size_t i = problem_.reads.size(); i-- > 0;) {
    if (problem_.reads[i].fetchable != nowhere) {
      places[problem_.reads[i].fetchable] = i;
    }
  }
  return places;
}

std::int64_t SlicingCost::shared_bytes(const SlicingChoice& choice) const {
  // the threads of a reduction meet in shared memory, each with all its items
  double bytes = choice.reduction_threads > 1 || choice.slices > 1
                     ? 8.0 * static_cast<double>(choice.threads() * items_per_thread(choice))
                     : 0;
  const Tiles& tiles = tiles_of(choice);
  for (std::size_t i = 0; i < problem_.fetchable.size(); ++i) {
    const std::size_t place = first_reads_[i];
    if (place == nowhere || !is_fetched(choice, i)) {
      continue;
    }
    const SlicedRead& read = problem_.reads[place];
    double gaps = 0;
    if (tiles.of_reads[place].is_matrix) {
      const Rows rows = rows_of(choice, i);
      gaps = static_cast<double>(swizzles(choice, rows) ? 0 : rows.padding) / rows.elements;
    }
    bytes += tiles.of_reads[place].elements * (1 + gaps) * read.element_bytes *
             (read.mentions[reduced_loop] ? choice.stages : 1);
  }
  return static_cast<std::int64_t>(std::min(bytes, 1e15));
}

double SlicingCost::own_items(const SlicedRead& read, const SlicingChoice& choice) const {
  const bool is_whole = read.depends_on(first_whole_loop) || read.depends_on(first_whole_loop + 1);
  const double items =
      (read.depends_on(fast_loop) ? choice.fast[0] * choice.fast[2] : 1) *
      (read.depends_on(slow_loop) ? choice.slow[0] * choice.slow[2] : 1) *
      (is_whole ? static_cast<double>(items_per_thread(choice) / choice.tile_items()) : 1);
  if (!is_whole || read.is_gathered) {
    return items;
  }
  // windows of neighbouring items overlap: the compiler loads each element once
  double distinct = (read.mentions[fast_loop] ? choice.fast[0] : 1) *
                    (read.mentions[slow_loop] ? choice.slow[0] : 1);
  for (const SlicedRead::Axis& axis : read.axes) {
    double along = 1;
    for (std::size_t i = 0; i < loop_count; ++i) {
      const std::int64_t values = i == fast_loop           ? choice.fast[2]
                                  : i == slow_loop         ? choice.slow[2]
                                  : choice.is_in_thread(i) ? problem_.loops[i].length
                                                           : 1;
      along += static_cast<double>(std::abs(axis.coefficients[i]) * (values - 1));
    }
    distinct *= along;
  }
  return std::min(items, distinct);
}

bool SlicingCost::stays_in_registers(const SlicedRead& read, const SlicingChoice& choice) const {
  return read.is_in_cut_sum && !read.depends_on(reduced_loop) && read.times <= 1 &&
         read.other_steps > 1 &&
         read.other_steps * static_cast<double>(items_per_thread(choice)) <=
             most_statements_of_inner_loops;
}

double SlicingCost::registers(const SlicingChoice& choice) const {
  // a sum each, what is in use of the operands, and steps that one load brings
  double count = registers_of_loops + kept_elements(choice) +
                 static_cast<double>(items_per_thread(choice)) + choice.fast[0] * choice.fast[2] +
                 choice.slow[0] * choice.slow[2];
  for (const SlicedRead& read : problem_.reads) {
    if (is_fetched(choice, read.fetchable) && read.mentions[reduced_loop] &&
        tile_of(read, choice).is_matrix && !is_transposed(choice, read.fetchable)) {
      count += own_items(read, choice) * static_cast<double>(steps_of_group(read, choice) - 1);
    }
    count += stays_in_registers(read, choice) ? own_items(read, choice) * read.other_steps : 0;
  }
  return std::min(most_registers, count);
}

double SlicingCost::most_registers_of(const SlicingChoice& choice) const {
  const double warps = std::ceil(static_cast<double>(choice.threads()) / machine_.warp_lanes);
  return std::min(most_registers, registers_of_scheduler / std::ceil(warps / gpu::schedulers));
}

double SlicingCost::residents_of(const SlicingChoice& choice) const {
  const double threads = static_cast<double>(choice.threads());
  const double used = std::min(registers(choice), most_registers_of(choice));
  // each scheduler has registers of its own, and gives them to warps by eights
  const double warps = std::ceil(threads / machine_.warp_lanes);
  const double warps_of_scheduler = std::floor(registers_of_scheduler / (8 * std::ceil(used / 8)));
  return std::min({32.0, std::floor(machine_.threads_per_multiprocessor / threads),
                   std::max(1.0, std::floor(warps_of_scheduler * gpu::schedulers / warps))});
}

}  // namespace rtcg::loopy::detail
