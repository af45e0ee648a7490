// What the warps of a block issue and move.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "rtcg/loopy/slice/gpu_figures.h"
#include "rtcg/loopy/slice/slicing_cost.h"

namespace rtcg::loopy::detail {
namespace {

// Of steps whose items are guarded one by one, as at the rim of a triangle.
constexpr double guarded_load_clocks = 22;  // of memory, which is not asked for ahead
constexpr double guarded_step_clocks = 26;
constexpr double shared_latency = 30;        // clocks that a warp waits for what it reads of a tile
constexpr double slowdown_of_groups = 1.12;  // steps of one load are in the same bank of registers
constexpr double cost_of_spills = 2;         // for each register over those that there are

/// Whether steps of a sum shift what the items of a thread read, as in a window.
bool begins_anywhere(const SlicedRead::Axis& axis) {
  return axis.others > 1 || axis.outer_sums > 1 || axis.coefficients[reduced_loop] != 0;
}

}  // namespace

SlicingCost::Work SlicingCost::make_work(const SlicingChoice& choice) const {
  const double threads = static_cast<double>(choice.threads());
  const double items = static_cast<double>(items_per_thread(choice));
  const double reduction_length = static_cast<double>(problem_.loops[reduced_loop].length);
  Work work;
  work.items = items;
  work.blocks = static_cast<double>(blocks(choice));
  work.residents = residents_of(choice);
  work.registers = registers(choice);
  work.most_registers = most_registers_of(choice);
  work.tiles_of_block = static_cast<double>(tiles_of_block(choice));
  work.steps_at_once = static_cast<double>(steps_at_once(choice));
  work.spill_factor = 1 + cost_of_spills * std::max(0.0, work.registers / work.most_registers - 1);
  work.meeting_clocks =
      problem_.serial_sums *
      ((choice.reduction_threads > 1
            ? (40 + (choice.fast[1] > 1 ? 8 * items : 0)) * std::log2(choice.reduction_threads)
            : 0) +
       (choice.slices > 1 ? (40 + 8 * items) * std::log2(choice.slices) : 0));
  work.warps = std::ceil(threads / machine_.warp_lanes);
  work.steps = choice.shared_steps != 0
                   ? choice.shared_steps
                   : reduction_length / (choice.reduction_threads * choice.slices);
  work.tiles = choice.depth == 0
                   ? 1
                   : std::ceil((choice.shared_steps != 0 ? choice.shared_steps : reduction_length) /
                               choice.depth);
  double in_sum = 1;  // shares of what is counted for each item
  double outside = 1;
  for (std::size_t i = first_whole_loop; i < loop_count; ++i) {
    if (choice.is_in_thread(i)) {
      const double spared = 1 - 1 / static_cast<double>(problem_.loops[i].length);
      in_sum *= 1 - spared * problem_.idle_shares[i].in_sum;
      outside *= 1 - spared * problem_.idle_shares[i].outside;
    }
  }
  const double slowdown = work.steps_at_once > 1 ? slowdown_of_groups : 1;
  work.flop_clocks = slowdown *
                     (operations_of_step_ * in_sum * work.steps + operations_outside_ * outside) *
                     2 * items * work.warps * machine_.warp_lanes / machine_.flops_per_clock;
  // what is written without vectors goes out in pieces: each takes a sector's time; so do short
  // runs of a warp, as far as memory takes two sectors at once
  const double run_bytes = choice.fast[1] * choice.fast[2] * problem_.result_bytes;
  // lanes along the slow loop alone write where others than they write the neighbours
  const bool is_across =
      choice.slow[1] > 1 && choice.fast_tile() < problem_.loops[fast_loop].length;
  const bool is_short = (choice.fast[1] > 1 || is_across) && choice.reduction_threads == 1;
  const double by_run = is_short ? std::max(1.0, 0.5 + gpu::sector_bytes / run_bytes) : 1;
  const double by_item =
      choice.is_vector
          ? 1
          : std::min<double>(choice.fast[2], gpu::sector_bytes / problem_.result_bytes);
  const double pieces = problem_.writes_neighbours ? std::max(by_run, by_item) : 1;
  work.memory_bytes =
      items * threads / (choice.reduction_threads * choice.slices) * problem_.written_bytes;
  add_laid_writes(choice, work);
  work.written_bytes = work.memory_bytes * pieces;
  work.memory_bytes = 0;
  work.instructions =
      slowdown *
      (problem_.in_sum.count() * in_sum * work.steps + problem_.outside.count() * outside) * items *
      work.warps;
  add_reads(choice, work);
  const double repeats = work.tiles_of_block;
  for (double* each : {&work.flop_clocks, &work.shared_clocks, &work.cache_clocks,
                       &work.copy_clocks, &work.instructions, &work.memory_bytes,
                       &work.written_bytes, &work.meeting_clocks, &work.tiles, &work.far_bytes}) {
    *each *= repeats;
  }
  if (!problem_.triangles.empty()) {
    work.blocks = std::max(1.0, work.blocks * share_of_blocks(choice));
    for (double* each :
         {&work.flop_clocks, &work.shared_clocks, &work.cache_clocks, &work.copy_clocks,
          &work.instructions, &work.memory_bytes, &work.written_bytes}) {
      *each /= density_;
    }
  }
  return work;
}

double SlicingCost::window_share(const SlicedRead& read, const SlicingChoice& choice,
                                 double steps) const {
  if (!read.mentions[reduced_loop] || read.is_gathered || machine_.is_cpu) {
    return 1;
  }
  double distinct = (read.mentions[fast_loop] ? choice.fast[0] : 1) *
                    (read.mentions[slow_loop] ? choice.slow[0] : 1);
  for (const SlicedRead::Axis& axis : read.axes) {
    double along = 1;
    for (std::size_t i = 0; i < loop_count; ++i) {
      const double values = i == fast_loop           ? choice.fast[2]
                            : i == slow_loop         ? choice.slow[2]
                            : i == reduced_loop      ? steps
                            : choice.is_in_thread(i) ? static_cast<double>(problem_.loops[i].length)
                                                     : 1;
      along += static_cast<double>(std::abs(axis.coefficients[i])) * (values - 1);
    }
    distinct *= along;
  }
  return std::min(1.0, distinct / (own_items(read, choice) * steps));
}

void SlicingCost::add_reads(const SlicingChoice& choice, Work& work) const {
  const double steps_together = unrolled_steps(choice, work);
  double guarded_instructions = problem_.in_sum.count();
  double guarded_latency = 0;
  for (const SlicedRead& read : problem_.reads) {
    const double own_items = this->own_items(read, choice);
    // what an inner loop reads stays in registers if the compiler unrolls it
    const bool is_each_step = read.depends_on(reduced_loop) || read.times > 1 ||
                              (read.other_steps > 1 && !stays_in_registers(read, choice));
    const double own_steps = (is_each_step && read.is_in_cut_sum ? work.steps : 1) *
                             read.other_steps * read.repeats * read.density;
    // what neighbouring items read, too, stays in a register, and so does what steps read again
    // that are written out
    const double share = is_each_step ? window_share(read, choice, steps_together) : 1;
    const double per_warp =
        own_steps * (own_items * share +
                     (read.times - 1) * (read.is_gathered ? own_items : std::sqrt(own_items)));
    const bool is_looked_up = read.is_gathered && !is_fetched(choice, read.fetchable);
    const double elements =
        is_looked_up ? gathered_elements(read, choice, per_warp) : tile_of(read, choice).elements;
    const double block_bytes =
        elements * read.element_bytes * read.other_elements * read.density *
        (choice.depth != 0 && read.mentions[reduced_loop] ? work.tiles : 1) *
        (moves_along_reduction(choice) ? read.outer_steps : 1) /
        (choice.depth != 0 ? 1.0 : static_cast<double>(sharing_blocks(choice)));
    const bool is_across = find_way(choice, read.free_layout) != nullptr &&
                           is_fetched(choice, read.fetchable) &&
                           fastest_axis(choice, read) != any_axis &&
                           fastest_axis(choice, read) + 1 != read.axes.size();
    // tiles are copied along the last axis: 32 bytes of memory for each element across rows
    const double moved_bytes = block_bytes * read.overfetch * sectors_of_rows(read, choice) *
                               (is_across ? std::max(1.0, 32 / read.element_bytes) : 1);
    // what all blocks read comes from the second-level cache
    const bool is_same = read.is_gathered && is_same_for_all_blocks(read, choice);
    work.memory_bytes += is_same ? 0 : moved_bytes;
    work.far_bytes += is_same && !is_looked_up ? moved_bytes : 0;
    if (choice.kept != 0 && is_kept(choice, read.fetchable)) {
      const double tiles = (read.mentions[reduced_loop] ? work.tiles : 1) *
                           (moves_along_reduction(choice) ? read.outer_steps : 1);
      add_direct(read, choice, thread_footprint(read, choice) * tiles, work);
    } else if (is_fetched(choice, read.fetchable)) {
      add_fetched(read, choice, per_warp, block_bytes, work);
      work.shared_latency = is_each_step ? shared_latency : work.shared_latency;
      guarded_instructions += is_each_step ? 4 / shared_access(read, choice).width : 0;
    } else {
      add_direct(read, choice, per_warp, work);
      if (read.mentions[reduced_loop] && read.is_in_cut_sum) {
        const bool is_along = fastest_axis(choice, read) < read.axes.size() &&
                              read.axes[fastest_axis(choice, read)].coefficients[reduced_loop] != 0;
        work.direct_bytes =
            std::max(work.direct_bytes, is_along ? read.element_bytes : gpu::sector_bytes);
        work.direct_loads += own_items * share;
        guarded_latency += guarded_load_clocks;
      }
    }
  }
  if (moves_along_reduction(choice)) {
    work.tiles *= outer_steps_;
  }
  if (!problem_.triangles.empty()) {
    const double steps = work.steps * work.tiles_of_block;
    work.guarded_clocks =
        steps * (guarded_step_clocks + work.items * guarded_latency +
                 work.items * work.warps * guarded_instructions / gpu::schedulers);
  }
}

void SlicingCost::add_fetched(const SlicedRead& read, const SlicingChoice& choice, double per_warp,
                              double block_bytes, Work& work) const {
  const auto [width, clocks] = shared_access(read, choice);
  work.shared_clocks +=
      per_warp * work.warps * clocks / width + 2 * block_bytes / machine_.shared_bytes_per_clock;
  const double elements = block_bytes / read.element_bytes;
  const double loads = per_warp * work.warps / width;
  work.instructions += loads + (1 + read.index_operations) * elements /
                                   copied_at_once(read, choice) / machine_.warp_lanes;
  work.copy_clocks += choice.depth == 0 ? 0 : copy_clocks(read, choice, elements);
}

double SlicingCost::copied_at_once(const SlicedRead& read, const SlicingChoice& choice) const {
  // 16 bytes along the rows where copies run ahead, one element elsewhere
  const double widest = std::max(1.0, 16 / read.element_bytes);
  return is_transposed(choice, read.fetchable) || choice.depth == 0 ||
                 static_cast<double>(read.lines.contiguous) < widest
             ? 1
             : widest;
}

double SlicingCost::copy_clocks(const SlicedRead& read, const SlicingChoice& choice,
                                double elements) const {
  // a line of memory for each clock, beyond those that contiguous neighbours are in
  const double lanes = machine_.warp_lanes;
  const double along = std::clamp(tile_of(read, choice).column_count, 1.0, lanes);
  const auto power = std::min<std::size_t>(static_cast<std::size_t>(std::log2(along)), 5);
  const double more = read.lines.counts.at(power) - 1;
  return copied_at_once(read, choice) > 1 ? 0 : elements / along * more;
}

double SlicingCost::gathered_sectors(const SlicedRead& read, const SlicingChoice& choice) const {
  const double lanes = machine_.warp_lanes;
  const double fast = std::min<double>(choice.fast[1], lanes);
  const double rows = std::min<double>(choice.slow[1], std::max(1.0, lanes / choice.fast[1]));
  // neighbours along a loop that chooses places are in sectors of their own
  const double along =
      read.chosen_by[fast_loop] ? fast
      : !read.mentions[fast_loop]
          ? 1
          : std::max(1.0,
                     fast *
                         (is_along_rows(choice, read)
                              ? std::min(gpu::sector_bytes, choice.fast[2] * read.element_bytes)
                              : gpu::sector_bytes) /
                         gpu::sector_bytes);
  const double across = read.depends_on(slow_loop) ? rows : 1;
  // threads that share a sum, or elements of a batch, take the lanes that are left
  const bool is_by_others = (choice.reduction_threads > 1 && read.depends_on(reduced_loop)) ||
                            (choice.batch > 1 && read.depends_on(choice.batch_loop()));
  return std::min(lanes,
                  along * across * (is_by_others ? std::max(1.0, lanes / (fast * rows)) : 1));
}

double SlicingCost::span_of_lanes(const SlicedRead& read, const SlicingChoice& choice) const {
  double elements = 1;
  for (const SlicedRead::Axis& axis : read.axes) {
    elements *= static_cast<double>(others_of(axis, choice)) +
                static_cast<double>(std::abs(axis.coefficients[fast_loop])) *
                    static_cast<double>(choice.fast_tile() - 1) +
                static_cast<double>(std::abs(axis.coefficients[slow_loop])) *
                    static_cast<double>(choice.slow_tile() - 1);
  }
  return elements * read.element_bytes;
}

double SlicingCost::gathered_elements(const SlicedRead& read, const SlicingChoice& choice,
                                      double per_warp) const {
  const double reads = per_warp *
                       std::ceil(static_cast<double>(choice.threads()) / machine_.warp_lanes) *
                       gathered_sectors(read, choice);
  // a sector for each, until most of the array has been read
  return std::min(tile_of(read, choice).elements, reads * gpu::sector_bytes / read.element_bytes);
}

bool SlicingCost::is_same_for_all_blocks(const SlicedRead& read,
                                         const SlicingChoice& choice) const {
  for (std::size_t i = 0; i < loop_count; ++i) {
    if (read.mentions[i] && (i == reduced_loop || blocks_along(choice, i) > 1)) {
      return false;
    }
  }
  return true;
}

void SlicingCost::add_direct(const SlicedRead& read, const SlicingChoice& choice, double per_warp,
                             Work& work) const {
  if (read.is_gathered) {
    const double loads = per_warp * work.warps;
    const double sectors = gathered_sectors(read, choice);
    const double span = span_of_lanes(read, choice);
    const double reach = tile_of(read, choice).elements * read.element_bytes *
                         (is_same_for_all_blocks(read, choice) ? 1 : work.residents);
    if (reach <= gpu::bytes_of_near_cache) {
      // as many lines as the lanes find different ones
      work.cache_clocks += loads * std::min(sectors, span / gpu::line_bytes + 1) *
                           gpu::sector_bytes / machine_.cache_bytes_per_clock;
    } else {
      work.far_bytes += loads * std::min(sectors, span / gpu::sector_bytes + 1) *
                        gpu::sector_bytes * read.share_of_sectors;
    }
    work.instructions += loads;
    return;
  }
  // sectors of 32 bytes that a warp's load touches
  const bool is_along = is_along_rows(choice, read);
  const double stride = is_along ? choice.fast[2] *
                                       static_cast<double>(distance_of_neighbours(choice, read)) *
                                       read.element_bytes
                                 : 32;
  const double strided = read.mentions[fast_loop] ? std::min<double>(choice.fast[1], 32) : 1;
  const double rows = read.mentions[slow_loop] ? std::max(1.0, 32.0 / choice.fast[1]) : 1;
  double sectors =
      std::max(1.0, strided * std::min(stride, 32.0) / 32) * std::min<double>(rows, choice.slow[1]);
  if (read.mentions[choice.batch_loop()]) {  // groups of threads within a warp
    sectors *=
        std::clamp(static_cast<double>(machine_.warp_lanes) / (choice.fast[1] * choice.slow[1]),
                   1.0, static_cast<double>(choice.batch));
  }
  if (choice.reduction_threads > 1 && choice.fast[1] > 1 && read.mentions[reduced_loop]) {
    sectors *= is_along ? std::max(1.0, 32.0 / choice.fast[1]) : 1;
  } else if (choice.reduction_threads > 1 && read.mentions[reduced_loop]) {
    // lanes along the reduction are neighbours where it is the fastest axis that it moves along
    const std::size_t fastest = fastest_axis(choice, read);
    const std::int64_t step =
        fastest == any_axis ? 1 : std::abs(read.axes[fastest].coefficients[reduced_loop]);
    sectors = step == 0 ? 32 : std::min(32.0, static_cast<double>(step) * read.element_bytes);
  }
  const FreeLayout::Way* way = find_way(choice, read.free_layout);
  sectors += way != nullptr && is_along && !way->has_aligned_rows ? 1 : 0;
  const bool is_shifted = is_along && fastest_axis(choice, read) < read.axes.size() &&
                          read.axes[fastest_axis(choice, read)].coefficients[reduced_loop] != 0;
  const double width = choice.is_vector && is_along && !is_shifted ? choice.fast[2] : 1;
  work.cache_clocks +=
      per_warp * work.warps * sectors * 32 / machine_.cache_bytes_per_clock / std::sqrt(width);
  work.instructions += per_warp * work.warps / width;
}

SlicingCost::SharedAccess SlicingCost::shared_access(const SlicedRead& read,
                                                     const SlicingChoice& choice) const {
  if (read.is_gathered) {
    const double places = gathered_sectors(read, choice) / machine_.warp_lanes;
    return {1, std::max(1.0, gpu::clocks_of_random_places * places)};
  }
  const bool is_fast = read.mentions[fast_loop];
  const std::uint16_t wide = is_fast ? choice.fast[2] : choice.slow[2];
  const bool goes_along_rows =
      is_transposed(choice, read.fetchable) ||
      (!read.axes.empty() && read.axes.back().coefficients[fast_loop] != 0);
  const std::size_t along =
      read.axes.size() - (is_transposed(choice, read.fetchable) && read.axes.size() > 1 ? 2 : 1);
  // elements between neighbours along the fast loop
  const std::int64_t stride =
      goes_along_rows && is_fast && !read.axes.empty()
          ? std::max<std::int64_t>(1, std::abs(read.axes[along].coefficients[fast_loop]))
          : 1;
  // vectors begin at multiples of their length: windows do whose steps are written out
  const bool is_window =
      goes_along_rows && !read.axes.empty() && (stride > 1 || begins_anywhere(read.axes[along]));
  const bool is_written_out = is_window && choice.is_unrolled &&
                              read.axes[along].coefficients[reduced_loop] != 0 &&
                              !tile_of(read, choice).is_matrix;
  const std::int64_t reach = wide * stride;
  const double width = is_window && !is_written_out ? 1
                       : goes_along_rows            ? (reach % 4 == 0   ? 4
                                                       : reach % 2 == 0 ? 2
                                                                        : 1)
                                         : static_cast<double>(steps_of_group(read, choice));
  const double lanes = machine_.warp_lanes;
  const double distinct =
      is_fast ? std::min<double>(choice.fast[1], lanes)
              : std::min<double>(choice.slow[1], std::max(1.0, lanes / choice.fast[1]));
  // neighbouring lanes are so many loads apart: rows are padded to an odd number of them, so that
  // those of contiguous items meet in the same banks
  const auto places = static_cast<unsigned>(
      std::max(1.0, machine_.shared_bytes_per_clock / (width * read.element_bytes)));
  const auto apart =
      static_cast<unsigned>(goes_along_rows ? std::max(1.0, static_cast<double>(reach) / width)
                                            : static_cast<double>(wide));
  const double different = places / std::gcd(places, apart);
  // loads of 16 bytes take a quarter of a warp at a time: what quarters have in common is read once
  // if they begin alike, which they do not where rows of threads end within a warp
  const bool has_broken_rows =
      choice.fast[1] < lanes && std::fmod(lanes, choice.fast[1]) != 0 && choice.slow[1] > 1;
  const double pieces =
      has_broken_rows ? width * read.element_bytes * lanes / machine_.shared_bytes_per_clock : 1;
  return {width, std::max({1.0, distinct / different, pieces})};
}

double SlicingCost::sectors_of_rows(const SlicedRead& read, const SlicingChoice& choice) const {
  if (read.axes.empty() || read.overfetch != 1 ||
      fastest_axis(choice, read) + 1 != read.axes.size()) {
    return 1;
  }
  const double bytes = tile_of(read, choice).column_count * read.element_bytes;
  return std::ceil(bytes / gpu::sector_bytes) * gpu::sector_bytes / bytes;
}

}  // namespace rtcg::loopy::detail
