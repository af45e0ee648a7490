// Rows along which each thread goes one after the other, because each step needs the one before:
// the block copies tiles of several steps, whose neighbours are then next to each other.
#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "rtcg/cgen/support/gpu_limits.h"
#include "rtcg/cgen/support/integer.h"
#include "rtcg/loopy/analyze/access.h"
#include "rtcg/loopy/analyze/infer_types.h"
#include "rtcg/loopy/slice/access_groups.h"
#include "rtcg/loopy/slice/count_work.h"
#include "rtcg/loopy/slice/gpu_figures.h"
#include "rtcg/loopy/slice/listed_source.h"
#include "rtcg/loopy/slice/slicing_problem.h"
#include "rtcg/loopy/symbolic/traverse.h"
#include "rtcg/loopy/transform/expand_subst.h"
#include "rtcg/loopy/transform/iname_use.h"

namespace rtcg::loopy::detail {
namespace {

/// An array along whose rows threads go.
struct SteppedArray {
  std::string array{};
  double bytes = 4;              ///< of an element
  double points = 1;             ///< accesses in all
  std::int64_t spread = 0;       ///< elements of a row that steps reach beyond their own
  std::int64_t rows_beyond = 0;  ///< that threads reach beyond their own
  std::int64_t planes = 1;       ///< of rows, by the indices before
  bool is_written = false;
  std::int64_t group = 0;  ///< of the reads, as in FetchPlan
};

struct SteppedProblem {
  std::vector<SlicedLoop> rows{};  ///< that of the threads first
  SlicedLoop step{};
  std::vector<SteppedArray> arrays{};
  double row_count = 1;
  double operations = 0;        ///< of the kernel, as instructions of a thread
  double other_accesses = 0;    ///< to other arrays
  double compulsory_bytes = 0;  ///< each element once
};

struct SteppedChoice {
  std::int64_t threads = 32;
  std::int64_t depth = 32;  ///< steps of a tile
  bool is_fetched = true;   ///< what is read
  bool is_buffered = true;  ///< what is written
  static constexpr auto lengths = std::tuple(&SteppedChoice::threads, &SteppedChoice::depth);
  static constexpr auto answers =
      std::tuple(&SteppedChoice::is_fetched, &SteppedChoice::is_buffered);
  friend auto operator<=>(const SteppedChoice&, const SteppedChoice&) = default;

  [[nodiscard]] bool has_tile(const SteppedArray& array) const {
    return array.is_written ? is_buffered : is_fetched;
  }
};

class SteppedReader {
 public:
  SteppedReader(const Kernel& kernel, const SlicingConstraints& constraints)
      : kernel_(infer_types(expand_subst(kernel))),
        constraints_(constraints),
        counter_(kernel_, constraints.parameters) {}

  /// Nothing for kernels without such a loop.
  std::optional<SteppedProblem> read() {
    const bool are_plain =
        std::all_of(kernel_.instructions.begin(), kernel_.instructions.end(),
                    [](const Instruction& each) { return is<Assignment>(each); });
    if (constraints_.machine.is_cpu || !are_plain || kernel_.instructions.empty() ||
        !constraints_.free_layouts.empty()) {
      return std::nullopt;
    }
    problem_.rows = result_loops(kernel_, constraints_.parameters);
    const std::optional<std::string> step = problem_.rows.empty() ? std::nullopt : find_step();
    if (!step) {
      return std::nullopt;
    }
    problem_.step = sliced_loop(kernel_, constraints_.parameters, *step);
    read_arrays();
    if (problem_.arrays.empty()) {
      return std::nullopt;
    }
    const auto row = std::find_if(problem_.rows.begin(), problem_.rows.end(),
                                  [&](const SlicedLoop& each) { return each.iname == row_; });
    std::rotate(problem_.rows.begin(), row, row + 1);
    for (const SlicedLoop& each : problem_.rows) {
      problem_.row_count *= static_cast<double>(each.length);
    }
    const KernelWork work = count_work(kernel_, constraints_.parameters, "");
    problem_.operations = work.outside.count();
    problem_.compulsory_bytes = work.compulsory_bytes;
    return std::move(problem_);
  }

 private:
  [[nodiscard]] bool is_row(const std::string& iname) const {
    return std::any_of(problem_.rows.begin(), problem_.rows.end(),
                       [&](const SlicedLoop& each) { return each.iname == iname; });
  }

  /// The index before the last one is a row, and the last one goes on with the step: `a[i, j - 1]`.
  struct Place {
    std::string row{};
    std::string step{};
    std::int64_t offset = 0;
  };
  [[nodiscard]] std::optional<Place> place_of(const ArrayAccess& access) const {
    const Argument* argument = find_argument(kernel_, access.array);
    if (argument == nullptr || !argument->is_array || access.is_linear ||
        access.indices.size() < 2) {
      return std::nullopt;
    }
    const auto last = to_affine(access.indices.back());
    const auto before = to_affine(access.indices[access.indices.size() - 2]);
    if (!last || !before || before->terms().size() != 1 || last->terms().size() != 1 ||
        before->terms().front().coefficient != 1 || last->terms().front().coefficient != 1) {
      return std::nullopt;
    }
    Place place{before->terms().front().name, last->terms().front().name, last->constant()};
    const bool is_stepped = is_row(place.row) && is_iname(kernel_, place.step) &&
                            !is_row(place.step) &&
                            tag_of(kernel_, place.step).kind == AxisKind::sequential;
    return is_stepped ? std::optional(std::move(place)) : std::nullopt;
  }

  /// The loop around statements along which most arrays go, and the rows of its threads.
  std::optional<std::string> find_step() {
    std::map<std::pair<std::string, std::string>, int> uses;
    for (const ArrayAccess& access : accesses_of(kernel_)) {
      const std::optional<Place> place = place_of(access);
      if (place && is_within(place->step, access.statement) &&
          !has_computed_bounds(kernel_, place->step)) {
        ++uses[{place->step, place->row}];
      }
    }
    const auto most = std::max_element(
        uses.begin(), uses.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    if (most == uses.end()) {
      return std::nullopt;
    }
    row_ = most->first.second;
    return most->first.first;
  }
  [[nodiscard]] bool is_within(const std::string& iname, const std::string& statement) const {
    return std::any_of(kernel_.instructions.begin(), kernel_.instructions.end(),
                       [&](const Instruction& each) {
                         return each.id == statement && each.within_inames.count(iname) != 0;
                       });
  }

  /// Within the loop of steps.
  [[nodiscard]] std::vector<ArrayAccess> stepped_accesses(const std::string& array) const {
    std::vector<ArrayAccess> accesses = accesses_of(kernel_);
    std::erase_if(accesses, [&](const ArrayAccess& each) {
      return each.array != array || !is_within(problem_.step.iname, each.statement);
    });
    return accesses;
  }

  /// What accesses that differ by constants make of an array.
  [[nodiscard]] SteppedArray with_points(SteppedArray array,
                                         const std::vector<ArrayAccess>& accesses) {
    array.points = 0;
    for (const ArrayAccess& each : accesses) {
      array.points += counter_.points(each.inames);
    }
    const std::size_t axes = accesses.front().indices.size();
    for (std::size_t axis = 0; axis < axes; ++axis) {
      std::int64_t least = 0;
      std::int64_t most = 0;
      for (const ArrayAccess& each : accesses) {
        const std::int64_t offset = offset_from(accesses.front(), each, axis);
        least = std::min(least, offset);
        most = std::max(most, offset);
      }
      if (axis + 1 == axes) {
        array.spread = most - least;
      } else if (axis + 2 == axes) {
        array.rows_beyond = most - least;
      } else {
        array.planes *= most - least + 1;
      }
    }
    return array;
  }
  /// Along an axis; 0 for indices that do not differ by a constant.
  [[nodiscard]] static std::int64_t offset_from(const ArrayAccess& one, const ArrayAccess& other,
                                                std::size_t axis) {
    const auto first = to_affine(one.indices[axis]);
    const auto second = to_affine(other.indices[axis]);
    const Affine offset = first && second ? *second - *first : Affine();
    return offset.is_constant() ? offset.constant() : 0;
  }

  void read_arrays() {
    for (const Argument& argument : kernel_.arguments) {
      const std::vector<ArrayAccess> accesses =
          argument.is_array ? stepped_accesses(argument.name) : std::vector<ArrayAccess>();
      const auto is_write = [](const ArrayAccess& each) { return each.is_write; };
      const bool is_written = std::any_of(accesses.begin(), accesses.end(), is_write);
      const bool are_all = std::all_of(accesses.begin(), accesses.end(), [&](const auto& each) {
        const std::optional<Place> place = place_of(each);
        // what is written as well as read is left to the caches
        return each.is_write == is_written && place && place->step == problem_.step.iname &&
               place->row == row_;
      });
      if (!are_all) {
        for (const ArrayAccess& each : accesses) {
          problem_.other_accesses += counter_.points(each.inames);
        }
      } else if (!accesses.empty()) {
        const SteppedArray array{.array = argument.name,
                                 .bytes = static_cast<double>(size_bytes(*argument.type)),
                                 .is_written = is_written};
        is_written ? problem_.arrays.push_back(with_points(array, accesses))
                   : add_groups(array, accesses);
      }
    }
  }

  /// A tile for each group of reads: other nests of the kernel may read the array in other ways.
  void add_groups(SteppedArray array, const std::vector<ArrayAccess>& accesses) {
    const std::vector<AccessGroup> groups = access_groups(kernel_, array.array);
    for (std::size_t i = 0; i < groups.size(); ++i) {
      std::vector<ArrayAccess> own;
      std::copy_if(accesses.begin(), accesses.end(), std::back_inserter(own),
                   [&](const ArrayAccess& each) { return groups[i].contains(each); });
      if (!own.empty()) {
        array.group = groups.size() > 1 ? static_cast<std::int64_t>(i) + 1 : 0;
        problem_.arrays.push_back(with_points(array, own));
      }
    }
  }

  const Kernel kernel_;
  const SlicingConstraints& constraints_;
  PointCounter counter_;
  std::string row_{};
  SteppedProblem problem_{};
};

/// Rows of tiles have an odd number of elements: threads of neighbouring rows then use different
/// banks.
std::int64_t padding_of(const SteppedArray& array, const SteppedChoice& choice) {
  return (choice.depth + array.spread) % 2 == 0 ? 1 : 0;
}

std::int64_t shared_bytes_of(const SteppedProblem& problem, const SteppedChoice& choice) {
  double bytes = 0;
  for (const SteppedArray& each : problem.arrays) {
    if (choice.has_tile(each)) {
      bytes += static_cast<double>(each.planes * (choice.threads + each.rows_beyond) *
                                   (choice.depth + each.spread + padding_of(each, choice))) *
               each.bytes;
    }
  }
  return static_cast<std::int64_t>(bytes);
}

std::int64_t stepped_blocks(const SteppedProblem& problem, const SteppedChoice& choice) {
  std::int64_t blocks = 1;
  for (std::size_t i = 0; i < problem.rows.size(); ++i) {
    blocks *= ceil_divide(problem.rows[i].length, i == 0 ? choice.threads : 1);
  }
  return blocks;
}

Slicing stepped_slicing(const SteppedProblem& problem, const SteppedChoice& choice) {
  Slicing slicing;
  for (std::size_t i = 0; i < problem.rows.size(); ++i) {
    InameSlicing row{problem.rows[i].iname, {{0, {AxisKind::grid, static_cast<int>(i)}}}};
    if (i == 0) {
      row.factors.push_back({choice.threads, {AxisKind::block, 0}});
    }
    slicing.inames.push_back(std::move(row));
  }
  slicing.inames.push_back(
      {problem.step.iname, {{0, {}}, {choice.depth, {AxisKind::unroll_hint, 0}}}});
  for (const SteppedArray& each : problem.arrays) {
    if (!choice.has_tile(each)) {
      continue;
    }
    if (each.is_written) {
      slicing.buffers.push_back({each.array, padding_of(each, choice)});
    } else {
      slicing.fetches.push_back(
          {.array = each.array, .padding = padding_of(each, choice), .group = each.group});
    }
  }
  return slicing;
}

class SteppedCost {
 public:
  SteppedCost(const SteppedProblem& problem, const MachineModel& machine)
      : problem_(problem), machine_(machine) {}

  /// Estimates: tiles wait for memory once, other accesses take a sector each.
  [[nodiscard]] double seconds(const SteppedChoice& choice) const {
    constexpr double clocks_of_barrier = 40;
    constexpr double clocks_of_operation = 6;   // each needs the one before
    constexpr double instructions_of_copy = 4;  // of an element, with its index
    const double threads = static_cast<double>(choice.threads);
    const double blocks = static_cast<double>(stepped_blocks(problem_, choice));
    const double multiprocessors = machine_.multiprocessors;
    const double busy = std::min(1.0, blocks / multiprocessors);
    double instructions = problem_.operations + problem_.other_accesses;
    double registers = 24;  // and what steps that are written out hold
    double cache_bytes = problem_.other_accesses * gpu::sector_bytes;
    for (const SteppedArray& each : problem_.arrays) {
      instructions += each.points;
      if (choice.has_tile(each)) {
        // rows of a tile are written by as many threads as they are long
        const double idle =
            each.is_written ? std::max(1.0, threads / static_cast<double>(choice.depth)) : 1;
        instructions += each.points * instructions_of_copy * idle;
        registers += 0.9 * static_cast<double>(choice.depth) * each.bytes / 4;
      } else {
        cache_bytes += each.points * gpu::sector_bytes;
      }
    }
    const double core_seconds = instructions / machine_.warp_lanes / gpu::schedulers /
                                multiprocessors / machine_.clock_hz / busy;
    // a sector of which only a part is used takes as long as two: fitted to two kernels, as the
    // registers above, on an H200, 2026-11
    const double cache_seconds = 2 * cache_bytes / gpu::cache_bytes_per_second / busy;
    const double memory_seconds =
        problem_.compulsory_bytes / machine_.memory_bytes_per_second / busy;
    const double resident = gpu::resident_blocks(
        machine_, threads, registers, static_cast<double>(shared_bytes_of(problem_, choice)));
    const double waves = std::ceil(blocks / (multiprocessors * resident));
    const double steps = static_cast<double>(problem_.step.length);
    const double tiles = std::ceil(steps / static_cast<double>(choice.depth));
    const double operations = problem_.operations / problem_.row_count / steps;
    const double wait_seconds = waves *
                                (tiles * (gpu::clocks_of_load + 2 * clocks_of_barrier) +
                                 steps * operations * clocks_of_operation) /
                                machine_.clock_hz;
    const double longest = std::max({core_seconds, memory_seconds, cache_seconds, wait_seconds});
    return gpu::launch_seconds + longest +
           0.2 * (core_seconds + memory_seconds + cache_seconds + wait_seconds - longest);
  }

 private:
  const SteppedProblem& problem_;
  const MachineModel& machine_;
};

class SteppedEnumerator {
 public:
  SteppedEnumerator(const Kernel& kernel, const SteppedProblem& problem,
                    const SlicingConstraints& constraints)
      : kernel_(kernel), problem_(problem), constraints_(constraints) {}

  std::vector<SteppedChoice> run() {
    for (const std::int64_t threads : {32, 64, 128, 256}) {
      for (const std::int64_t depth : {8, 16, 32, 64}) {
        for (const bool is_fetched : {false, true}) {
          for (const bool is_buffered : {false, true}) {
            add({threads, depth, is_fetched, is_buffered});
          }
        }
      }
    }
    return std::move(choices_);
  }

 private:
  [[nodiscard]] bool has_any(bool written) const {
    return std::any_of(problem_.arrays.begin(), problem_.arrays.end(),
                       [&](const SteppedArray& each) { return each.is_written == written; });
  }

  void add(const SteppedChoice& choice) {
    std::int64_t crowded = 0;
    for (std::size_t i = 1; i < problem_.rows.size(); ++i) {
      crowded += problem_.rows[i].length > most_blocks_across ? 1 : 0;
    }
    const bool has_tiles = (choice.is_fetched || choice.is_buffered) &&
                           (!choice.is_fetched || has_any(false)) &&
                           (!choice.is_buffered || has_any(true));
    const std::int64_t most_bytes =
        std::min(constraints_.max_shared_bytes, constraints_.machine.shared_bytes);
    if (has_tiles && crowded == 0 && problem_.rows.size() <= 3 &&
        choice.depth < problem_.step.length && choice.threads < 2 * problem_.rows[0].length &&
        choice.threads >= constraints_.min_threads && choice.threads <= constraints_.max_threads &&
        stepped_blocks(problem_, choice) >= constraints_.min_blocks &&
        shared_bytes_of(problem_, choice) <= most_bytes && is_possible(choice)) {
      choices_.push_back(choice);
    }
  }

  /// Asks the transformations and the generator, once for each kind of choice.
  [[nodiscard]] bool is_possible(const SteppedChoice& choice) {
    return possible_.has(
        {choice.is_fetched, choice.is_buffered, problem_.step.length % choice.depth == 0,
         problem_.rows[0].length % choice.threads == 0},
        [&] { return stepped_slicing(problem_, choice); });
  }

  const Kernel& kernel_;
  const SteppedProblem& problem_;
  const SlicingConstraints& constraints_;
  std::vector<SteppedChoice> choices_{};
  PossibleKinds possible_{kernel_};
};

struct SteppedFamily {
  using Problem = SteppedProblem;
  using Choice = SteppedChoice;
  using Cost = SteppedCost;
  using Enumerator = SteppedEnumerator;

  static SlicedChoice sliced(const Problem& problem, const Choice& choice, const MachineModel&) {
    return {stepped_slicing(problem, choice), choice.threads, stepped_blocks(problem, choice),
            shared_bytes_of(problem, choice)};
  }
};

}  // namespace

SourcePtr stepped_slicings(const Kernel& kernel, const SlicingConstraints& constraints) {
  return listed_slicings<SteppedFamily>(kernel, SteppedReader(kernel, constraints).read(),
                                        constraints);
}

}  // namespace rtcg::loopy::detail
