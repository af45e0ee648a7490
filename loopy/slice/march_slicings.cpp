// Marches: blocks that walk along the slow loop of a stencil, and keep what they read again.
#include <algorithm>
#include <cmath>
#include <optional>
#include <tuple>

#include "rtcg/cgen/support/gpu_limits.h"
#include "rtcg/cgen/support/integer.h"
#include "rtcg/loopy/slice/gpu_figures.h"
#include "rtcg/loopy/slice/legal_slicing.h"
#include "rtcg/loopy/slice/listed_source.h"
#include "rtcg/loopy/slice/march_problem.h"

namespace rtcg::loopy::detail {
namespace {

constexpr double most_queued = 96;       // registers of queues
constexpr std::int64_t most_points = 8;  // of a thread in an iteration
/// Iterations that are written out, so that registers rotate without most of their moves.
constexpr std::int64_t most_unrolled = 3;

/// Where what a march reads again is kept.
enum class Queue : std::uint8_t {
  registers,        ///< of a thread what it reads itself; neighbours come from the first level
  registers_plane,  ///< neighbours come from a plane in shared memory
  shared,           ///< all from planes in shared memory
  fed,              ///< planes in shared memory, and registers that are filled from them
};

struct MarchChoice {
  std::int64_t lanes = 32;  ///< threads along the fast loop
  std::int64_t rows = 1;    ///< threads along the loop between
  std::int64_t items = 1;   ///< neighbours of a thread along the loop between
  std::int64_t width = 1;   ///< neighbours of a thread along the fast loop: vectors
  std::int64_t length = 64;
  Queue queue = Queue::registers;
  std::int64_t ahead = 0;     ///< iterations by which planes are filled early
  std::int64_t unrolled = 0;  ///< iterations that are written out; 0: the compiler decides
  static constexpr auto lengths =
      std::tuple(&MarchChoice::lanes, &MarchChoice::rows, &MarchChoice::items, &MarchChoice::width,
                 &MarchChoice::length);
  static constexpr auto answers =
      std::tuple(&MarchChoice::queue, &MarchChoice::ahead, &MarchChoice::unrolled);
  friend auto operator<=>(const MarchChoice&, const MarchChoice&) = default;

  [[nodiscard]] std::int64_t threads() const { return lanes * rows; }
  /// Points of a thread in one iteration of the march.
  [[nodiscard]] std::int64_t points() const { return items * width; }
};

bool has_halo(const MarchedArray& each) {
  return each.halo[0] + each.halo[1] > 0;
}

/// Whether planes in shared memory have all that is read of an array.
bool is_shared(const MarchChoice& choice, const MarchedArray& each) {
  return has_halo(each) &&
         (choice.queue == Queue::shared ||
          (choice.queue == Queue::registers_plane && !each.is_one_plane && each.other_reads > 0));
}
/// Whether a plane in shared memory has what neighbours read.
bool has_plane(const MarchChoice& choice, const MarchedArray& each) {
  return choice.queue == Queue::registers_plane && each.other_reads > 0;
}
/// Whether planes in shared memory fill the registers of threads.
bool is_fed(const MarchChoice& choice, const MarchedArray& each) {
  return choice.queue == Queue::fed && has_halo(each) && each.thread_length > 1 &&
         each.feeding_length > 0;
}
/// Places of an array's queue in shared memory.
std::int64_t planes_of(const MarchChoice& choice, const MarchedArray& each) {
  return is_fed(choice, each)      ? each.feeding_length + choice.ahead
         : is_shared(choice, each) ? each.length + choice.ahead
                                   : 0;
}
/// Places of the queue of a thread.
std::int64_t places_of(const MarchChoice& choice, const MarchedArray& each) {
  return is_fed(choice, each) ? each.thread_length
                              : each.thread_length + std::min<std::int64_t>(choice.ahead, 1);
}

Slicing march_slicing(const MarchProblem& problem, const MarchChoice& choice) {
  Slicing slicing;
  InameSlicing fast{problem.across[0].iname, {{0, {AxisKind::grid, 0}}}};
  fast.factors.push_back({choice.lanes, {AxisKind::block, 0}});
  if (choice.width > 1) {
    fast.factors.push_back({choice.width, {AxisKind::vec, 0}});
  }
  slicing.inames.push_back(std::move(fast));
  int axis = 1;
  if (problem.across.size() > 1) {
    InameSlicing between{problem.across[1].iname, {{0, {AxisKind::grid, axis++}}}};
    if (choice.rows > 1) {
      between.factors.push_back({choice.rows, {AxisKind::block, 1}});
    }
    if (choice.items > 1) {
      between.factors.push_back({choice.items, {AxisKind::ilp, 0}});
    }
    slicing.inames.push_back(std::move(between));
  }
  slicing.inames.push_back({problem.march.iname, {{0, {AxisKind::grid, axis}}}});
  for (const std::string& each : problem.sums) {
    slicing.inames.push_back({each, {{0, {AxisKind::unroll, 0}}}});
  }
  slicing.marches.push_back({problem.march.iname, choice.length, choice.unrolled});
  for (const MarchedArray& each : problem.arrays) {
    if (!is_shared(choice, each) && each.thread_length > 1) {
      slicing.queues.push_back({each.array, places_of(choice, each)});
    }
    if (planes_of(choice, each) > 0) {
      slicing.queues.push_back({each.array, planes_of(choice, each), true});
    } else if (has_plane(choice, each)) {
      slicing.fetches.push_back(
          {.array = each.array, .stages = choice.ahead > 0 ? 2 : 0, .at = problem.march.iname});
    }
  }
  return slicing;
}

std::int64_t march_blocks(const MarchProblem& problem, const MarchChoice& choice) {
  return ceil_divide(problem.across[0].length, choice.lanes * choice.width) *
         ceil_divide(problem.length_between(), choice.rows * choice.items) *
         ceil_divide(problem.march.length, choice.length);
}

// What a march costs on a GPU. The rates that MachineModel lacks are estimates, fitted to 8
// slicings of 25 points on an H200 of 2026-11-29, which took 404 to 564 us.
constexpr double march_barrier_clocks = 40;
constexpr double march_instructions_of_iteration = 45;  // addresses, tests and the loop itself
constexpr double march_instructions_of_copy = 12;  // to shared memory, with its address and tests
constexpr double march_warps_to_issue = 14;        // an instruction in each clock of each scheduler
/// Of a multiprocessor's instructions, while all warps of its one block wait for each other.
constexpr double march_share_of_one_block = 0.67;
constexpr double march_memory_of_one_block = 0.85;  // the same of the memory's rate
constexpr double march_steps_to_drift = 1000;       // until no block finds what its neighbours read
constexpr double march_cache_bytes_per_second = 6.5e12;  // of the second level

class MarchCost {
 public:
  MarchCost(const MarchProblem& problem, const MachineModel& machine)
      : problem_(problem), machine_(machine) {}

  [[nodiscard]] double registers(const MarchChoice& choice) const {
    const double points = static_cast<double>(choice.points());
    double count = 26 + 3 * points;
    for (const MarchedArray& each : problem_.arrays) {
      count += 4 + (has_plane(choice, each) || is_fed(choice, each) ? 4 * points : 0) +
               (is_shared(choice, each) ? 0 : queued_registers(choice, each));
    }
    return count;
  }

  [[nodiscard]] std::int64_t shared_bytes(const MarchChoice& choice) const {
    double bytes = 0;
    for (const MarchedArray& each : problem_.arrays) {
      const double planes = has_plane(choice, each) && !is_shared(choice, each)
                                ? 1.0 + static_cast<double>(choice.ahead)
                                : static_cast<double>(planes_of(choice, each));
      bytes += planes * box(choice, each) * each.element_bytes;
    }
    return static_cast<std::int64_t>(bytes);
  }

  [[nodiscard]] double queued_registers(const MarchChoice& choice, const MarchedArray& each) const {
    const double rows = each.thread_box > 1
                            ? static_cast<double>(choice.items) - 1 + std::sqrt(each.thread_box)
                            : static_cast<double>(choice.items);
    return static_cast<double>(places_of(choice, each) * choice.width) * rows *
           (each.thread_box > 1 ? std::sqrt(each.thread_box) : 1) *
           std::max(1.0, each.element_bytes / 4);
  }

  [[nodiscard]] double seconds(const MarchChoice& choice) const {
    const double threads = static_cast<double>(choice.threads());
    const double own = static_cast<double>(choice.points());
    const double blocks = static_cast<double>(march_blocks(problem_, choice));
    const double multiprocessors = machine_.multiprocessors;
    const double resident = gpu::resident_blocks(machine_, threads, registers(choice),
                                                 static_cast<double>(shared_bytes(choice)));
    const double running = std::min(blocks, multiprocessors * resident);
    const double steps = static_cast<double>(std::min(choice.length, problem_.march.length));
    const double iterations = blocks * threads * steps;
    // idle threads at the rim take as long as the others
    const double points = iterations * own;
    double memory = problem_.compulsory_bytes;
    double cache = problem_.other_bytes * problem_.points;
    double core_bytes = problem_.other_bytes * points;
    double shared = 0;
    double instructions = problem_.operations * points / problem_.points +
                          problem_.other_reads / static_cast<double>(choice.width) * points +
                          march_instructions_of_iteration * iterations;
    double in_flight = problem_.other_read_bytes * own;
    double barriers = 0;
    for (const MarchedArray& each : problem_.arrays) {
      const double ends = static_cast<double>(each.length - 1) / static_cast<double>(choice.length);
      const double planes = blocks * (steps + static_cast<double>(each.length - 1));
      const double plane_bytes = box(choice, each) * each.element_bytes;
      const double own_bytes = threads * own * each.element_bytes;
      const double vector_bytes = static_cast<double>(choice.width) * each.element_bytes;
      const bool in_planes = is_shared(choice, each) || is_fed(choice, each);
      const double loads = loads_of(choice, each);
      memory += each.elements * each.element_bytes * ends;
      // blocks that march far drift apart: what neighbours share has left the cache
      memory += blocks * steps * std::max(0.0, plane_bytes - own_bytes) *
                std::min(1.0, steps / march_steps_to_drift);
      if (!is_shared(choice, each)) {
        instructions += (moves_of(choice, each) + static_cast<double>(choice.items)) * iterations;
      }
      if (in_planes || has_plane(choice, each)) {
        const bool is_wide = each.has_wide_rows && choice.ahead > 0;
        const double copies = plane_bytes / (is_wide ? 16 : each.element_bytes);
        const double read_ahead = is_fed(choice, each) ? static_cast<double>(choice.items) : 0;
        cache += planes * (plane_bytes + (in_planes ? 0 : own_bytes));
        core_bytes += planes * (plane_bytes + (in_planes ? 0 : own_bytes));
        shared += (loads + read_ahead) * vector_bytes * iterations + planes * plane_bytes;
        instructions +=
            planes * std::ceil(copies / threads) * threads * march_instructions_of_copy +
            loads * iterations;
        barriers = std::max(barriers, choice.ahead > 0 ? 1.0 : 2.0);
        in_flight +=
            plane_bytes / threads * static_cast<double>(std::max<std::int64_t>(1, choice.ahead));
      } else {
        // the planes before the first iteration have no neighbours
        cache += blocks * (steps * std::max(plane_bytes, own_bytes) +
                           static_cast<double>(each.length - 1) * own_bytes);
        core_bytes += (loads + static_cast<double>(choice.items)) * vector_bytes * iterations;
        instructions += loads * iterations;
        in_flight += own_bytes / threads * (choice.ahead > 0 ? 2 : 1);
      }
    }
    const double busy = std::min(1.0, blocks / multiprocessors);
    const double waves = std::ceil(blocks / (multiprocessors * resident));
    const double fill = blocks / (waves * multiprocessors * resident);
    // planes that are not filled ahead are waited for in each iteration
    const double duty = choice.ahead > 0 ? 1 : 0.7;
    const double streams = std::clamp(
        running / multiprocessors * threads * in_flight * duty / gpu::bytes_in_flight, 0.02, 1.0);
    const bool waits_alone = resident < 2 && barriers > 0;
    const double memory_seconds = memory / machine_.memory_bytes_per_second / streams / busy /
                                  (waits_alone ? march_memory_of_one_block : 1);
    const double cache_seconds = cache / march_cache_bytes_per_second / busy;
    // few warps do not find an instruction in each clock
    const double warps = running / multiprocessors * threads / machine_.warp_lanes;
    const double issued = std::clamp(warps / march_warps_to_issue, 0.2, 1.0) *
                          (waits_alone ? march_share_of_one_block : 1);
    const double core_clocks = std::max({instructions / machine_.warp_lanes / 4 * 1.05 / issued,
                                         core_bytes / machine_.cache_bytes_per_clock,
                                         shared / machine_.shared_bytes_per_clock,
                                         problem_.float_clocks * points / problem_.points});
    const double core_seconds =
        core_clocks / multiprocessors / machine_.clock_hz / std::max(0.3, std::min(busy, fill));
    const double wait_seconds = waves * steps *
                                (march_barrier_clocks * barriers +
                                 gpu::clocks_of_load / (1.0 + static_cast<double>(choice.ahead))) /
                                machine_.clock_hz;
    const double longest = std::max({memory_seconds, cache_seconds, core_seconds, wait_seconds});
    return longest +
           0.2 * (memory_seconds + cache_seconds + core_seconds + wait_seconds - longest) + 2e-6;
  }

 private:
  /// Vectors that a thread reads in an iteration, without those that its queue has: each element
  /// that several of its points read is read once.
  [[nodiscard]] static double loads_of(const MarchChoice& choice, const MarchedArray& each) {
    const auto items = static_cast<double>(choice.items);
    const auto width = static_cast<double>(choice.width);
    // a row with its halo: elements that are not a whole vector are read one by one, and take as
    // long each, because threads read them `width` elements apart
    const double side = each.halo[0] / 2;
    const double row = 1 + 2 * (std::floor(side / width) + std::fmod(side, width));
    const double rows = items + each.halo[1];
    if (each.thread_box > 1) {
      return is_shared(choice, each) ? static_cast<double>(each.length) * rows * row : rows * row;
    }
    const double straight = each.other_reads - each.shifted_reads;
    const double shared_rows = items > 1 ? rows : each.halo[1];
    const double own_rows =
        each.is_one_plane ? std::min(straight * items, shared_rows) : straight * items;
    const double shifted =
        each.shifted_reads > 0
            ? items * std::min(each.shifted_reads,
                               row * std::max(1.0, each.shifted_reads / each.halo[0]))
            : 0;
    const double column =
        is_shared(choice, each) ? items * static_cast<double>(each.thread_length - 1) : 0;
    return own_rows + shifted + std::max(0.0, column);
  }
  /// Registers that rotate in an iteration.
  [[nodiscard]] double moves_of(const MarchChoice& choice, const MarchedArray& each) const {
    return each.thread_length > 1
               ? queued_registers(choice, each) /
                     static_cast<double>(std::max<std::int64_t>(1, choice.unrolled))
               : 0;
  }
  /// Elements of one plane that a block reads, in whole sectors.
  [[nodiscard]] double box(const MarchChoice& choice, const MarchedArray& each) const {
    const double sector = gpu::sector_bytes / each.element_bytes;
    const double across =
        static_cast<double>(choice.lanes * choice.width) +
        (each.halo[0] > 0 ? std::ceil(each.halo[0] / 2 / sector) * 2 * sector : 0);
    return across * (static_cast<double>(choice.rows * choice.items) + each.halo[1]);
  }

  const MarchProblem& problem_;
  const MachineModel& machine_;
};

class MarchEnumerator {
 public:
  MarchEnumerator(const Kernel& kernel, const MarchProblem& problem,
                  const SlicingConstraints& constraints)
      : kernel_(kernel),
        problem_(problem),
        constraints_(constraints),
        cost_(problem, constraints.machine) {}

  std::vector<MarchChoice> run() {
    const std::int64_t rows = problem_.across.size() > 1 ? 4 : 1;
    const std::int64_t length = lengths().empty() ? 0 : lengths().front();
    std::int64_t widest = 1;
    for (const std::int64_t width : {2, 4}) {
      widest = can_be_wide(width) ? width : widest;
    }
    const std::int64_t most_items = problem_.across.size() > 1 ? 4 : 1;
    for (const Queue queue : queues()) {
      for (const std::int64_t ahead : ahead_of(queue)) {
        // what lanes of both kinds can have, fewer can
        std::optional<bool> has_all;
        for (const std::int64_t width : {1, 2, 4}) {
          for (std::int64_t items = 1; items <= most_items && can_be_wide(width); items *= 2) {
            const MarchChoice first{32, rows, items, width, length, queue, ahead};
            const std::vector<MarchChoice> shapes = shapes_of(first);
            if (shapes.empty()) {
              continue;
            }
            if (!has_all) {
              has_all = is_possible(
                  {32, rows, std::min<std::int64_t>(most_items, 2), widest, length, queue, ahead});
            }
            if (*has_all || is_possible(first)) {
              choices_.insert(choices_.end(), shapes.begin(), shapes.end());
            }
          }
        }
      }
    }
    return std::move(choices_);
  }

 private:
  /// All blocks and lengths that keep the constraints, for one way to keep what is read again.
  [[nodiscard]] std::vector<MarchChoice> shapes_of(MarchChoice choice) const {
    std::vector<MarchChoice> result;
    const bool has_between = problem_.across.size() > 1;
    if (choice.points() > std::min(most_points, constraints_.max_items_per_thread)) {
      return result;
    }
    for (const std::int64_t lanes : {4, 8, 16, 32, 64, 128, 256, 512}) {
      for (std::int64_t rows = 1; rows <= (has_between ? 32 : 1); rows *= 2) {
        for (const std::int64_t length : lengths()) {
          choice.lanes = lanes;
          choice.rows = rows;
          choice.length = length;
          if (!is_allowed(choice)) {
            continue;
          }
          for (const std::int64_t unrolled : {std::int64_t{0}, most_unrolled}) {
            choice.unrolled = unrolled;
            if (unrolled == 0 || (choice.queue != Queue::shared && unrolled < length)) {
              result.push_back(choice);
            }
          }
          choice.unrolled = 0;
        }
      }
    }
    return result;
  }

  /// Whether the rows of all arrays begin at multiples of a vector's length, which is asked for and
  /// has 16 bytes at most.
  [[nodiscard]] bool can_be_wide(std::int64_t width) const {
    const auto is_aligned = [&](const Argument& each) {
      const auto row = each.is_array && each.shape.size() > 1 ? as_integer(each.shape.back())
                                                              : std::optional(width);
      return row && *row % width == 0;
    };
    const std::vector<std::int64_t>& widths = constraints_.vector_widths;
    if (!widths.empty() && std::find(widths.begin(), widths.end(), width) == widths.end()) {
      return false;
    }
    return width == 1 ||
           (std::all_of(kernel_.arguments.begin(), kernel_.arguments.end(), is_aligned) &&
            std::all_of(problem_.arrays.begin(), problem_.arrays.end(), [&](const auto& each) {
              return each.element_bytes * static_cast<double>(width) <= 16;
            }));
  }

  /// Iterations by which planes may be filled early.
  [[nodiscard]] static std::vector<std::int64_t> ahead_of(Queue queue) {
    return queue == Queue::fed      ? std::vector<std::int64_t>{1, 2}
           : queue == Queue::shared ? std::vector<std::int64_t>{0, 1, 2}
                                    : std::vector<std::int64_t>{0, 1};
  }

  [[nodiscard]] std::vector<Queue> queues() const {
    std::vector<Queue> result;
    const auto has = [&](const auto& what) {
      return std::any_of(problem_.arrays.begin(), problem_.arrays.end(), what);
    };
    if (has([](const MarchedArray& each) { return each.thread_length > 1; })) {
      result.push_back(Queue::registers);
      if (has([](const MarchedArray& each) { return each.other_reads > 0 && each.is_one_plane; })) {
        result.push_back(Queue::registers_plane);
      }
    }
    if (has(has_halo)) {
      result.push_back(Queue::shared);
    }
    // where a queue of planes is shorter than one that has all
    if (has([](const MarchedArray& each) {
          return is_fed({.queue = Queue::fed}, each) && each.feeding_length < each.length;
        })) {
      result.push_back(Queue::fed);
    }
    return result;
  }

  [[nodiscard]] std::vector<std::int64_t> lengths() const {
    std::vector<std::int64_t> result;
    for (std::int64_t length = problem_.march.length < 64 ? 4 : 16;
         length < 2 * problem_.march.length && length <= 512; length *= 2) {
      result.push_back(length);
    }
    return result;
  }

  /// Asks the transformations and the generator.
  [[nodiscard]] bool is_possible(const MarchChoice& choice) const {
    return !why_not_sliced(kernel_, march_slicing(problem_, choice));
  }

  [[nodiscard]] bool is_allowed(const MarchChoice& choice) const {
    const std::int64_t threads = choice.threads();
    double queued = 0;
    for (const MarchedArray& each : problem_.arrays) {
      queued += cost_.queued_registers(choice, each);
    }
    const bool fits_queue = choice.queue == Queue::shared || queued <= most_queued;
    const std::int64_t fast = problem_.across[0].length;
    const bool is_wasteful = choice.lanes * choice.width >= 2 * fast ||
                             (choice.lanes < 16 && fast > 16) ||
                             choice.rows * choice.items >= 2 * problem_.length_between();
    return threads >= constraints_.min_threads && threads <= constraints_.max_threads &&
           !is_wasteful && fits_queue &&
           march_blocks(problem_, choice) >= constraints_.min_blocks &&
           ceil_divide(problem_.length_between(), choice.rows * choice.items) <=
               most_blocks_across &&
           cost_.shared_bytes(choice) <=
               std::min(constraints_.max_shared_bytes, constraints_.machine.shared_bytes) &&
           cost_.registers(choice) <= static_cast<double>(constraints_.max_registers) &&
           cost_.registers(choice) * static_cast<double>(threads) <=
               constraints_.machine.registers_per_multiprocessor;
  }

  const Kernel& kernel_;
  const MarchProblem& problem_;
  const SlicingConstraints& constraints_;
  MarchCost cost_;
  std::vector<MarchChoice> choices_{};
};

struct MarchFamily {
  using Problem = MarchProblem;
  using Choice = MarchChoice;
  using Cost = MarchCost;
  using Enumerator = MarchEnumerator;

  static SlicedChoice sliced(const Problem& problem, const Choice& choice,
                             const MachineModel& machine) {
    return {march_slicing(problem, choice), choice.threads(), march_blocks(problem, choice),
            Cost(problem, machine).shared_bytes(choice)};
  }
};

}  // namespace

SourcePtr march_slicings(const Kernel& kernel, const SlicingConstraints& constraints) {
  if (constraints.machine.is_cpu) {
    return nullptr;  // threads of processors are lanes
  }
  return listed_slicings<MarchFamily>(kernel, read_march_problem(kernel, constraints), constraints);
}

}  // namespace rtcg::loopy::detail
