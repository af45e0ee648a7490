// Sums of which a result index shifts what is read, `r[l] = sum(i, x[i]*x[i + l])`: threads take
// neighbouring steps of the sum for several shifts at once, and have each element in a register for
// all of these.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
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
#include "rtcg/loopy/transform/expand_subst.h"
#include "rtcg/loopy/transform/iname_use.h"
#include "rtcg/loopy/transform/reduce_over_grid.h"

namespace rtcg::loopy::detail {
namespace {

/// How the index of one axis moves along the loops of a LaggedProblem.
struct LaggedAxis {
  std::int64_t walk = 0;
  std::int64_t rows = 0;
  std::int64_t first_lag = 0;
  std::int64_t second_lag = 0;
  std::int64_t spread = 0;  ///< elements that reads of the group are apart
};

/// Reads that a tile in shared memory serves; the last axis is the one along which threads walk.
struct LaggedRead {
  std::string array{};
  std::int64_t group = 0;  ///< as in FetchPlan
  double bytes = 4;        ///< of an element
  double times = 1;        ///< reads of the group
  std::vector<LaggedAxis> axes{};
};

struct LaggedProblem {
  SlicedLoop walk{};                 ///< of the sum: threads have neighbouring steps of it
  SlicedLoop rows{};                 ///< another loop of the sum, or none
  SlicedLoop first_lag{};            ///< of the results: it shifts what is read along the walk
  SlicedLoop second_lag{};           ///< another one that shifts, or none
  std::vector<SlicedLoop> others{};  ///< of the results, on the grid
  std::vector<LaggedRead> reads{};
  double operations = 1;    ///< of a step of a result, as instructions
  double float_clocks = 1;  ///< the same as additions of floats
  double compulsory_bytes = 0;
  double result_bytes = 4;

  [[nodiscard]] bool has_rows() const { return !rows.iname.empty(); }
  [[nodiscard]] bool has_second_lag() const { return !second_lag.iname.empty(); }
};

struct LaggedChoice {
  std::int64_t threads = 64;     ///< along the walk
  std::int64_t steps = 15;       ///< neighbouring ones of a thread
  std::int64_t tiles = 16;       ///< of a block, along the loop that blocks share
  std::int64_t tile_rows = 1;    ///< of a tile
  std::int64_t lags = 16;        ///< of a thread, along the first loop
  std::int64_t lag_threads = 1;  ///< along the first loop
  std::int64_t more_lags = 1;    ///< of a thread, along the second loop
  std::int64_t stages = 1;       ///< buffers of each tile
  GridReduction how = GridReduction::two_stage;
  static constexpr auto lengths = std::tuple(
      &LaggedChoice::threads, &LaggedChoice::steps, &LaggedChoice::tiles, &LaggedChoice::tile_rows,
      &LaggedChoice::lags, &LaggedChoice::lag_threads, &LaggedChoice::more_lags);
  static constexpr auto answers = std::tuple(&LaggedChoice::stages, &LaggedChoice::how);
  friend auto operator<=>(const LaggedChoice&, const LaggedChoice&) = default;

  [[nodiscard]] std::int64_t items() const { return lags * more_lags; }
  [[nodiscard]] std::int64_t all_threads() const { return threads * lag_threads; }
};

class LaggedReader {
 public:
  LaggedReader(const Kernel& kernel, const SlicingConstraints& constraints)
      : kernel_(infer_types(expand_subst(kernel))), constraints_(constraints) {}

  /// Nothing for kernels without such a sum.
  std::optional<LaggedProblem> read() {
    if (constraints_.machine.is_cpu || !constraints_.free_layouts.empty() ||
        kernel_.instructions.size() != 1 || !is<Assignment>(kernel_.instructions.front())) {
      return std::nullopt;
    }
    const Instruction& statement = kernel_.instructions.front();
    const NameSet sums = reduction_inames(statement);
    const std::vector<SlicedLoop> results = result_loops(kernel_, constraints_.parameters);
    if (sums.empty() || sums.size() > 2 || results.size() != statement.within_inames.size() ||
        !read_sums(sums) || !read_reads() || !read_results(results)) {
      return std::nullopt;
    }
    read_work();
    return std::move(problem_);
  }

 private:
  /// The walk is the loop of the sum along which most arrays are contiguous.
  bool read_sums(const NameSet& sums) {
    std::map<std::string, int> uses;
    for (const ArrayAccess& each : accesses_of(kernel_)) {
      const auto last =
          each.indices.empty() || each.is_write ? std::nullopt : to_affine(each.indices.back());
      for (const std::string& iname : sums) {
        uses[iname] += last && last->coefficient(iname) != 0 ? 1 : 0;
      }
    }
    const auto most = std::max_element(
        uses.begin(), uses.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    for (const std::string& iname : sums) {
      const bool is_plain = tag_of(kernel_, iname).kind == AxisKind::sequential &&
                            !has_computed_bounds(kernel_, iname) &&
                            with_parent_inames(kernel_, {iname}).size() == 1;
      if (!is_plain) {
        return false;
      }
      (iname == most->first ? problem_.walk : problem_.rows) =
          sliced_loop(kernel_, constraints_.parameters, iname);
    }
    return true;
  }

  /// All that moves along the walk, contiguously.
  bool read_reads() {
    NameSet known;
    for (const ArrayAccess& access : accesses_of(kernel_)) {
      if (access.is_write || access.indices.empty() || !known.insert(access.array).second) {
        continue;
      }
      const Argument* argument = find_argument(kernel_, access.array);
      const std::vector<AccessGroup> groups = access_groups(kernel_, access.array);
      for (std::size_t i = 0; i < groups.size(); ++i) {
        if (argument == nullptr || argument->address_space == AddressSpace::image ||
            !groups[i].is_affine || !groups[i].gathered.empty() ||
            !is_contiguous(groups[i].reads.front())) {
          return false;
        }
        if (groups[i].inames.count(problem_.walk.iname) != 0) {
          groups_.push_back(groups[i]);
          problem_.reads.push_back(
              {.array = access.array,
               .group = groups.size() > 1 ? static_cast<std::int64_t>(i) + 1 : 0,
               .bytes = static_cast<double>(size_bytes(*argument->type)),
               .times = static_cast<double>(groups[i].reads.size())});
        }
      }
    }
    constexpr std::size_t most_tiles = 4;
    return !problem_.reads.empty() && problem_.reads.size() <= most_tiles;
  }
  /// Whether an access moves along the walk in its last index alone, or not at all.
  [[nodiscard]] bool is_contiguous(const ArrayAccess& access) const {
    return std::all_of(access.indices.begin(), access.indices.end(), [&](const Expr& index) {
      const auto affine = to_affine(index);
      return affine &&
             (affine->coefficient(problem_.walk.iname) == 0 || &index == &access.indices.back());
    });
  }

  /// Whether an index of a read moves along both.
  [[nodiscard]] bool shifts(const std::string& result, const std::string& sum,
                            bool in_last_axis) const {
    return std::any_of(groups_.begin(), groups_.end(), [&](const AccessGroup& group) {
      const std::vector<Expr>& indices = group.reads.front().indices;
      return std::any_of(indices.begin(), indices.end(), [&](const Expr& index) {
        const auto affine = to_affine(index);
        return affine && affine->coefficient(result) != 0 && affine->coefficient(sum) != 0 &&
               (!in_last_axis || &index == &indices.back());
      });
    });
  }

  bool read_results(const std::vector<SlicedLoop>& results) {
    for (const SlicedLoop& each : results) {
      const bool is_first =
          problem_.first_lag.iname.empty() && shifts(each.iname, problem_.walk.iname, true);
      const bool is_second = !is_first && !problem_.has_second_lag() && problem_.has_rows() &&
                             shifts(each.iname, problem_.rows.iname, false);
      if (is_first) {
        problem_.first_lag = each;
      } else if (is_second) {
        problem_.second_lag = each;
      } else {
        problem_.others.push_back(each);
      }
    }
    constexpr std::size_t most_others = 1;  // the grid has an axis for the sum and one for the lags
    constexpr std::int64_t least_steps_of_lag = 4;
    if (problem_.first_lag.iname.empty() || problem_.others.size() > most_others ||
        (problem_.has_second_lag() && !problem_.others.empty()) ||
        problem_.walk.length < least_steps_of_lag * problem_.first_lag.length) {
      return false;
    }
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      read_axes(groups_[i], problem_.reads[i]);
    }
    return true;
  }
  void read_axes(const AccessGroup& group, LaggedRead& read) const {
    for (std::size_t axis = 0; axis < group.reads.front().indices.size(); ++axis) {
      const Affine index = *to_affine(group.reads.front().indices[axis]);
      const auto along = [&](const SlicedLoop& loop) {
        return loop.iname.empty() ? 0 : std::abs(index.coefficient(loop.iname));
      };
      LaggedAxis one{along(problem_.walk), along(problem_.rows), along(problem_.first_lag),
                     along(problem_.second_lag)};
      std::int64_t least = index.constant();
      std::int64_t most = least;
      for (const ArrayAccess& each : group.reads) {
        const std::int64_t place = to_affine(each.indices[axis])->constant();
        least = std::min(least, place);
        most = std::max(most, place);
      }
      one.spread = most - least;
      read.axes.push_back(one);
    }
  }

  void read_work() {
    const KernelWork work = count_work(kernel_, constraints_.parameters, problem_.walk.iname);
    const double steps = work.least_steps;
    OperationMix of_step = work.in_sum;
    of_step *= 1 / steps;
    problem_.operations = std::max(1.0, of_step.count());
    problem_.float_clocks = std::max(1.0, of_step.as_floats(constraints_.machine));
    problem_.compulsory_bytes = work.compulsory_bytes;
    for (const ArrayAccess& each : accesses_of(kernel_)) {
      const Argument* argument = each.is_write ? find_argument(kernel_, each.array) : nullptr;
      problem_.result_bytes =
          argument != nullptr ? size_bytes(*argument->type) : problem_.result_bytes;
    }
  }

  const Kernel kernel_;
  const SlicingConstraints& constraints_;
  std::vector<AccessGroup> groups_{};  ///< those of problem_.reads
  LaggedProblem problem_{};
};

/// Steps of the walk in a tile.
std::int64_t tile_steps(const LaggedChoice& choice) {
  return choice.threads * choice.steps;
}

/// Blocks that share each sum.
std::int64_t sharing_blocks(const LaggedProblem& problem, const LaggedChoice& choice) {
  return problem.has_rows() ? ceil_divide(problem.rows.length, choice.tiles * choice.tile_rows)
                            : ceil_divide(problem.walk.length, choice.tiles * tile_steps(choice));
}

/// Blocks with sums of their own.
std::int64_t blocks_of_results(const LaggedProblem& problem, const LaggedChoice& choice) {
  std::int64_t blocks =
      ceil_divide(problem.first_lag.length, choice.lags * choice.lag_threads) *
      (problem.has_second_lag() ? ceil_divide(problem.second_lag.length, choice.more_lags) : 1);
  for (const SlicedLoop& each : problem.others) {
    blocks *= each.length;
  }
  return blocks;
}

std::int64_t lagged_blocks(const LaggedProblem& problem, const LaggedChoice& choice) {
  return sharing_blocks(problem, choice) * blocks_of_results(problem, choice);
}

/// Elements of a tile.
double tile_elements(const LaggedRead& read, const LaggedChoice& choice) {
  double elements = 1;
  for (const LaggedAxis& each : read.axes) {
    elements *= static_cast<double>(1 + each.spread + each.walk * (tile_steps(choice) - 1) +
                                    each.rows * (choice.tile_rows - 1) +
                                    each.first_lag * (choice.lags * choice.lag_threads - 1) +
                                    each.second_lag * (choice.more_lags - 1));
  }
  return elements;
}

/// Different elements that a thread reads for its steps along the walk in one row of a tile.
double thread_elements(const LaggedRead& read, const LaggedChoice& choice) {
  double elements = 1;
  for (const LaggedAxis& each : read.axes) {
    elements *= static_cast<double>(1 + each.spread + each.walk * (choice.steps - 1) +
                                    each.first_lag * (choice.lags - 1) +
                                    each.second_lag * (choice.more_lags - 1));
  }
  return elements;
}

std::int64_t shared_bytes_of(const LaggedProblem& problem, const LaggedChoice& choice) {
  double bytes = 0;
  for (const LaggedRead& each : problem.reads) {
    bytes += tile_elements(each, choice) * each.bytes * static_cast<double>(choice.stages);
  }
  // threads add up their sums there
  bytes += problem.result_bytes * static_cast<double>(choice.all_threads() * choice.items());
  return static_cast<std::int64_t>(bytes);
}

Slicing lagged_slicing(const LaggedProblem& problem, const LaggedChoice& choice) {
  Slicing slicing;
  int axis = 0;
  const auto next_axis = [&] { return InameTag{AxisKind::grid, axis++}; };
  const SlicingFactor threads{choice.threads, {AxisKind::block, 0}};
  const SlicingFactor steps{choice.steps, {AxisKind::unroll_hint, 0}};
  const std::string& shared = problem.has_rows() ? problem.rows.iname : problem.walk.iname;
  if (problem.has_rows()) {
    slicing.inames.push_back(
        {problem.rows.iname, {{0, next_axis()}, {choice.tiles, {}}, {choice.tile_rows, {}}}});
    slicing.inames.push_back({problem.walk.iname, {{0, {}}, threads, steps}});
  } else {
    slicing.inames.push_back(
        {problem.walk.iname, {{0, next_axis()}, {choice.tiles, {}}, threads, steps}});
  }
  InameSlicing lags{problem.first_lag.iname, {{0, next_axis()}}};
  if (choice.lag_threads > 1) {
    lags.factors.push_back({choice.lag_threads, {AxisKind::block, 1}});
  }
  lags.factors.push_back({choice.lags, {AxisKind::ilp, 0}});
  slicing.inames.push_back(std::move(lags));
  if (problem.has_second_lag()) {
    InameSlicing more{problem.second_lag.iname, {{0, next_axis()}}};
    if (choice.more_lags > 1) {
      more.factors.push_back({choice.more_lags, {AxisKind::ilp, 0}});
    }
    slicing.inames.push_back(std::move(more));
  }
  for (const SlicedLoop& each : problem.others) {
    slicing.inames.push_back({each.iname, {{0, next_axis()}}});
  }
  for (const LaggedRead& each : problem.reads) {
    slicing.fetches.push_back({.array = each.array, .group = each.group});
  }
  slicing.stages = choice.stages;
  if (choice.how == GridReduction::atomic) {
    slicing.atomic_reductions = {shared};
  } else if (choice.how == GridReduction::last_block) {
    slicing.last_block_reductions = {shared};
  }
  return slicing;
}

class LaggedCost {
 public:
  LaggedCost(const LaggedProblem& problem, const MachineModel& machine)
      : problem_(problem), machine_(machine) {}

  /// Sums, their windows, what is read once, and what loops take.
  [[nodiscard]] double registers(const LaggedChoice& choice) const {
    constexpr double registers_of_loops = 28;
    const double words = problem_.result_bytes / 4;
    const std::int64_t window = choice.lags * choice.more_lags;
    return registers_of_loops + words * static_cast<double>(choice.items() + window) +
           words * static_cast<double>(std::min(choice.steps, choice.lags));
  }

  /// Estimates, as those of tiles of results.
  [[nodiscard]] double seconds(const LaggedChoice& choice) const {
    const Tile tile = tile_of(choice);
    const double items = static_cast<double>(choice.items());
    const double tiles = tiles_of_block(choice);
    const double meeting = (40 + 8 * items) * std::log2(static_cast<double>(choice.threads));
    // what a block takes alone, and what the units of a multiprocessor take for all of them
    const double block_clocks =
        tiles * (tile.own_clocks + tile.waiting_clocks) + meeting + gpu::clocks_of_load;
    const double blocks = static_cast<double>(lagged_blocks(problem_, choice));
    const double multiprocessors = machine_.multiprocessors;
    const double used = registers(choice);
    const double resident = gpu::resident_blocks(
        machine_, static_cast<double>(choice.all_threads()), std::min(255.0, used),
        static_cast<double>(shared_bytes_of(problem_, choice)));
    const double rounds = std::ceil(blocks / (multiprocessors * resident));
    const double units = (tiles * tile.unit_clocks + meeting * tile.warps / 8) *
                         std::ceil(blocks / multiprocessors) * (used > 255 ? used / 100 : 1);
    const double waits = rounds * block_clocks;
    const double core_seconds = std::sqrt(units * units + waits * waits) / machine_.clock_hz;
    const double cache_seconds = blocks * tiles * tile.bytes / gpu::cache_bytes_per_second;
    const double busy = std::min(1.0, blocks / multiprocessors);
    const double memory_seconds =
        problem_.compulsory_bytes / machine_.memory_bytes_per_second / busy;
    const double longest = std::max({core_seconds, cache_seconds, memory_seconds});
    return longest + 0.2 * (core_seconds + cache_seconds + memory_seconds - longest) +
           seconds_of_parts(choice);
  }

 private:
  /// What a block does with a tile.
  struct Tile {
    double warps = 1;
    double bytes = 0;           ///< that are copied
    double own_clocks = 0;      ///< of a block that is alone
    double waiting_clocks = 0;  ///< for what is copied
    double unit_clocks = 0;     ///< of the busiest unit
  };

  [[nodiscard]] Tile tile_of(const LaggedChoice& choice) const {
    constexpr double clocks_of_barrier = 40;
    constexpr double loads_at_once = 4;    // of a thread that copies
    constexpr double clocks_of_copy = 8;   // instructions for each element, with its index
    constexpr double clocks_of_rows = 24;  // the same where it is divided into rows
    const double rows = static_cast<double>(choice.tile_rows);
    const double points = rows * static_cast<double>(choice.steps * choice.items());
    Tile tile;
    tile.warps = std::ceil(static_cast<double>(choice.all_threads()) / machine_.warp_lanes);
    double loads = 0;
    double shared_clocks = 0;
    double copied = 0;
    for (const LaggedRead& each : problem_.reads) {
      const double elements = rows * thread_elements(each, choice);
      copied += tile_elements(each, choice);
      tile.bytes += tile_elements(each, choice) * each.bytes;
      loads += elements;
      shared_clocks += elements * tile.warps * conflicts(each, choice);
    }
    shared_clocks += 2 * tile.bytes / machine_.shared_bytes_per_clock;
    const double flop_clocks = points * problem_.float_clocks * tile.warps / gpu::schedulers;
    const double issue =
        (tile.warps * (points * problem_.operations + loads) +
         (problem_.has_rows() ? clocks_of_rows : clocks_of_copy) * copied / machine_.warp_lanes) /
        gpu::schedulers;
    tile.own_clocks = issue * gpu::schedulers / std::min(gpu::schedulers, tile.warps);
    // copies that run ahead are there when the tile before is done
    const double rounds =
        std::ceil(copied / static_cast<double>(choice.all_threads()) / loads_at_once);
    tile.waiting_clocks = 2 * clocks_of_barrier +
                          (choice.stages > 1 ? std::max(0.0, gpu::clocks_of_load - tile.own_clocks)
                                             : rounds * gpu::clocks_of_load / 2);
    tile.unit_clocks =
        std::max({flop_clocks, shared_clocks, issue}) + 0.05 * (flop_clocks + shared_clocks);
    return tile;
  }

  [[nodiscard]] double tiles_of_block(const LaggedChoice& choice) const {
    return static_cast<double>(
        choice.tiles *
        (problem_.has_rows() ? ceil_divide(problem_.walk.length, tile_steps(choice)) : 1));
  }

  /// Lanes of a warp in one bank: they are so many steps apart.
  [[nodiscard]] double conflicts(const LaggedRead& read, const LaggedChoice& choice) const {
    const auto banks = static_cast<std::int64_t>(machine_.shared_bytes_per_clock / read.bytes);
    const std::int64_t apart = read.axes.back().walk * choice.steps;
    const double lanes = static_cast<double>(std::min<std::int64_t>(choice.threads, warp_size));
    const double different = static_cast<double>(banks / std::gcd(banks, apart));
    return std::max(1.0, lanes / different);
  }

  /// Another launch adds up what blocks have, or clears the results before.
  [[nodiscard]] double seconds_of_parts(const LaggedChoice& choice) const {
    constexpr double seconds_of_part = 5e-8;
    constexpr double updates_per_second = 2e11;  // of different elements
    constexpr double seconds_of_update = 2e-8;   // of one element
    const double parts = static_cast<double>(sharing_blocks(problem_, choice));
    const double launches = choice.how == GridReduction::last_block ? 1.5 : 2;
    const double results = static_cast<double>(choice.items() * choice.lag_threads);
    const double added =
        choice.how == GridReduction::atomic
            ? std::max(parts * results * static_cast<double>(blocks_of_results(problem_, choice)) /
                           updates_per_second,
                       parts * seconds_of_update)
            : parts * seconds_of_part / 4;
    return launches * gpu::launch_seconds + added;
  }

  const LaggedProblem& problem_;
  const MachineModel& machine_;
};

class LaggedEnumerator {
 public:
  LaggedEnumerator(const Kernel& kernel, const LaggedProblem& problem,
                   const SlicingConstraints& constraints)
      : kernel_(kernel),
        problem_(problem),
        constraints_(constraints),
        cost_(problem, constraints.machine) {}

  std::vector<LaggedChoice> run() {
    for (const std::int64_t threads : {32, 64, 128, 256}) {
      // odd ones: lanes of a warp find different banks
      for (const std::int64_t steps : {5, 7, 9, 11, 15, 19, 23, 31}) {
        for (const std::int64_t lags : {4, 8, 16, 32, 64}) {
          for (const std::int64_t lag_threads : {1, 2, 4, 8}) {
            add_more_lags(
                {.threads = threads, .steps = steps, .lags = lags, .lag_threads = lag_threads});
          }
        }
      }
    }
    return std::move(choices_);
  }

 private:
  /// As many statements as compilers take in reasonable time.
  static constexpr std::int64_t most_statements = 1280;

  void add_more_lags(LaggedChoice choice) {
    for (const std::int64_t more : {1, 2, 4, 8, 16}) {
      choice.more_lags = more;
      const bool is_second =
          more == 1 || (problem_.has_second_lag() && more <= problem_.second_lag.length);
      const bool is_short = choice.items() * choice.steps <= most_statements;
      const bool is_first =
          choice.lags == 4 || choice.lags * choice.lag_threads < 2 * problem_.first_lag.length;
      if (is_second && is_short && is_first && choice.items() >= 8 &&
          choice.items() <= constraints_.max_items_per_thread &&
          choice.all_threads() >= constraints_.min_threads &&
          choice.all_threads() <= constraints_.max_threads &&
          cost_.registers(choice) <= static_cast<double>(constraints_.max_registers)) {
        add_rows(choice);
      }
    }
  }

  void add_rows(LaggedChoice choice) {
    for (const std::int64_t rows : {1, 2, 4, 8, 16}) {
      choice.tile_rows = rows;
      if (problem_.has_rows() ? rows > 1 && rows <= problem_.rows.length : rows == 1) {
        add_tiles(choice);
      }
    }
  }

  /// Blocks for each multiprocessor.
  void add_tiles(LaggedChoice choice) {
    std::int64_t last = 0;
    for (const std::int64_t rounds : {1, 2, 4, 8}) {
      choice.tiles = 1;
      const std::int64_t all = sharing_blocks(problem_, choice);
      const std::int64_t sharing = std::max<std::int64_t>(
          1, rounds * constraints_.machine.multiprocessors / blocks_of_results(problem_, choice));
      choice.tiles = ceil_divide(all, sharing);
      if (choice.tiles >= 2 && choice.tiles != last) {
        last = choice.tiles;
        for (choice.stages = 1; choice.stages <= most_stages(); ++choice.stages) {
          add(choice);
        }
        choice.stages = 1;
      }
    }
  }

  void add(LaggedChoice choice) {
    const std::int64_t most_bytes =
        std::min(constraints_.max_shared_bytes, constraints_.machine.shared_bytes);
    if (lagged_blocks(problem_, choice) < constraints_.min_blocks ||
        sharing_blocks(problem_, choice) > most_blocks_across ||
        shared_bytes_of(problem_, choice) > most_bytes) {
      return;
    }
    for (const GridReduction how :
         {GridReduction::two_stage, GridReduction::atomic, GridReduction::last_block}) {
      choice.how = how;
      if ((how != GridReduction::last_block || constraints_.machine.has_device_fences) &&
          is_possible(choice)) {
        choices_.push_back(choice);
      }
    }
  }

  /// Of images, blocks go through rows and along them: copies run ahead along one loop.
  [[nodiscard]] std::int64_t most_stages() const {
    return constraints_.machine.has_async_copies && !problem_.has_rows() ? 2 : 1;
  }

  /// Asks the transformations and the generator, once for each kind of choice.
  [[nodiscard]] bool is_possible(const LaggedChoice& choice) {
    return possible_.has(
        {static_cast<std::int64_t>(choice.how), choice.stages, choice.lag_threads > 1,
         choice.more_lags > 1, problem_.first_lag.length % (choice.lags * choice.lag_threads) == 0,
         problem_.has_second_lag() && problem_.second_lag.length % choice.more_lags == 0},
        [&] { return lagged_slicing(problem_, choice); });
  }

  const Kernel& kernel_;
  const LaggedProblem& problem_;
  const SlicingConstraints& constraints_;
  LaggedCost cost_;
  std::vector<LaggedChoice> choices_{};
  PossibleKinds possible_{kernel_};
};

struct LaggedFamily {
  using Problem = LaggedProblem;
  using Choice = LaggedChoice;
  using Cost = LaggedCost;
  using Enumerator = LaggedEnumerator;

  static SlicedChoice sliced(const Problem& problem, const Choice& choice, const MachineModel&) {
    return {lagged_slicing(problem, choice), choice.all_threads(), lagged_blocks(problem, choice),
            shared_bytes_of(problem, choice)};
  }
};

}  // namespace

SourcePtr lagged_slicings(const Kernel& kernel, const SlicingConstraints& constraints) {
  return listed_slicings<LaggedFamily>(kernel, LaggedReader(kernel, constraints).read(),
                                       constraints);
}

}  // namespace rtcg::loopy::detail
