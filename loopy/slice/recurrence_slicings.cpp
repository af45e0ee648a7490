// Recurrences: loops that run one after the other, whose steps have independent iterations.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <tuple>

#include "rtcg/cgen/support/gpu_limits.h"
#include "rtcg/cgen/support/integer.h"
#include "rtcg/loopy/analyze/access.h"
#include "rtcg/loopy/analyze/infer_types.h"
#include "rtcg/loopy/analyze/type_of.h"
#include "rtcg/loopy/slice/count_work.h"
#include "rtcg/loopy/slice/gpu_figures.h"
#include "rtcg/loopy/slice/legal_slicing.h"
#include "rtcg/loopy/slice/listed_source.h"
#include "rtcg/loopy/slice/slicing_problem.h"
#include "rtcg/loopy/symbolic/traverse.h"
#include "rtcg/loopy/transform/expand_subst.h"
#include "rtcg/loopy/transform/iname_use.h"

namespace rtcg::loopy::detail {
namespace {

constexpr std::size_t most_axes = 2;  // of a block, for the iterations of a step

struct RecurrenceStatement {
  double points = 1;                  ///< in all
  std::array<bool, most_axes> has{};  ///< whether the threads of an axis share its iterations
  bool updates = false;               ///< whether it reads the array that it writes
};

/// An access to an array in all of its iterations.
struct RecurrenceAccess {
  double points = 1;
  double bytes = 4;  ///< of an element
  /// What threads next to each other along the first axis touch.
  enum class Neighbours { next, apart, same } neighbours = Neighbours::same;

  /// Bytes of sectors that one iteration takes.
  [[nodiscard]] double bytes_of_sectors(double threads) const {
    return neighbours == Neighbours::next ? bytes * std::max(1.0, gpu::sector_bytes / 4 / threads)
           : neighbours == Neighbours::apart ? gpu::sector_bytes
                                             : gpu::sector_bytes / std::min(32.0, threads);
  }
};

struct RecurrenceProblem {
  std::vector<SlicedLoop> rows{};  ///< independent recurrences, the fastest varying first
  /// Loops that the threads of a block share within a step, for each axis those of different
  /// statements.
  std::array<std::vector<SlicedLoop>, most_axes> shared{};
  std::vector<RecurrenceStatement> statements{};
  double row_count = 1;
  double steps = 1;             ///< of one recurrence, one after the other
  double operations = 0;        ///< of the kernel, as instructions of a thread
  double compulsory_bytes = 0;  ///< each element once
  std::vector<RecurrenceAccess> accesses{};

  [[nodiscard]] std::int64_t longest(std::size_t axis) const {
    std::int64_t length = 1;
    for (const SlicedLoop& each : shared[axis]) {
      length = std::max(length, each.length);
    }
    return length;
  }
};

struct RecurrenceChoice {
  std::int64_t threads = 32;  ///< along the first axis of shared loops
  std::int64_t across = 1;    ///< along the second
  std::int64_t rows = 1;      ///< of a block
  static constexpr auto lengths =
      std::tuple(&RecurrenceChoice::threads, &RecurrenceChoice::across, &RecurrenceChoice::rows);
  static constexpr auto answers = std::tuple();
  friend auto operator<=>(const RecurrenceChoice&, const RecurrenceChoice&) = default;

  [[nodiscard]] std::int64_t all_threads() const { return threads * across * rows; }
};

class RecurrenceReader {
 public:
  RecurrenceReader(const Kernel& kernel, const IntegerValues& parameters)
      : kernel_(infer_types(expand_subst(kernel))),
        parameters_(parameters),
        counter_(kernel_, parameters_) {}

  /// Nothing for kernels without such loops.
  std::optional<RecurrenceProblem> read() {
    const bool are_plain =
        std::all_of(kernel_.instructions.begin(), kernel_.instructions.end(),
                    [](const Instruction& each) { return is<Assignment>(each); });
    if (!are_plain || kernel_.instructions.empty()) {
      return std::nullopt;
    }
    NameSet others;  // than those of reductions
    for (const Instruction& each : kernel_.instructions) {
      others.insert(each.within_inames.begin(), each.within_inames.end());
    }
    const bool may_be_several = others.size() > 1 && are_sequential(others);
    if (!may_be_several) {
      return std::nullopt;
    }
    problem_.rows = result_loops(kernel_, parameters_);
    for (const SlicedLoop& each : problem_.rows) {
      others.erase(each.iname);
      rows_.insert(each.iname);
    }
    NameSet steps;
    for (const std::string& each : others) {
      (can_share(each) ? shared_ : steps).insert(each);
    }
    // steps are loops around shared ones; other loops stay as they are
    std::erase_if(steps, [&](const std::string& step) { return !is_around_shared(step); });
    if (shared_.empty() || steps.empty() || problem_.rows.size() > 3) {
      return std::nullopt;
    }
    for (const SlicedLoop& each : problem_.rows) {
      problem_.row_count *= static_cast<double>(each.length);
    }
    problem_.steps = counter_.points(steps);
    place_on_axes();
    read_statements();
    return std::move(problem_);
  }

 private:
  [[nodiscard]] bool are_sequential(const NameSet& inames) const {
    return std::all_of(inames.begin(), inames.end(), [&](const std::string& each) {
      return tag_of(kernel_, each).kind == AxisKind::sequential &&
             !has_computed_bounds(kernel_, each);
    });
  }
  [[nodiscard]] bool is_around_shared(const std::string& step) const {
    return std::any_of(
        kernel_.instructions.begin(), kernel_.instructions.end(), [&](const Instruction& each) {
          return each.within_inames.count(step) != 0 &&
                 std::any_of(shared_.begin(), shared_.end(), [&](const std::string& shared) {
                   return each.within_inames.count(shared) != 0;
                 });
        });
  }

  /// Whether threads may have the iterations of a loop, with barriers where they need each other's
  /// results.
  [[nodiscard]] bool can_share(const std::string& iname) const {
    return !why_not_sliced(kernel_, {.inames = {{iname, {{0, {}}, {2, {AxisKind::block, 0}}}}}});
  }

  /// Neighbours in memory on the first axis. Loops around one statement need different axes; those
  /// that find none stay loops of each thread.
  void place_on_axes() {
    std::map<std::string, double> neighbours;
    for (const ArrayAccess& each : accesses_of(kernel_)) {
      const auto last = each.indices.empty() ? std::nullopt : to_affine(each.indices.back());
      for (const std::string& iname : shared_) {
        neighbours[iname] += last && std::abs(last->coefficient(iname)) == 1 ? 1 : 0;
      }
    }
    std::vector<std::string> order(shared_.begin(), shared_.end());
    std::stable_sort(order.begin(), order.end(),
                     [&](const auto& a, const auto& b) { return neighbours[a] > neighbours[b]; });
    for (const std::string& iname : order) {
      for (std::size_t axis = 0; axis < most_axes; ++axis) {
        if (is_free(axis, iname)) {
          problem_.shared[axis].push_back(sliced_loop(kernel_, parameters_, iname));
          axis_of_[iname] = axis;
          break;
        }
      }
    }
  }
  [[nodiscard]] bool is_free(std::size_t axis, const std::string& iname) const {
    return std::none_of(
        kernel_.instructions.begin(), kernel_.instructions.end(), [&](const Instruction& each) {
          return each.within_inames.count(iname) != 0 &&
                 std::any_of(problem_.shared[axis].begin(), problem_.shared[axis].end(),
                             [&](const SlicedLoop& other) {
                               return each.within_inames.count(other.iname) != 0;
                             });
        });
  }

  void read_statements() {
    for (const Instruction& each : kernel_.instructions) {
      RecurrenceStatement statement{counter_.points(used_inames(each))};
      const NameSet read = read_variables(kernel_, each);
      for (const std::string& written : written_variables(each)) {
        statement.updates = statement.updates || read.count(written) != 0;
      }
      for (const auto& [iname, axis] : axis_of_) {
        statement.has[axis] = statement.has[axis] || each.within_inames.count(iname) != 0;
      }
      problem_.statements.push_back(statement);
    }
    const KernelWork work = count_work(kernel_, parameters_, "");
    problem_.operations = work.outside.count();
    problem_.compulsory_bytes = work.compulsory_bytes;
    for (const ArrayAccess& each : accesses_of(kernel_)) {
      const Argument* argument = find_argument(kernel_, each.array);
      if (argument != nullptr && argument->is_array) {
        problem_.accesses.push_back({counter_.points(each.inames),
                                     static_cast<double>(size_bytes(*argument->type)),
                                     neighbours_of(each)});
      }
    }
  }
  [[nodiscard]] RecurrenceAccess::Neighbours neighbours_of(const ArrayAccess& access) const {
    using Neighbours = RecurrenceAccess::Neighbours;
    Neighbours result = Neighbours::same;
    for (const SlicedLoop& each : problem_.shared[0]) {
      for (std::size_t axis = 0; axis < access.indices.size(); ++axis) {
        const auto index = to_affine(access.indices[axis]);
        if (axis + 1 == access.indices.size() && index &&
            std::abs(index->coefficient(each.iname)) == 1) {
          return Neighbours::next;
        }
        if (free_names(access.indices[axis]).count(each.iname) != 0) {
          result = Neighbours::apart;
        }
      }
    }
    return result;
  }

  const Kernel kernel_;
  const IntegerValues& parameters_;
  PointCounter counter_;
  NameSet rows_{};
  NameSet shared_{};
  std::map<std::string, std::size_t> axis_of_{};
  RecurrenceProblem problem_{};
};

std::int64_t recurrence_blocks(const RecurrenceProblem& problem, const RecurrenceChoice& choice) {
  std::int64_t blocks = 1;
  for (std::size_t i = 0; i < problem.rows.size(); ++i) {
    blocks *= ceil_divide(problem.rows[i].length, i == 0 ? choice.rows : 1);
  }
  return blocks;
}

Slicing recurrence_slicing(const RecurrenceProblem& problem, const RecurrenceChoice& choice) {
  Slicing slicing;
  const std::array<std::int64_t, most_axes> threads = {choice.threads, choice.across};
  int next_axis = 0;
  std::vector<InameSlicing> shared;
  for (std::size_t axis = 0; axis < most_axes; ++axis) {
    if (threads[axis] == 1) {
      continue;
    }
    for (const SlicedLoop& each : problem.shared[axis]) {
      shared.push_back({each.iname, {{0, {}}, {threads[axis], {AxisKind::block, next_axis}}}});
    }
    ++next_axis;
  }
  // the axis that may have many blocks is for the longest of the row loops
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < problem.rows.size(); ++i) {
    order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return problem.rows[a].length > problem.rows[b].length;
  });
  for (std::size_t i = 0; i < problem.rows.size(); ++i) {
    const auto axis = std::find(order.begin(), order.end(), i) - order.begin();
    InameSlicing row{problem.rows[i].iname, {{0, {AxisKind::grid, static_cast<int>(axis)}}}};
    if (i == 0 && choice.rows > 1) {
      row.factors.push_back({choice.rows, {AxisKind::block, next_axis}});
    }
    slicing.inames.push_back(std::move(row));
  }
  slicing.inames.insert(slicing.inames.end(), shared.begin(), shared.end());
  return slicing;
}

class RecurrenceCost {
 public:
  RecurrenceCost(const RecurrenceProblem& problem, const MachineModel& machine)
      : problem_(problem), machine_(machine) {}

  /// Estimates: steps wait for the values of the one before, from the first or second cache.
  [[nodiscard]] double seconds(const RecurrenceChoice& choice) const {
    constexpr double clocks_of_cached_load = 200;
    constexpr double clocks_of_barrier = 40;
    constexpr double registers = 40;
    constexpr double most_loads_together = 8;
    constexpr double bytes_of_first_cache = 200e3;
    const double threads = static_cast<double>(choice.all_threads());
    const double blocks = static_cast<double>(recurrence_blocks(problem_, choice));
    const double lanes = machine_.is_cpu ? 16 : machine_.warp_lanes;
    const double multiprocessors = machine_.multiprocessors;
    double points = 0;
    double slots = 0;  // with those of lanes that have nothing to do
    double wait_clocks = 0;
    for (const RecurrenceStatement& each : problem_.statements) {
      const double of_step = each.points / problem_.row_count / problem_.steps;
      double taken = 1;  // of threads of a row
      for (std::size_t axis = 0; axis < most_axes; ++axis) {
        taken *=
            each.has[axis] ? static_cast<double>(axis == 0 ? choice.threads : choice.across) : 1;
      }
      const double own = static_cast<double>(choice.threads * choice.across);
      const double trips = std::max(1.0, std::ceil(of_step / taken));
      // loads do not pass stores to the same array
      const double loads_together = each.updates ? 1 : most_loads_together;
      // warps without any iteration take no time
      const double warp = std::min(taken, lanes);
      points += each.points;
      slots += std::max(1.0, std::ceil(of_step / warp)) * warp * (own / taken) * problem_.steps *
               problem_.row_count;
      wait_clocks += problem_.steps * (std::ceil(trips / loads_together) * clocks_of_cached_load +
                                       (threads > lanes ? clocks_of_barrier : 10));
    }
    const double waste = std::max(1.0, slots / std::max(1.0, points));
    double accesses = 0;
    double core_bytes = 0;
    for (const RecurrenceAccess& each : problem_.accesses) {
      accesses += each.points;
      core_bytes += each.points * each.bytes_of_sectors(static_cast<double>(choice.threads));
    }
    const double instructions = (problem_.operations + accesses) * waste / lanes;
    if (machine_.is_cpu) {
      const double rounds = std::ceil(blocks / std::max(1.0, multiprocessors)) / blocks;
      return 2e-6 + rounds * instructions / machine_.clock_hz +
             0.05 * rounds * blocks * wait_clocks / machine_.clock_hz;
    }
    const double resident = gpu::resident_blocks(machine_, threads, registers, 0);
    const double waves = std::ceil(blocks / (multiprocessors * resident));
    const double busy = std::min(1.0, blocks / multiprocessors);
    const double core_seconds =
        instructions / gpu::schedulers / multiprocessors / machine_.clock_hz / busy;
    const double memory_seconds =
        problem_.compulsory_bytes / machine_.memory_bytes_per_second / busy;
    // steps read again what a multiprocessor's first cache holds, or the second one
    const double held = problem_.compulsory_bytes / problem_.row_count *
                        static_cast<double>(choice.rows) *
                        std::min(resident, std::ceil(blocks / multiprocessors));
    const double cache_seconds =
        core_bytes / busy /
        (held < bytes_of_first_cache
             ? machine_.cache_bytes_per_clock * machine_.clock_hz * multiprocessors
             : gpu::cache_bytes_per_second);
    const double wait_seconds = waves * wait_clocks / machine_.clock_hz;
    const double longest = std::max({core_seconds, memory_seconds, cache_seconds, wait_seconds});
    return gpu::launch_seconds + longest +
           0.2 * (core_seconds + memory_seconds + cache_seconds + wait_seconds - longest);
  }

 private:
  const RecurrenceProblem& problem_;
  const MachineModel& machine_;
};

class RecurrenceEnumerator {
 public:
  RecurrenceEnumerator(const Kernel& kernel, const RecurrenceProblem& problem,
                       const SlicingConstraints& constraints)
      : kernel_(kernel), problem_(problem), constraints_(constraints) {}

  std::vector<RecurrenceChoice> run() {
    const std::int64_t most = constraints_.machine.is_cpu ? 64 : most_threads_of_block;
    const std::int64_t row_length = problem_.rows.empty() ? 1 : problem_.rows[0].length;
    for (std::int64_t threads = 2; is_of_use(threads, problem_.longest(0), most); threads *= 2) {
      add_rows(threads, 1, row_length);
      for (std::int64_t across = 2;
           !problem_.shared[1].empty() && is_of_use(across, problem_.longest(1), most / threads);
           across *= 2) {
        add_rows(threads, across, row_length);
      }
    }
    return std::move(choices_);
  }

 private:
  [[nodiscard]] static bool is_of_use(std::int64_t threads, std::int64_t length,
                                      std::int64_t most) {
    return threads < 2 * length && threads <= most;
  }
  void add_rows(std::int64_t threads, std::int64_t across, std::int64_t row_length) {
    for (std::int64_t rows = 1; rows == 1 || (rows < 2 * row_length && rows <= 64); rows *= 2) {
      add({threads, across, rows});
    }
  }

  void add(const RecurrenceChoice& choice) {
    const std::int64_t least = constraints_.machine.is_cpu
                                   ? std::min<std::int64_t>(8, constraints_.min_threads)
                                   : constraints_.min_threads;
    std::int64_t crowded = 0;
    for (std::size_t i = 0; i < problem_.rows.size(); ++i) {
      crowded += ceil_divide(problem_.rows[i].length, i == 0 ? choice.rows : 1) > most_blocks_across
                     ? 1
                     : 0;
    }
    if (choice.all_threads() >= least && choice.all_threads() <= constraints_.max_threads &&
        crowded <= 1 && recurrence_blocks(problem_, choice) >= constraints_.min_blocks &&
        is_possible(choice)) {
      choices_.push_back(choice);
    }
  }

  /// Asks the transformations and the generator, once for each kind of choice.
  [[nodiscard]] bool is_possible(const RecurrenceChoice& choice) {
    std::vector<std::int64_t> kind = {choice.across > 1, choice.rows > 1};
    const std::array<std::int64_t, most_axes> threads = {choice.threads, choice.across};
    for (std::size_t axis = 0; axis < most_axes; ++axis) {
      for (const SlicedLoop& each : problem_.shared[axis]) {
        kind.push_back(each.length % threads[axis] == 0);
        kind.push_back(each.length <= threads[axis]);
      }
    }
    for (const SlicedLoop& each : problem_.rows) {
      kind.push_back(each.length % choice.rows == 0);
      kind.push_back(each.length <= choice.rows);
    }
    return possible_.has(kind, [&] { return recurrence_slicing(problem_, choice); });
  }

  const Kernel& kernel_;
  const RecurrenceProblem& problem_;
  const SlicingConstraints& constraints_;
  std::vector<RecurrenceChoice> choices_{};
  PossibleKinds possible_{kernel_};
};

struct RecurrenceFamily {
  using Problem = RecurrenceProblem;
  using Choice = RecurrenceChoice;
  using Cost = RecurrenceCost;
  using Enumerator = RecurrenceEnumerator;

  static SlicedChoice sliced(const Problem& problem, const Choice& choice, const MachineModel&) {
    return {recurrence_slicing(problem, choice), choice.all_threads(),
            recurrence_blocks(problem, choice), 0};
  }
};

}  // namespace

SourcePtr recurrence_slicings(const Kernel& kernel, const SlicingConstraints& constraints) {
  return listed_slicings<RecurrenceFamily>(
      kernel, RecurrenceReader(kernel, constraints.parameters).read(), constraints);
}

}  // namespace rtcg::loopy::detail
