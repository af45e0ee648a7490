#include "rtcg/loopy/slice/slicing_cost.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "rtcg/loopy/slice/gpu_figures.h"
#include "rtcg/loopy/transform/reduce_over_grid.h"

namespace rtcg::loopy::detail {
namespace {

// Sums of the same numbers in another order round differently: a lower bound stays this much lower.
constexpr double rounding_margin = 1 - 1e-6;

/// Between blocks that the device begins, whatever they do: 100,000 blocks of one warp take 64 us
/// on an H200, 2026-11-29.
constexpr double seconds_of_begun_block = 6.4e-10;
// How long a warp waits, in clocks: about the same in all of NVIDIA's GPUs since sm_70.
constexpr double start_clocks = 1000;  // of a block: its first loads, indices, and results
constexpr double cache_latency = 40;
constexpr double memory_latency = 650;  // second-level cache or memory, under load
constexpr double barrier_clocks = 40;
constexpr double arithmetic_latency = 4;
constexpr double share_of_hidden = 0.2;        // of what is hidden behind something longer
constexpr double share_of_others = 0.05;       // of what the units do that are not the busiest
constexpr double statements_of_compiler = 16;  // that it unrolls loops to
constexpr double instructions_of_iteration = 5;
constexpr double swizzled_factor = 1.02;  // places of elements are computed
constexpr double unrolled_factor = 1.02;  // they take longer to compile

// What adds up the parts of blocks. Estimates.
constexpr double bytes_of_atomic = 4;         // that as many bytes of atomic functions cost
constexpr double seconds_of_part = 5e-8;      // a load that waits for the second-level cache
constexpr double part_share_of_memory = 2.5;  // one multiprocessor of its share of the memory's

/// A place for each of the choices that an enumeration asks for in turn: slices are 1, 2, 4 or 8.
std::size_t place_of_twin(const SlicingChoice& choice, bool is_unrolled) {
  const auto slices = static_cast<std::size_t>(std::countr_zero(choice.slices));
  return ((slices * 2 + (choice.may_transpose ? 1 : 0)) * 2 + (choice.is_vector ? 1 : 0)) * 2 +
         (is_unrolled ? 1 : 0);
}

}  // namespace

bool SlicingCost::has_windows() const {
  return std::any_of(problem_.reads.begin(), problem_.reads.end(), [](const SlicedRead& read) {
    return std::any_of(read.axes.begin(), read.axes.end(), [](const SlicedRead::Axis& axis) {
      return axis.coefficients[reduced_loop] != 0 &&
             std::count(axis.coefficients.begin(), axis.coefficients.end(), 0) <
                 static_cast<std::ptrdiff_t>(loop_count) - 1;
    });
  });
}

const SlicingCost::Work& SlicingCost::work_of(const SlicingChoice& choice) const {
  // steps that are written out change the work where windows overlap
  KnownWork& known =
      works_[place_of_twin(choice, has_windows_ && choice.is_unrolled) % works_.size()];
  if (!known.is_known || !are_alike<DecisionScope::work>(known.choice, choice)) {
    known.is_known = true;
    known.choice = choice;
    known.work = make_work(choice);
    const Run best = {.resident = std::max(1.0, known.work.residents), .is_least = true};
    known.work.least_run_seconds =
        rounding_margin * (gpu::launch_seconds + run_seconds(choice, known.work, best));
  }
  return known.work;
}

double SlicingCost::least_seconds(const SlicingChoice& choice) const {
  const bool is_narrow = std::any_of(problem_.reads.begin(), problem_.reads.end(),
                                     [](const SlicedRead& read) { return read.element_bytes < 4; });
  if (machine_.is_cpu || is_narrow) {
    return 0;  // one instruction may do several steps
  }
  const double blocks_count = static_cast<double>(blocks(choice));
  const double per_clock = std::min(
      std::min<double>(blocks_count, machine_.multiprocessors) * machine_.flops_per_clock / 2,
      blocks_count * static_cast<double>(choice.threads()));
  return problem_.least_steps / per_clock / machine_.clock_hz;
}

double SlicingCost::unrolled_steps(const SlicingChoice& choice, const Work& work) const {
  const double most = choice.depth != 0 ? choice.depth / choice.slices : statements_of_compiler;
  if (choice.is_unrolled) {
    return most;
  }
  const auto by_compiler = static_cast<double>(
      std::bit_floor(static_cast<unsigned>(std::max(1.0, statements_of_compiler / work.items))));
  return std::min(most, std::max(by_compiler, work.steps_at_once));
}

double SlicingCost::block_clocks(const SlicingChoice& choice, const Work& work,
                                 const Run& run) const {
  const double steps = work.steps * share_of_steps_ * work.tiles_of_block;
  const double groups = run.is_least ? 0 : std::max(1.0, steps / run.steps_at_once);
  // loads of a group wait together, as far as there are registers for what they give
  const double loads = work.direct_loads * run.steps_at_once;
  const double free_registers = std::max(8.0, work.most_registers - work.registers);
  const double missing = std::min(1.0, run.steps_at_once * work.direct_bytes / gpu::sector_bytes);
  const double direct_latency = loads == 0 ? 0
                                           : (missing * memory_latency + cache_latency) *
                                                 std::max(1.0, loads / free_registers);
  const double issue =
      std::max(work.instructions / work.warps, steps * arithmetic_latency / work.items) +
      groups * instructions_of_iteration;
  const double computing = issue + groups * (work.shared_latency + direct_latency);
  const bool has_tiles = choice.depth != 0 && choice.fetched != 0;
  // copies that are not there when the tiles before are done
  const double tile_clocks = computing / std::max(1.0, work.tiles);
  const double waiting = !has_tiles || run.is_least
                             ? 0
                             : std::max(0.0, memory_latency - (run.stages - 1) * tile_clocks);
  // copies before the first step, which nothing hides
  const double first_copies =
      choice.fetched != 0 && choice.depth == 0 ? memory_latency + barrier_clocks : 0;
  return start_clocks + work.meeting_clocks + first_copies + computing +
         (has_tiles ? work.tiles * (barrier_clocks + waiting) : 0);
}

double SlicingCost::unevenness(const SlicingChoice& choice, const Work& work,
                               double resident) const {
  // threads that wait for each other at each tile are as slow as the busiest scheduler; elsewhere
  // the next warps take the others
  if (choice.depth == 0 || choice.fetched == 0 || !problem_.triangles.empty()) {
    return 1;
  }
  const double warps =
      work.warps * std::min(resident, std::ceil(work.blocks / machine_.multiprocessors));
  return std::ceil(warps / gpu::schedulers) * gpu::schedulers / warps;
}

double SlicingCost::run_seconds(const SlicingChoice& choice, const Work& work,
                                const Run& run) const {
  const double blocks_count = work.blocks;
  const double items = work.items;
  const double multiprocessors = machine_.multiprocessors;
  const double groups = run.is_least ? 0 : work.steps * work.tiles_of_block / run.steps_at_once;
  // units of a multiprocessor that all its blocks share; issuing is part of what each does
  const double issuing =
      (work.instructions + groups * work.warps * instructions_of_iteration) / gpu::schedulers;
  const double uneven = run.is_least ? 1 : unevenness(choice, work, run.resident);
  const double flop_clocks = work.flop_clocks * uneven;
  const double longest = std::max({flop_clocks, work.shared_clocks, work.cache_clocks});
  const double others = flop_clocks + work.shared_clocks + work.cache_clocks - longest;
  const double own_clocks =
      (std::max(longest, issuing * uneven) + share_of_others * others) * work.spill_factor +
      work.copy_clocks;
  const double clocks_of_units = own_clocks * std::ceil(blocks_count / multiprocessors);
  const double rounds = std::ceil(blocks_count / (multiprocessors * run.resident));
  // items at the rim of a triangle are guarded one by one, in few blocks
  const double alone = block_clocks(choice, work, run);
  const double clocks_of_blocks = alone * (rounds - 1) + std::max(alone, work.guarded_clocks);
  // what is shorter hides within what is longer, as far as they differ
  const double near_seconds =
      std::max(std::sqrt(clocks_of_units * clocks_of_units + clocks_of_blocks * clocks_of_blocks) /
                   machine_.clock_hz,
               blocks_count * seconds_of_begun_block);
  const double far_seconds = blocks_count * work.far_bytes / gpu::cache_bytes_per_second;
  const double core_seconds =
      std::max(near_seconds, far_seconds) + share_of_hidden * std::min(near_seconds, far_seconds);
  const double slots = multiprocessors * run.resident;
  const double streams =
      std::min(1.0, std::min(blocks_count, slots) * static_cast<double>(choice.threads()) *
                        std::min(4.0, items) / (multiprocessors * 1024.0));
  // the second-level cache serves what several blocks read
  const bool has_neighbours = problem_.has(reduced_loop) && choice.reduction_threads == 1 &&
                              (choice.shared_steps == 0 || choice.depth != 0);
  const double traffic_share = has_neighbours ? 0.35 : 1;
  // and nothing moves less than all arrays once
  const double traffic =
      std::max(blocks_count * (work.memory_bytes * traffic_share + work.written_bytes),
               problem_.compulsory_bytes);
  const double memory_seconds =
      traffic / machine_.memory_bytes_per_second / std::max(0.05, streams);
  // a block that is alone computes nothing while it writes
  const double written_seconds =
      blocks_count * work.written_bytes / machine_.memory_bytes_per_second / run.resident;
  const double less = std::min(core_seconds, memory_seconds);
  return std::max(core_seconds, memory_seconds) +
         std::max(share_of_hidden * less, std::min(less, written_seconds));
}

SecondLaunch SlicingCost::launch_of_parts(const SlicingChoice& choice) const {
  std::int64_t longest = 1;
  const auto look_at = [&](std::int64_t items) { longest = std::max(longest, items); };
  look_at(choice.fast[0]);
  look_at(choice.is_vector ? 1 : choice.fast[2]);
  look_at(choice.slow[0]);
  look_at(choice.slow[2]);
  for (std::size_t i = first_whole_loop; i < loop_count; ++i) {
    look_at(choice.is_in_thread(i) ? problem_.loops[i].length : 1);
  }
  return second_launch(choice.threads(), longest, items_per_thread(choice) / longest,
                       sharing_blocks(choice));
}

double SlicingCost::seconds_of_parts(const SlicingChoice& choice, const Work& work) const {
  if (choice.shared_steps == 0) {
    return 0;
  }
  const auto parts = static_cast<double>(sharing_blocks(choice));
  const double tile_bytes =
      work.items * static_cast<double>(choice.threads()) * problem_.result_bytes;
  if (choice.sharing == static_cast<std::uint8_t>(GridReduction::atomic)) {
    return bytes_of_atomic * work.blocks * tile_bytes / machine_.memory_bytes_per_second;
  }
  // the last block adds up the parts of a tile, a thread those of its results one after the other;
  // a launch has more blocks and threads for that
  const bool has_launch = choice.sharing == static_cast<std::uint8_t>(GridReduction::two_stage);
  const SecondLaunch launch = has_launch ? launch_of_parts(choice) : SecondLaunch{};
  const double tiles = std::max(1.0, work.blocks / parts) * static_cast<double>(launch.blocks);
  const double rounds = std::ceil(tiles / machine_.multiprocessors);
  const double block_bytes = tile_bytes / static_cast<double>(launch.blocks);
  return rounds * parts *
         std::max(seconds_of_part / static_cast<double>(launch.threads),
                  block_bytes * machine_.multiprocessors / machine_.memory_bytes_per_second /
                      part_share_of_memory);
}

double SlicingCost::least_run_seconds(const SlicingChoice& choice) const {
  if (machine_.is_cpu) {
    return 0;
  }
  const double least = work_of(choice).least_run_seconds;
  if (!has_windows_) {
    return least;
  }
  SlicingChoice twin = choice;
  twin.is_unrolled = !choice.is_unrolled;
  return std::min(least, work_of(twin).least_run_seconds);
}

double SlicingCost::seconds(const SlicingChoice& choice, std::int64_t shared_bytes) const {
  if (machine_.is_cpu) {
    return cpu_seconds(choice);
  }
  const Work& work = work_of(choice);
  const double by_memory =
      std::floor(static_cast<double>(machine_.shared_bytes_per_multiprocessor) /
                 std::max(1.0, static_cast<double>(shared_bytes) + 1024));
  const double resident = std::max(1.0, std::min(work.residents, by_memory));
  // a second launch adds up what the blocks have, or one clears the results before; the last block
  // waits for a counter
  const bool has_last_block =
      choice.sharing == static_cast<std::uint8_t>(GridReduction::last_block);
  const double launches = choice.shared_steps == 0 ? 1 : has_last_block ? 1.5 : 2;
  const double factor =
      (choice.is_unrolled ? unrolled_factor : 1) * (choice.is_swizzled ? swizzled_factor : 1);
  const Run run = {.resident = resident,
                   .stages = static_cast<double>(choice.stages),
                   .steps_at_once = unrolled_steps(choice, work)};
  return launches * gpu::launch_seconds + run_seconds(choice, work, run) * factor +
         (choice.swizzle_rows != 0 ? 1e-7 : 0) +
         (choice.depth != 0 ? seconds_of_parts(choice, work) : 0);
}

}  // namespace rtcg::loopy::detail
