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

/// Where what a march reads again is kept.
enum class Queue : std::uint8_t {
  registers,        ///< of a thread what it reads itself; neighbours come from the first level
  registers_plane,  ///< neighbours come from a plane in shared memory
  shared,           ///< all from planes in shared memory
};

struct MarchChoice {
  std::int64_t lanes = 32;  ///< threads along the fast loop
  std::int64_t rows = 1;    ///< threads along the loop between
  std::int64_t items = 1;   ///< neighbours of a thread along the loop between
  std::int64_t width = 1;   ///< neighbours of a thread along the fast loop: vectors
  std::int64_t length = 64;
  Queue queue = Queue::registers;
  std::int64_t ahead = 0;  ///< iterations by which planes are filled early
  /// In the order of the bits of crossover().
  static constexpr auto decisions =
      std::tuple(&MarchChoice::lanes, &MarchChoice::rows, &MarchChoice::items, &MarchChoice::length,
                 &MarchChoice::queue, &MarchChoice::ahead, &MarchChoice::width);
  friend auto operator<=>(const MarchChoice&, const MarchChoice&) = default;

  [[nodiscard]] std::int64_t threads() const { return lanes * rows; }
  /// Points of a thread in one iteration of the march.
  [[nodiscard]] std::int64_t points() const { return items * width; }
};

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
  slicing.marches.push_back({problem.march.iname, choice.length});
  for (const MarchedArray& each : problem.arrays) {
    const bool has_neighbours = each.halo[0] + each.halo[1] > 0;
    const bool is_shared =
        has_neighbours &&
        (choice.queue == Queue::shared ||
         (choice.queue == Queue::registers_plane && !each.is_one_plane && each.other_reads > 0));
    if (is_shared) {
      slicing.queues.push_back(
          {each.array, each.length + std::min<std::int64_t>(choice.ahead, 1), true});
      continue;
    }
    if (each.thread_length > 1) {
      slicing.queues.push_back({each.array, each.thread_length + choice.ahead});
    }
    if (choice.queue == Queue::registers_plane && each.other_reads > 0) {
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

// What a march costs on a GPU. The rates that MachineModel lacks are estimates.
constexpr double march_barrier_clocks = 40;

class MarchCost {
 public:
  MarchCost(const MarchProblem& problem, const MachineModel& machine)
      : problem_(problem), machine_(machine) {}

  [[nodiscard]] double registers(const MarchChoice& choice) const {
    double count = 26 + 3 * static_cast<double>(choice.points());
    for (const MarchedArray& each : problem_.arrays) {
      count += 4 + (has_plane(choice, each) ? 4 * static_cast<double>(choice.points()) : 0) +
               (is_shared(choice, each) ? 0 : queued_registers(choice, each));
    }
    return count;
  }

  [[nodiscard]] std::int64_t shared_bytes(const MarchChoice& choice) const {
    double bytes = 0;
    for (const MarchedArray& each : problem_.arrays) {
      const double planes = is_shared(choice, each)
                                ? static_cast<double>(each.length + choice.ahead)
                            : has_plane(choice, each) ? 1.0 + static_cast<double>(choice.ahead)
                                                      : 0.0;
      bytes += planes * box(choice, each) * each.element_bytes;
    }
    return static_cast<std::int64_t>(bytes);
  }

  [[nodiscard]] double queued_registers(const MarchChoice& choice, const MarchedArray& each) const {
    const double rows = each.thread_box > 1
                            ? static_cast<double>(choice.items) - 1 + std::sqrt(each.thread_box)
                            : static_cast<double>(choice.items);
    return static_cast<double>((each.thread_length + choice.ahead) * choice.width) * rows *
           (each.thread_box > 1 ? std::sqrt(each.thread_box) : 1) *
           std::max(1.0, each.element_bytes / 4);
  }

  [[nodiscard]] double seconds(const MarchChoice& choice) const {
    const double threads = static_cast<double>(choice.threads());
    const double own = static_cast<double>(choice.points());
    const double width = static_cast<double>(choice.width);
    const double blocks = static_cast<double>(march_blocks(problem_, choice));
    const double multiprocessors = machine_.multiprocessors;
    const double resident = gpu::resident_blocks(machine_, threads, registers(choice),
                                                 static_cast<double>(shared_bytes(choice)));
    const double running = std::min(blocks, multiprocessors * resident);
    const double steps = static_cast<double>(std::min(choice.length, problem_.march.length));
    // idle threads at the rim take as long as the others
    const double points = blocks * threads * own * steps;
    double memory = problem_.compulsory_bytes;
    double cache = problem_.other_bytes * problem_.points;
    double core_bytes = problem_.other_bytes * points;
    double shared = 0;
    double instructions = problem_.operations * points / problem_.points +
                          (problem_.other_reads / width + 6 / own) * points;
    double in_flight = problem_.other_bytes * own;
    double barriers = 0;
    for (const MarchedArray& each : problem_.arrays) {
      const double ends = static_cast<double>(each.length - 1) / static_cast<double>(choice.length);
      const double planes = blocks * (steps + static_cast<double>(each.length - 1));
      memory += each.elements * each.element_bytes * ends;
      const double plane_bytes = box(choice, each) * each.element_bytes;
      const double own_bytes = threads * own * each.element_bytes;
      const bool in_shared = is_shared(choice, each);
      if (in_shared || has_plane(choice, each)) {
        cache += planes * (plane_bytes + (in_shared ? 0 : own_bytes));
        core_bytes += planes * (plane_bytes + (in_shared ? 0 : own_bytes));
        shared += points * (in_shared ? each.reads : each.other_reads) * each.element_bytes +
                  planes * plane_bytes;
        instructions += planes * plane_bytes / each.element_bytes * 8 +
                        points * (in_shared ? each.reads * 1.5 : each.other_reads + 2);
        barriers = std::max(barriers, choice.ahead > 0 ? 1.0 : 2.0);
        in_flight += plane_bytes / threads;
      } else {
        cache += planes * std::max(plane_bytes, own_bytes);
        // reads at shifted places find the lanes of a warp `width` elements apart
        core_bytes += points *
                      (each.other_reads + each.thread_box + each.shifted_reads * (width - 1)) *
                      each.element_bytes * 1.2;
        instructions +=
            points * ((each.other_reads - each.shifted_reads + each.thread_box) / width +
                      each.shifted_reads + static_cast<double>(each.thread_length) / 2);
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
    const double memory_seconds = memory / machine_.memory_bytes_per_second / streams / busy;
    const double cache_seconds = cache / gpu::cache_bytes_per_second / busy;
    const double core_clocks = std::max({instructions / machine_.warp_lanes / 4 * 1.2,
                                         core_bytes / machine_.cache_bytes_per_clock,
                                         shared / machine_.shared_bytes_per_clock,
                                         problem_.float_clocks * points / problem_.points});
    const double core_seconds =
        core_clocks / multiprocessors / machine_.clock_hz / std::max(0.3, std::min(busy, fill));
    const double wait_seconds =
        waves * steps *
        (march_barrier_clocks * barriers + gpu::clocks_of_load / (choice.ahead > 0 ? 2.0 : 1.0)) /
        machine_.clock_hz;
    const double longest = std::max({memory_seconds, cache_seconds, core_seconds, wait_seconds});
    return longest +
           0.1 * (memory_seconds + cache_seconds + core_seconds + wait_seconds - longest) + 2e-6;
  }

 private:
  [[nodiscard]] static bool is_shared(const MarchChoice& choice, const MarchedArray& each) {
    return each.halo[0] + each.halo[1] > 0 &&
           (choice.queue == Queue::shared ||
            (choice.queue == Queue::registers_plane && !each.is_one_plane && each.other_reads > 0));
  }
  [[nodiscard]] static bool has_plane(const MarchChoice& choice, const MarchedArray& each) {
    return choice.queue == Queue::registers_plane && each.other_reads > 0;
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
      for (const std::int64_t ahead : {0, 1}) {
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
          if (is_allowed(choice)) {
            result.push_back(choice);
          }
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
    if (has([](const MarchedArray& each) { return each.halo[0] + each.halo[1] > 0; })) {
      result.push_back(Queue::shared);
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

class MarchSource final : public ListedSource<MarchChoice> {
 public:
  MarchSource(MarchProblem problem, const std::vector<MarchChoice>& choices,
              const MachineModel& machine)
      : problem_(std::move(problem)), machine_(machine) {
    const MarchCost cost(problem_, machine_);
    list(choices, [&](const MarchChoice& each) { return cost.seconds(each); });
  }

  [[nodiscard]] RankedSlicing at(std::size_t place) const override {
    const MarchChoice& choice = this->choice(place);
    Slicing slicing = march_slicing(problem_, choice);
    return {{to_string(slicing), predicted_seconds(place), choice.threads(),
             march_blocks(problem_, choice), MarchCost(problem_, machine_).shared_bytes(choice), 0},
            std::move(slicing)};
  }
  [[nodiscard]] std::vector<std::int64_t> decisions(std::size_t place) const override {
    const MarchChoice& choice = this->choice(place);
    return {choice.lanes, choice.rows,   choice.items,
            choice.width, choice.length, static_cast<std::int64_t>(choice.queue),
            choice.ahead};
  }

 private:
  [[nodiscard]] ChoiceDistance distance(const MarchChoice& a, const MarchChoice& b) const override {
    ChoiceDistance result;
    result.add_length(a.lanes, b.lanes);
    result.add_length(a.rows, b.rows);
    result.add_length(a.items, b.items);
    result.add_length(a.width, b.width);
    result.add_length(a.length, b.length);
    result.answers = (a.queue != b.queue ? 1 : 0) + (a.ahead != b.ahead ? 1 : 0);
    return result;
  }

  const MarchProblem problem_;
  const MachineModel machine_;
};

}  // namespace

SourcePtr march_slicings(const Kernel& kernel, const SlicingConstraints& constraints) {
  if (constraints.machine.is_cpu) {
    return nullptr;  // threads of processors are lanes
  }
  return listed_slicings<MarchSource, MarchEnumerator>(
      kernel, read_march_problem(kernel, constraints), constraints);
}

}  // namespace rtcg::loopy::detail
