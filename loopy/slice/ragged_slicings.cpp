// Ragged rows: nests with loops whose bounds the kernel computes, as sparse matrices in compressed
// rows, segments of an array and lists of neighbours have.
#include <algorithm>
#include <cmath>
#include <tuple>

#include "rtcg/cgen/support/gpu_limits.h"
#include "rtcg/cgen/support/integer.h"
#include "rtcg/loopy/analyze/access.h"
#include "rtcg/loopy/analyze/infer_types.h"
#include "rtcg/loopy/analyze/type_of.h"
#include "rtcg/loopy/slice/access_groups.h"
#include "rtcg/loopy/slice/count_work.h"
#include "rtcg/loopy/slice/gpu_figures.h"
#include "rtcg/loopy/slice/listed_source.h"
#include "rtcg/loopy/slice/slicing_problem.h"
#include "rtcg/loopy/symbolic/traverse.h"
#include "rtcg/loopy/transform/expand_subst.h"

namespace rtcg::loopy::detail {
namespace {

constexpr double unknown_length = 16;  // of a row, where no array tells

struct RaggedProblem {
  std::vector<SlicedLoop> rows{};      ///< loops that all results are within, longest first
  std::vector<std::string> ragged{};   ///< those with computed bounds
  std::optional<std::size_t> columns;  ///< a row loop along which neighbours are read
  double length = unknown_length;      ///< of a row, on average
  double points = 1;
  double streamed_bytes = 0;  ///< of arrays read along the row, at each step
  double streams = 0;         ///< such arrays
  double gathers = 0;         ///< elements read at computed places, at each step
  double operations = 1;      ///< at each step
  double row_bytes = 0;       ///< outside of the steps
  double values = 1;          ///< sums that threads combine
};

/// How they are cut: lanes share a row, or each thread has its own; or neighbouring columns are
/// threads.
struct RaggedChoice {
  std::int64_t lanes = 1;
  std::int64_t rows = 1;     ///< threads along the first row loop
  std::int64_t columns = 1;  ///< threads along the loop of neighbours
  static constexpr auto lengths =
      std::tuple(&RaggedChoice::lanes, &RaggedChoice::rows, &RaggedChoice::columns);
  static constexpr auto answers = std::tuple();
  friend auto operator<=>(const RaggedChoice&, const RaggedChoice&) = default;
};

class RaggedReader {
 public:
  RaggedReader(const Kernel& kernel, const IntegerValues& parameters)
      : kernel_(infer_types(expand_subst(kernel))), parameters_(parameters) {}

  /// Nothing for other nests.
  std::optional<RaggedProblem> read() {
    std::optional<NameSet> common;
    NameSet ragged;
    double sums = 0;
    for (const Instruction& each : kernel_.instructions) {
      const Assignment* assignment = get_if<Assignment>(each);
      if (assignment == nullptr || assignment->is_atomic) {
        return std::nullopt;
      }
      NameSet fixed;
      for (const std::string& iname : each.within_inames) {
        (has_computed_bounds(kernel_, iname) ? ragged : fixed).insert(iname);
      }
      if (writes_argument(each)) {
        common = common.value_or(fixed);
        std::erase_if(*common, [&](const auto& name) { return fixed.count(name) == 0; });
      }
      for (const std::string& iname : reduction_inames(each)) {
        if (has_computed_bounds(kernel_, iname)) {
          ragged.insert(iname);
          sums += 1;
        }
      }
    }
    const auto is_used = [&](const auto& iname) {
      return tag_of(kernel_, iname).kind != AxisKind::sequential;
    };
    if (ragged.empty() || !common || std::any_of(ragged.begin(), ragged.end(), is_used) ||
        !read_rows(*common)) {
      return std::nullopt;
    }
    problem_.ragged.assign(ragged.begin(), ragged.end());
    problem_.values = std::max(1.0, sums);
    read_accesses();
    return std::move(problem_);
  }

 private:
  /// Others set values of a thread, which each thread has to itself.
  [[nodiscard]] bool writes_argument(const Instruction& instruction) const {
    const NameSet written = written_variables(instruction);
    return std::any_of(written.begin(), written.end(),
                       [&](const auto& name) { return find_argument(kernel_, name) != nullptr; });
  }

  bool read_rows(const NameSet& common) {
    for (const std::string& each : common) {
      if (tag_of(kernel_, each).kind == AxisKind::sequential &&
          with_parent_inames(kernel_, {each}).size() == 1) {
        problem_.rows.push_back(sliced_loop(kernel_, parameters_, each));
        problem_.points *= static_cast<double>(problem_.rows.back().length);
      }
    }
    std::stable_sort(problem_.rows.begin(), problem_.rows.end(),
                     [](const SlicedLoop& a, const SlicedLoop& b) { return a.length > b.length; });
    return !problem_.rows.empty() && problem_.rows.size() <= 3;
  }

  [[nodiscard]] bool is_ragged(const std::string& name) const {
    return std::find(problem_.ragged.begin(), problem_.ragged.end(), name) != problem_.ragged.end();
  }

  void read_accesses() {
    std::vector<std::size_t> neighbours(problem_.rows.size());
    std::optional<double> shortest;
    for (const ArrayAccess& each : distinct_accesses(accesses_of(kernel_))) {
      const Argument* argument = find_argument(kernel_, each.array);
      if (argument == nullptr || each.indices.empty()) {
        continue;
      }
      const double bytes = size_bytes(*argument->type);
      const auto last = to_affine(each.indices.back());
      for (std::size_t i = 0; last && i < problem_.rows.size(); ++i) {
        neighbours[i] += last->coefficient(problem_.rows[i].iname) == 1 ? 1 : 0;
      }
      const NameSet names = names_of(each);
      const bool is_step = std::any_of(names.begin(), names.end(),
                                       [&](const std::string& name) { return is_ragged(name); });
      if (!is_step) {
        problem_.row_bytes += bytes;
        continue;
      }
      problem_.operations += 1;
      const bool is_streamed =
          last && std::any_of(problem_.ragged.begin(), problem_.ragged.end(),
                              [&](const auto& name) { return last->coefficient(name) == 1; });
      if (!is_streamed) {
        problem_.gathers += 1;
        continue;
      }
      problem_.streamed_bytes += bytes;
      problem_.streams += 1;
      // the rows together go through the array once
      if (const auto extent = each.indices.size() == argument->shape.size()
                                  ? evaluate_integer(argument->shape.back(), parameters_)
                                  : std::nullopt) {
        // if each row has an axis of its own, that is the most it can have
        const bool has_own_axis =
            std::any_of(problem_.rows.begin(), problem_.rows.end(),
                        [&](const auto& row) { return names.count(row.iname) != 0; });
        const double mean = static_cast<double>(*extent) / (has_own_axis ? 2.0 : rows_of_bounds());
        shortest = std::min(shortest.value_or(mean), mean);
      }
    }
    problem_.length = std::max(1.0, shortest.value_or(unknown_length));
    for (std::size_t i = 0; i < problem_.rows.size(); ++i) {
      const std::size_t most = problem_.columns ? neighbours[*problem_.columns] : 0;
      // next to the loop of the rows themselves, whose neighbours are in other rows
      if (i > 0 && neighbours[i] > most) {
        problem_.columns = i;
      }
    }
  }

  [[nodiscard]] static NameSet names_of(const ArrayAccess& access) {
    NameSet names;
    for (const Expr& index : access.indices) {
      names.merge(free_names(index));
    }
    return names;
  }

  /// Points for which the bounds are computed.
  [[nodiscard]] double rows_of_bounds() const {
    double points = 1;
    NameSet inames;
    for (const std::string& name :
         constraints_of(kernel_, NameSet(problem_.ragged.begin(), problem_.ragged.end())).names()) {
      for (const Instruction& each : kernel_.instructions) {
        if (written_variables(each).count(name) != 0) {
          inames.insert(each.within_inames.begin(), each.within_inames.end());
        }
      }
    }
    for (const SlicedLoop& row : problem_.rows) {
      points *= inames.count(row.iname) != 0 ? static_cast<double>(row.length) : 1;
    }
    return points;
  }

  Kernel kernel_;
  const IntegerValues& parameters_;
  RaggedProblem problem_{};
};

/// No more than iterations.
[[nodiscard]] std::int64_t rows_of_block(const RaggedProblem& problem, const RaggedChoice& choice) {
  return std::min(choice.rows, problem.rows.front().length);
}

[[nodiscard]] std::int64_t ragged_threads(const RaggedProblem& problem,
                                          const RaggedChoice& choice) {
  return rows_of_block(problem, choice) * choice.lanes * choice.columns;
}

[[nodiscard]] std::int64_t ragged_blocks(const RaggedProblem& problem, const RaggedChoice& choice) {
  std::int64_t blocks = ceil_divide(problem.rows.front().length, choice.rows);
  for (std::size_t i = 1; i < problem.rows.size(); ++i) {
    blocks *= ceil_divide(problem.rows[i].length, problem.columns == i ? choice.columns : 1);
  }
  return blocks;
}

[[nodiscard]] Slicing ragged_slicing(const RaggedProblem& problem, const RaggedChoice& choice,
                                     bool is_cpu) {
  Slicing slicing;
  const bool is_shared = choice.lanes > 1 || choice.columns > 1;  // l.0 is taken
  InameSlicing rows{problem.rows.front().iname, {{0, {AxisKind::grid, 0}}}};
  if (choice.rows > 1) {
    rows.factors.push_back({choice.rows, is_cpu      ? InameTag{AxisKind::sequential, 0}
                                         : is_shared ? InameTag{AxisKind::block, 1}
                                                     : InameTag{AxisKind::block, 0}});
  }
  slicing.inames.push_back(std::move(rows));
  for (std::size_t i = 1; i < problem.rows.size(); ++i) {
    InameSlicing others{problem.rows[i].iname, {{0, {AxisKind::grid, static_cast<int>(i)}}}};
    if (problem.columns == i && choice.columns > 1) {
      others.factors.push_back({choice.columns, {AxisKind::block, 0}});
    }
    slicing.inames.push_back(std::move(others));
  }
  if (choice.lanes > 1) {
    for (const std::string& each : problem.ragged) {
      slicing.inames.push_back({each, {{0, {}}, {choice.lanes, {AxisKind::block, 0}}}});
    }
  }
  return slicing;
}

// Estimates for GPUs.
constexpr double clocks_of_step = 6;  // instructions of a warp, besides those of the sum
constexpr double clocks_of_row = 40;  // the same of a row, with its bounds
constexpr double loads_in_a_row = 3;  // bounds, then places, then what is at them
constexpr double steps_ahead = 4;     // that compilers load together
constexpr double gathered_bytes_per_second = 5e12;

class RaggedCost {
 public:
  RaggedCost(const RaggedProblem& problem, const MachineModel& machine)
      : problem_(problem), machine_(machine) {}

  [[nodiscard]] double seconds(const RaggedChoice& choice) const {
    return machine_.is_cpu ? cpu_seconds(choice) : gpu_seconds(choice);
  }

 private:
  [[nodiscard]] double gpu_seconds(const RaggedChoice& choice) const {
    const double lanes = static_cast<double>(choice.lanes);
    const double side = static_cast<double>(choice.columns);
    const double blocks = static_cast<double>(ragged_blocks(problem_, choice));
    const double threads = static_cast<double>(ragged_threads(problem_, choice));
    const double used = std::min<double>(machine_.multiprocessors, blocks);
    // rows begin anywhere, so that lanes reach over both ends; the longest of a warp's rows counts
    const double rows_of_warp = std::max(1.0, warp_size / (lanes * side));
    const double uneven = 1 + 0.15 * std::log2(rows_of_warp);
    const double steps = std::max(1.0, (problem_.length * uneven + lanes - 1) / lanes);
    const double warp_rows = problem_.points * lanes / warp_size;
    const double exchanges = choice.lanes > 1 ? 6 * std::log2(lanes) * problem_.values : 0;
    const double issued =
        warp_rows *
        (steps * (clocks_of_step + 2 * problem_.operations) + clocks_of_row + exchanges) / 4;
    // a load takes a clock for each line of the cache that its warp touches
    const double lines = std::max(1.0, rows_of_warp);
    const double gathered_lines = choice.columns > 1 ? lines : warp_size / 2.0;
    const double looked_up =
        warp_rows * steps * (problem_.streams * lines + problem_.gathers * gathered_lines);
    const double core = std::max(issued, looked_up) / used / machine_.clock_hz;
    const double all_steps = problem_.points * problem_.length;
    // threads along columns share what is read along the row
    const double streamed = all_steps * problem_.streamed_bytes / side;
    const double memory =
        (streamed + problem_.points * problem_.row_bytes) / machine_.memory_bytes_per_second;
    const double gathered = all_steps * problem_.gathers *
                            (choice.columns > 1 ? 4 : gpu::sector_bytes) /
                            gathered_bytes_per_second;
    const double resident = std::min(
        blocks, used * std::clamp(std::floor(machine_.threads_per_multiprocessor / threads), 1.0,
                                  gpu::most_resident_blocks));
    const double waiting = blocks / resident * gpu::clocks_of_load *
                           (loads_in_a_row + steps / steps_ahead) / machine_.clock_hz;
    const double longest = std::max({core, memory, gathered, waiting});
    return longest + 0.15 * (core + memory + gathered + waiting - longest) + gpu::launch_seconds;
  }

  [[nodiscard]] double cpu_seconds(const RaggedChoice& choice) const {
    constexpr double clocks_of_cpu_step = 3;
    constexpr double clocks_of_cpu_block = 200;
    const double cores = std::max(1, machine_.multiprocessors);
    const double blocks = static_cast<double>(ragged_blocks(problem_, choice));
    const double clocks =
        problem_.points * (problem_.length * (clocks_of_cpu_step + problem_.operations) + 10) +
        blocks * clocks_of_cpu_block;
    return std::ceil(blocks / cores) / blocks * clocks / machine_.clock_hz +
           problem_.points * (problem_.length * problem_.streamed_bytes + problem_.row_bytes) /
               machine_.memory_bytes_per_second +
           gpu::launch_seconds;
  }

  const RaggedProblem& problem_;
  const MachineModel& machine_;
};

class RaggedEnumerator {
 public:
  RaggedEnumerator(const Kernel& kernel, const RaggedProblem& problem,
                   const SlicingConstraints& constraints)
      : kernel_(kernel), problem_(problem), constraints_(constraints) {}

  std::vector<RaggedChoice> run() {
    for (std::size_t i = 1; i < problem_.rows.size(); ++i) {
      if (problem_.rows[i].length > most_blocks_across) {
        return {};
      }
    }
    if (constraints_.machine.is_cpu) {
      for (std::int64_t rows = 1; rows <= 4096; rows *= 4) {
        add({1, rows, 1});
      }
      return std::move(choices_);
    }
    for (std::int64_t threads = std::max<std::int64_t>(32, next_power(constraints_.min_threads));
         threads <= std::min<std::int64_t>(constraints_.max_threads, most_threads_of_block);
         threads *= 2) {
      add({1, threads, 1});
      for (std::int64_t lanes = 2; lanes <= threads; lanes *= 2) {
        add({lanes, threads / lanes, 1});
        if (problem_.columns && lanes < 2 * problem_.rows[*problem_.columns].length) {
          add({1, threads / lanes, lanes});
        }
      }
    }
    return std::move(choices_);
  }

 private:
  [[nodiscard]] static std::int64_t next_power(std::int64_t value) {
    std::int64_t power = 1;
    while (power < value) {
      power *= 2;
    }
    return power;
  }

  void add(const RaggedChoice& choice) {
    const bool is_too_long = choice.rows > 1 && choice.rows >= 2 * problem_.rows.front().length;
    if (!is_too_long && ragged_blocks(problem_, choice) >= constraints_.min_blocks &&
        is_possible(choice)) {
      choices_.push_back(choice);
    }
  }

  /// Asks the transformations and the generator, once for each kind of choice.
  [[nodiscard]] bool is_possible(const RaggedChoice& choice) {
    return possible_.has(
        {choice.lanes > 1, choice.lanes > warp_size, choice.rows > 1, choice.columns > 1},
        [&] { return ragged_slicing(problem_, choice, constraints_.machine.is_cpu); });
  }

  const Kernel& kernel_;
  const RaggedProblem& problem_;
  const SlicingConstraints& constraints_;
  std::vector<RaggedChoice> choices_{};
  PossibleKinds possible_{kernel_};
};

struct RaggedFamily {
  using Problem = RaggedProblem;
  using Choice = RaggedChoice;
  using Cost = RaggedCost;
  using Enumerator = RaggedEnumerator;

  static SlicedChoice sliced(const Problem& problem, const Choice& choice,
                             const MachineModel& machine) {
    const std::int64_t warps = choice.lanes / warp_size;
    const auto shared =
        static_cast<std::int64_t>(8 * problem.values) * choice.rows * (warps > 1 ? warps : 0);
    return {ragged_slicing(problem, choice, machine.is_cpu), ragged_threads(problem, choice),
            ragged_blocks(problem, choice), shared};
  }
};

}  // namespace

SourcePtr ragged_slicings(const Kernel& kernel, const SlicingConstraints& constraints) {
  return listed_slicings<RaggedFamily>(kernel, RaggedReader(kernel, constraints.parameters).read(),
                                       constraints);
}

}  // namespace rtcg::loopy::detail
