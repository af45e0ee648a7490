#include "rtcg/loopy/slice/slicing_cost.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "rtcg/cgen/support/integer.h"
#include "rtcg/loopy/transform/reduce_over_grid.h"

namespace rtcg::loopy::detail {
namespace {

// Sums of the same numbers in another order round differently: a lower bound stays this much lower.
constexpr double rounding_margin = 1 - 1e-6;

// Registers of a thread. The limit is that of NVIDIA's GPUs; the rest are estimates.
constexpr double most_registers = 255;
constexpr double registers_of_loops = 26;       // counters, addresses and bounds
constexpr double registers_of_scheduler = 512;  // of each lane of its warps

// How long a warp waits, in clocks: about the same in all of NVIDIA's GPUs since sm_70.
constexpr double start_clocks = 1000;  // of a block: its first loads, indices, and results
constexpr double shared_latency = 30;
constexpr double cache_latency = 40;
constexpr double memory_latency = 650;  // second-level cache or memory, under load
constexpr double barrier_clocks = 40;
constexpr double arithmetic_latency = 4;
// Of steps whose items are guarded one by one, as at the rim of a triangle.
constexpr double guarded_load_clocks = 22;  // of memory, which is not asked for ahead
constexpr double guarded_step_clocks = 26;
constexpr double schedulers = 4;  // of a multiprocessor: an instruction in each clock
constexpr double sector_bytes = 32;
constexpr double share_of_others = 0.05;       // of what the units do that are not the busiest
constexpr double statements_of_compiler = 16;  // that it unrolls loops to
constexpr double instructions_of_iteration = 5;
constexpr double most_statements_of_inner_loops = 48;
constexpr double slowdown_of_groups = 1.12;  // steps of one load are in the same bank of registers
constexpr double cost_of_spills = 2;         // for each register over those that there are
constexpr double swizzled_factor = 1.02;     // places of elements are computed
constexpr double unrolled_factor = 1.02;     // they take longer to compile

constexpr double seconds_of_launch = 2e-6;

// What adds up the parts of blocks. Estimates.
constexpr double bytes_of_atomic = 4;         // that as many bytes of atomic functions cost
constexpr double seconds_of_part = 5e-8;      // a load that waits for the second-level cache
constexpr double part_share_of_memory = 2.5;  // one multiprocessor of its share of the memory's

// A processor's kernels, by how much each is slower than the fastest. All are estimates.
constexpr double vector_lanes = 16;             // results that one instruction computes, f32
constexpr double vector_register_bytes = 2048;  // 32 registers of 64 bytes
constexpr double slowdown_of_rows = 2;          // several rows of threads: no single vector loop
constexpr double slowdown_of_copies = 3;        // tiles are copied, but caches would serve as well
constexpr double slowdown_of_neighbours = 1.5;  // items side by side make accesses strided
constexpr double slowdown_of_spills = 4;        // sums that vector registers cannot hold
constexpr double slowdown_of_guards = 10;       // a tile that does not divide its loop: no vectors

/// A place for each of the choices that an enumeration asks for in turn: slices are 1, 2, 4 or 8.
std::size_t place_of_twin(const SlicingChoice& choice) {
  const auto slices = static_cast<std::size_t>(std::countr_zero(choice.slices));
  return (slices * 2 + (choice.may_transpose ? 1 : 0)) * 2 + (choice.is_vector ? 1 : 0);
}

}  // namespace

std::int64_t SlicingCost::sharing_blocks(const SlicingChoice& choice) const {
  return choice.shared_steps == 0
             ? 1
             : ceil_divide(problem_.loops[reduced_loop].length,
                           std::int64_t{choice.shared_steps} * choice.reduction_threads);
}

std::int64_t SlicingCost::blocks_along(const SlicingChoice& choice, std::size_t loop) const {
  const std::int64_t length = problem_.loops[loop].length;
  return loop == fast_loop           ? ceil_divide(length, choice.fast_tile())
         : loop == slow_loop         ? ceil_divide(length, choice.slow_tile())
         : choice.is_in_thread(loop) ? 1
                                     : length;
}

std::int64_t SlicingCost::blocks(const SlicingChoice& choice) const {
  std::int64_t count = sharing_blocks(choice);
  for (std::size_t i = 0; i < loop_count; ++i) {
    count *= i == reduced_loop || is_off_grid(choice, i) ? 1 : blocks_along(choice, i);
  }
  return count;
}

bool SlicingCost::is_off_grid(const SlicingChoice& choice, std::size_t loop) const {
  return loop == first_whole_loop + 1 && problem_.has(loop) && !choice.is_in_thread(loop) &&
         !choice.is_in_thread(first_whole_loop);
}

std::int64_t SlicingCost::tiles_of_block(const SlicingChoice& choice) const {
  constexpr std::size_t last = first_whole_loop + 1;
  return problem_.other_results * (is_off_grid(choice, last) ? problem_.loops[last].length : 1);
}

std::int64_t SlicingCost::items_per_thread(const SlicingChoice& choice) const {
  std::int64_t count = choice.tile_items();
  for (std::size_t i = first_whole_loop; i < loop_count; ++i) {
    count *= choice.is_in_thread(i) ? problem_.loops[i].length : 1;
  }
  return count;
}

std::int64_t SlicingCost::others_of(const SlicedRead::Axis& axis,
                                    const SlicingChoice& choice) const {
  return axis.others + (moves_along_reduction(choice) ? 0 : axis.outer_sums);
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
            : (choice.is_in_thread(i) ? problem_.loops[i].length : 1);
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
      read->times != 1) {
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

const FreeLayout::Way* SlicingCost::find_way(const SlicingChoice& choice,
                                             std::size_t free_layout) const {
  if (free_layout == nowhere) {
    return nullptr;
  }
  static const FreeLayout::Way ideal{{}, any_axis, true};
  const std::uint8_t number = choice.layouts[free_layout];
  return number == ideal_layout ? &ideal : &problem_.free_layouts[free_layout].ways[number];
}

std::size_t SlicingCost::fastest_axis(const SlicingChoice& choice, const SlicedRead& read) const {
  const FreeLayout::Way* way = find_way(choice, read.free_layout);
  return way != nullptr ? way->fastest_axis : read.axes.size() - 1;
}

bool SlicingCost::is_along_rows(const SlicingChoice& choice, const SlicedRead& read) const {
  if (read.axes.empty()) {
    return false;
  }
  const std::size_t fastest = fastest_axis(choice, read);
  return fastest == any_axis ? read.mentions[fast_loop]
                             : read.axes[fastest].coefficients[fast_loop] != 0;
}

bool SlicingCost::can_be_laid_out(const SlicingChoice& choice) const {
  for (std::size_t i = 0; i < problem_.free_layouts.size(); ++i) {
    const bool is_copied =
        std::any_of(problem_.reads.begin(), problem_.reads.end(), [&](const SlicedRead& read) {
          return read.free_layout == i &&
                 (is_fetched(choice, read.fetchable) || is_kept(choice, read.fetchable));
        });
    if (is_copied && problem_.free_layouts[i].ways[choice.layouts[i]].plan.piece != 0) {
      return false;
    }
  }
  return !choice.is_vector ||
         std::all_of(problem_.laid_writes.begin(), problem_.laid_writes.end(),
                     [&](const SlicedRead& each) {
                       return fastest_axis(choice, each) + 1 == each.axes.size();
                     });
}

void SlicingCost::add_laid_writes(const SlicingChoice& choice, Work& work) const {
  for (const SlicedRead& each : problem_.laid_writes) {
    if (each.mentions[fast_loop] && !is_along_rows(choice, each)) {
      // 32 bytes of memory for each element
      work.memory_bytes *= std::max(1.0, 32 / each.element_bytes);
    }
  }
}

double SlicingCost::cpu_layout_factor(const SlicingChoice& choice) const {
  double factor = 1;
  const auto add = [&](const SlicedRead& each) {
    const FreeLayout::Way* way = find_way(choice, each.free_layout);
    if (way == nullptr || !each.mentions[fast_loop]) {
      return;
    }
    const bool is_along = is_along_rows(choice, each);
    // vectors that are not the pieces of an axis divide indices, lane by lane
    const bool is_divided =
        is_along && way->plan.piece != 0 && choice.fast_tile() != way->plan.piece;
    factor *= (is_along ? (way->has_aligned_rows ? 1 : 1.02) : 1.5) * (is_divided ? 8 : 1);
  };
  std::for_each(problem_.reads.begin(), problem_.reads.end(), add);
  std::for_each(problem_.laid_writes.begin(), problem_.laid_writes.end(), add);
  return factor;
}

bool SlicingCost::is_fetched(const SlicingChoice& choice, std::size_t fetchable) const {
  return fetchable != nowhere && (choice.fetched >> fetchable & 1) != 0;
}

/// Share of the box in which all triangles' bounds hold, each loosened by so many iterations.
double SlicingCost::share_of_results(double shift_of_fast, double shift_of_slow) const {
  const auto fast_length = static_cast<double>(problem_.loops[fast_loop].length);
  const auto slow_length = static_cast<double>(problem_.loops[slow_loop].length);
  // integral of a number that is clamped to [0, 1]
  const auto integral = [](double to) { return to <= 0 ? 0 : to <= 1 ? to * to / 2 : to - 0.5; };
  double share = 1;
  for (const LoopBound& each : problem_.triangles) {
    const auto of_fast = static_cast<double>(each.coefficients[fast_loop]);
    const auto of_slow = static_cast<double>(each.coefficients[slow_loop]);
    const double shift =
        std::max(std::abs(of_fast) * shift_of_fast, std::abs(of_slow) * shift_of_slow);
    // rows of the slow loop along the fast one, as shares of it
    const double scale = std::abs(of_slow) * slow_length;
    const double first =
        (static_cast<double>(each.constant) + shift) / scale + (of_slow > 0 ? 1 : 0);
    const double slope = of_fast * fast_length / scale;
    share -= 1 - (integral(first + slope) - integral(first)) / slope;
  }
  const double least = 1 / (fast_length * slow_length);
  return std::clamp(share, least, 1.0);
}

double SlicingCost::share_of_blocks(const SlicingChoice& choice) const {
  return problem_.triangles.empty() ? 1
                                    : share_of_results(static_cast<double>(choice.fast_tile()) / 2,
                                                       static_cast<double>(choice.slow_tile()) / 2);
}

bool SlicingCost::has_known_beginning(const SlicingChoice& choice) const {
  if (problem_.beginnings.empty()) {
    return true;
  }
  // least and greatest first tile that each bound gives, over all blocks
  struct Range {
    std::int64_t least = 0;
    std::int64_t greatest = 0;
    bool is_constant = true;
    bool is_affine = true;
  };
  std::vector<Range> ranges;
  for (const LoopBound& each : problem_.beginnings) {
    const std::int64_t step = each.coefficients[reduced_loop] * choice.depth;
    if (step == 0) {
      return false;
    }
    Range range;
    // at the best point of a block, for the first and for the last block
    std::int64_t least = -each.constant - (step - each.coefficients[reduced_loop]);
    std::int64_t greatest = least;
    for (std::size_t i = 0; i < loop_count; ++i) {
      const std::int64_t coefficient = each.coefficients[i];
      if (i == reduced_loop || coefficient == 0) {
        continue;
      }
      const std::int64_t tile = i == fast_loop           ? choice.fast_tile()
                                : i == slow_loop         ? choice.slow_tile()
                                : choice.is_in_thread(i) ? problem_.loops[i].length
                                                         : 1;
      const std::int64_t at_best = coefficient > 0 ? -coefficient * (tile - 1) : 0;
      const std::int64_t last = -coefficient * tile * (blocks_along(choice, i) - 1);
      least += at_best + std::min<std::int64_t>(0, last);
      greatest += at_best + std::max<std::int64_t>(0, last);
      range.is_constant = false;
      range.is_affine = range.is_affine && coefficient * tile % step == 0;
    }
    range.least = -((-least) / step);
    range.least = least > 0 ? ceil_divide(least, step) : range.least;
    range.greatest = greatest > 0 ? ceil_divide(greatest, step) : -((-greatest) / step);
    ranges.push_back(range);
  }
  const auto is_for_all = [&](std::int64_t first, const Range* own) {
    return std::all_of(ranges.begin(), ranges.end(),
                       [&](const Range& each) { return &each == own || each.greatest <= first; });
  };
  std::int64_t constant = INT64_MAX;
  for (const Range& each : ranges) {
    constant = std::min(constant, each.least);
  }
  for (const Range& each : ranges) {
    constant = each.is_constant ? std::max(constant, each.least) : constant;
  }
  return is_for_all(constant, nullptr) ||
         std::any_of(ranges.begin(), ranges.end(), [&](const Range& each) {
           return !each.is_constant && each.is_affine && is_for_all(each.least, &each);
         });
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

std::int64_t SlicingCost::shared_bytes(const SlicingChoice& choice) const {
  // the threads of a reduction meet in shared memory, each with all its items
  double bytes = choice.reduction_threads > 1 || choice.slices > 1
                     ? 8.0 * static_cast<double>(choice.threads() * items_per_thread(choice))
                     : 0;
  for (std::size_t i = 0; i < problem_.fetchable.size(); ++i) {
    for (const SlicedRead& read : problem_.reads) {
      if (is_fetched(choice, i) && read.fetchable == i) {
        const double gaps =
            tile_of(read, choice).is_matrix
                ? static_cast<double>(padding(choice, read.fetchable)) / row_elements(read, choice)
                : 0;
        bytes += tile_of(read, choice).elements * (1 + gaps) * read.element_bytes *
                 (read.mentions[reduced_loop] ? choice.stages : 1);
        break;
      }
    }
  }
  return static_cast<std::int64_t>(std::min(bytes, 1e15));
}

SlicingCost::SharedAccess SlicingCost::shared_access(const SlicedRead& read,
                                                     const SlicingChoice& choice) const {
  const bool is_fast = read.mentions[fast_loop];
  const std::uint16_t wide = is_fast ? choice.fast[2] : choice.slow[2];
  const bool goes_along_rows =
      is_transposed(choice, read.fetchable) ||
      (!read.axes.empty() && read.axes.back().coefficients[fast_loop] != 0);
  const double width = goes_along_rows ? (wide % 4 == 0   ? 4
                                          : wide % 2 == 0 ? 2
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
  const auto apart = static_cast<unsigned>(goes_along_rows ? std::max(1.0, wide / width)
                                                           : static_cast<double>(wide));
  const double different = places / std::gcd(places, apart);
  return {width, std::max(1.0, distinct / different)};
}

void SlicingCost::add_fetched(const SlicedRead& read, const SlicingChoice& choice, double per_warp,
                              double block_bytes, Work& work) const {
  const auto [width, clocks] = shared_access(read, choice);
  work.shared_clocks +=
      per_warp * work.warps * clocks / width + 2 * block_bytes / machine_.shared_bytes_per_clock;
  // copies of 16 bytes along the rows where they run ahead, of one element elsewhere
  const double at_once = is_transposed(choice, read.fetchable) || choice.depth == 0
                             ? 1
                             : std::max(1.0, 16 / read.element_bytes);
  const double loads = per_warp * work.warps / width;
  work.instructions += loads + (1 + read.index_operations) * block_bytes / read.element_bytes /
                                   at_once / machine_.warp_lanes;
}

void SlicingCost::add_direct(const SlicedRead& read, const SlicingChoice& choice, double per_warp,
                             Work& work) const {
  // sectors of 32 bytes that a warp's load touches
  const bool is_along = is_along_rows(choice, read);
  const double stride = is_along ? choice.fast[2] * read.element_bytes : 32;
  const double strided = read.mentions[fast_loop] ? std::min<double>(choice.fast[1], 32) : 1;
  const double rows = read.mentions[slow_loop] ? std::max(1.0, 32.0 / choice.fast[1]) : 1;
  double sectors =
      std::max(1.0, strided * std::min(stride, 32.0) / 32) * std::min<double>(rows, choice.slow[1]);
  if (choice.reduction_threads > 1 && choice.fast[1] > 1 && read.mentions[reduced_loop]) {
    sectors *= is_along ? std::max(1.0, 32.0 / choice.fast[1]) : 1;
  } else if (choice.reduction_threads > 1 && read.mentions[reduced_loop]) {
    const bool is_ideal = fastest_axis(choice, read) == any_axis;
    sectors = is_along && !is_ideal ? 32 : 4 * read.element_bytes / 4;
  }
  const FreeLayout::Way* way = find_way(choice, read.free_layout);
  sectors += way != nullptr && is_along && !way->has_aligned_rows ? 1 : 0;
  const double width = choice.is_vector && is_along ? choice.fast[2] : 1;
  work.cache_clocks +=
      per_warp * work.warps * sectors * 32 / machine_.cache_bytes_per_clock / std::sqrt(width);
  work.instructions += per_warp * work.warps / width;
}

SlicingCost::Work SlicingCost::make_work(const SlicingChoice& choice) const {
  const double threads = static_cast<double>(choice.threads());
  const double items = static_cast<double>(items_per_thread(choice));
  const double reduction_length = static_cast<double>(problem_.loops[reduced_loop].length);
  Work work;
  work.items = items;
  work.blocks = static_cast<double>(blocks(choice));
  work.residents = residents_of(choice);
  work.registers = registers(choice);
  work.spill_factor =
      1 + cost_of_spills * std::max(0.0, work.registers / most_registers_of(choice) - 1);
  work.meeting_clocks =
      (choice.reduction_threads > 1
           ? (40 + (choice.fast[1] > 1 ? 8 * items : 0)) * std::log2(choice.reduction_threads)
           : 0) +
      (choice.slices > 1 ? (40 + 8 * items) * std::log2(choice.slices) : 0);
  work.warps = std::ceil(threads / machine_.warp_lanes);
  work.steps = choice.shared_steps != 0
                   ? choice.shared_steps
                   : reduction_length / (choice.reduction_threads * choice.slices);
  work.tiles = choice.depth == 0
                   ? 1
                   : std::ceil((choice.shared_steps != 0 ? choice.shared_steps : reduction_length) /
                               choice.depth);
  const double slowdown = steps_at_once(choice) > 1 ? slowdown_of_groups : 1;
  work.flop_clocks = slowdown * (operations_of_step_ * work.steps + operations_outside_) * 2 *
                     items * work.warps * machine_.warp_lanes / machine_.flops_per_clock;
  // what is written without vectors goes out in pieces: each takes a sector's time
  const double pieces = problem_.writes_neighbours && !choice.is_vector
                            ? std::min<double>(choice.fast[2], sector_bytes / problem_.result_bytes)
                            : 1;
  work.memory_bytes =
      items * threads / (choice.reduction_threads * choice.slices) * problem_.written_bytes;
  add_laid_writes(choice, work);
  work.written_bytes = work.memory_bytes * pieces;
  work.memory_bytes = 0;
  work.instructions = slowdown * (problem_.in_sum.count() * work.steps + problem_.outside.count()) *
                      items * work.warps;
  add_reads(choice, work);
  const auto repeats = static_cast<double>(tiles_of_block(choice));
  for (double* each :
       {&work.flop_clocks, &work.shared_clocks, &work.cache_clocks, &work.instructions,
        &work.memory_bytes, &work.written_bytes, &work.meeting_clocks, &work.tiles}) {
    *each *= repeats;
  }
  if (!problem_.triangles.empty()) {
    work.blocks = std::max(1.0, work.blocks * share_of_blocks(choice));
    for (double* each : {&work.flop_clocks, &work.shared_clocks, &work.cache_clocks,
                         &work.instructions, &work.memory_bytes, &work.written_bytes}) {
      *each /= density_;
    }
  }
  return work;
}

void SlicingCost::add_reads(const SlicingChoice& choice, Work& work) const {
  double guarded_instructions = problem_.in_sum.count();
  double guarded_latency = 0;
  for (const SlicedRead& read : problem_.reads) {
    const double own_items = this->own_items(read, choice);
    // what an inner loop reads stays in registers if the compiler unrolls it
    const bool is_each_step = read.mentions[reduced_loop] || read.times > 1 ||
                              (read.other_steps > 1 && !stays_in_registers(read, choice));
    const double own_steps = (is_each_step && read.is_in_cut_sum ? work.steps : 1) *
                             read.other_steps * read.repeats * read.density;
    // what neighbouring items read, too, stays in a register
    const double per_warp = own_steps * (own_items + (read.times - 1) * std::sqrt(own_items));
    const double block_bytes =
        tile_of(read, choice).elements * read.element_bytes * read.other_elements * read.density *
        (choice.depth != 0 && read.mentions[reduced_loop] ? work.tiles : 1) *
        (moves_along_reduction(choice) ? read.outer_steps : 1) /
        (choice.depth != 0 ? 1.0 : static_cast<double>(sharing_blocks(choice)));
    const bool is_across = find_way(choice, read.free_layout) != nullptr &&
                           is_fetched(choice, read.fetchable) &&
                           fastest_axis(choice, read) != any_axis &&
                           fastest_axis(choice, read) + 1 != read.axes.size();
    // tiles are copied along the last axis: 32 bytes of memory for each element across rows
    work.memory_bytes += block_bytes * read.overfetch * sectors_of_rows(read, choice) *
                         (is_across ? std::max(1.0, 32 / read.element_bytes) : 1);
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
            std::max(work.direct_bytes, is_along ? read.element_bytes : sector_bytes);
        work.direct_loads += own_items;
        guarded_latency += guarded_load_clocks;
      }
    }
  }
  if (moves_along_reduction(choice)) {
    work.tiles *= outer_steps_;
  }
  if (!problem_.triangles.empty()) {
    const double steps = work.steps * static_cast<double>(tiles_of_block(choice));
    work.guarded_clocks = steps * (guarded_step_clocks + work.items * guarded_latency +
                                   work.items * work.warps * guarded_instructions / schedulers);
  }
}

const SlicingCost::Work& SlicingCost::work_of(const SlicingChoice& choice) const {
  KnownWork& known = works_[place_of_twin(choice) % works_.size()];
  if (!known.is_known || !are_alike<DecisionScope::work>(known.choice, choice)) {
    known.is_known = true;
    known.choice = choice;
    known.work = make_work(choice);
    const Run best = {.resident = std::max(1.0, known.work.residents), .is_least = true};
    known.work.least_run_seconds =
        rounding_margin * (seconds_of_launch + run_seconds(choice, known.work, best));
  }
  return known.work;
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

double SlicingCost::sectors_of_rows(const SlicedRead& read, const SlicingChoice& choice) const {
  if (read.axes.empty() || read.overfetch != 1 ||
      fastest_axis(choice, read) + 1 != read.axes.size()) {
    return 1;
  }
  const double bytes = tile_of(read, choice).column_count * read.element_bytes;
  return std::ceil(bytes / sector_bytes) * sector_bytes / bytes;
}

double SlicingCost::own_items(const SlicedRead& read, const SlicingChoice& choice) const {
  const bool is_whole = read.mentions[first_whole_loop] || read.mentions[first_whole_loop + 1];
  return (read.mentions[fast_loop] ? choice.fast[0] * choice.fast[2] : 1) *
         (read.mentions[slow_loop] ? choice.slow[0] * choice.slow[2] : 1) *
         (is_whole ? static_cast<double>(items_per_thread(choice) / choice.tile_items()) : 1);
}

bool SlicingCost::stays_in_registers(const SlicedRead& read, const SlicingChoice& choice) const {
  return read.is_in_cut_sum && !read.mentions[reduced_loop] && read.times <= 1 &&
         read.other_steps > 1 &&
         read.other_steps * static_cast<double>(items_per_thread(choice)) <=
             most_statements_of_inner_loops;
}

double SlicingCost::most_registers_of(const SlicingChoice& choice) const {
  const double warps = std::ceil(static_cast<double>(choice.threads()) / machine_.warp_lanes);
  return std::min(most_registers, registers_of_scheduler / std::ceil(warps / schedulers));
}

double SlicingCost::residents_of(const SlicingChoice& choice) const {
  const double threads = static_cast<double>(choice.threads());
  const double used = std::min(registers(choice), most_registers_of(choice));
  return std::min({32.0, std::floor(machine_.threads_per_multiprocessor / threads),
                   std::floor(machine_.registers_per_multiprocessor / (used * threads))});
}

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
    slowdown *= problem_.loops[loop].length % tile == 0 ? 1 : slowdown_of_guards;
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

double SlicingCost::share_of_steps() const {
  double points = density_ * static_cast<double>(problem_.other_results);
  for (const SlicedLoop& loop : problem_.loops) {
    points *= static_cast<double>(loop.length);
  }
  return std::clamp(problem_.least_steps / points, 0.0, 1.0);
}

double SlicingCost::unrolled_steps(const SlicingChoice& choice) const {
  const double items = static_cast<double>(items_per_thread(choice));
  const double most = choice.depth != 0 ? choice.depth / choice.slices : statements_of_compiler;
  if (choice.is_unrolled) {
    return most;
  }
  const auto by_compiler = static_cast<double>(
      std::bit_floor(static_cast<unsigned>(std::max(1.0, statements_of_compiler / items))));
  return std::min(most, std::max(by_compiler, static_cast<double>(steps_at_once(choice))));
}

double SlicingCost::block_clocks(const SlicingChoice& choice, const Work& work,
                                 const Run& run) const {
  const double steps = work.steps * share_of_steps_ * static_cast<double>(tiles_of_block(choice));
  const double groups = run.is_least ? 0 : std::max(1.0, steps / run.steps_at_once);
  // loads of a group wait together, as far as there are registers for what they give
  const double loads = work.direct_loads * run.steps_at_once;
  const double free_registers = std::max(8.0, most_registers_of(choice) - work.registers);
  const double missing = std::min(1.0, run.steps_at_once * work.direct_bytes / sector_bytes);
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
  return start_clocks + work.meeting_clocks + computing +
         (has_tiles ? work.tiles * (barrier_clocks + waiting) : 0);
}

double SlicingCost::run_seconds(const SlicingChoice& choice, const Work& work,
                                const Run& run) const {
  const double blocks_count = work.blocks;
  const double items = work.items;
  const double multiprocessors = machine_.multiprocessors;
  const double groups =
      run.is_least ? 0
                   : work.steps * static_cast<double>(tiles_of_block(choice)) / run.steps_at_once;
  // units of a multiprocessor that all its blocks share; issuing is part of what each does
  const double issuing =
      (work.instructions + groups * work.warps * instructions_of_iteration) / schedulers;
  const double longest = std::max({work.flop_clocks, work.shared_clocks, work.cache_clocks});
  const double others = work.flop_clocks + work.shared_clocks + work.cache_clocks - longest;
  const double own_clocks =
      (std::max(longest, issuing) + share_of_others * others) * work.spill_factor;
  const double clocks_of_units = own_clocks * std::ceil(blocks_count / multiprocessors);
  const double rounds = std::ceil(blocks_count / (multiprocessors * run.resident));
  // items at the rim of a triangle are guarded one by one, in few blocks
  const double alone = block_clocks(choice, work, run);
  const double clocks_of_blocks = alone * (rounds - 1) + std::max(alone, work.guarded_clocks);
  // what is shorter hides within what is longer, as far as they differ
  const double core_seconds =
      std::sqrt(clocks_of_units * clocks_of_units + clocks_of_blocks * clocks_of_blocks) /
      machine_.clock_hz;
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
         std::max(0.2 * less, std::min(less, written_seconds));
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
  // one block adds up the parts of a tile, a thread those of its results one after the other
  const double tiles = std::max(1.0, work.blocks / parts);
  const double rounds = std::ceil(tiles / machine_.multiprocessors);
  return rounds * parts *
         std::max(seconds_of_part, tile_bytes * machine_.multiprocessors /
                                       machine_.memory_bytes_per_second / part_share_of_memory);
}

double SlicingCost::least_run_seconds(const SlicingChoice& choice) const {
  return machine_.is_cpu ? 0 : work_of(choice).least_run_seconds;
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
                   .steps_at_once = unrolled_steps(choice)};
  return launches * seconds_of_launch + run_seconds(choice, work, run) * factor +
         (choice.swizzle_rows != 0 ? 1e-7 : 0) +
         (choice.depth != 0 ? seconds_of_parts(choice, work) : 0);
}

}  // namespace rtcg::loopy::detail
