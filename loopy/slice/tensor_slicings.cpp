// Products of matrices on tensor cores: tiles of blocks, of warps, and of their instructions.
#include <algorithm>
#include <cmath>
#include <tuple>

#include "rtcg/cgen/support/gpu_limits.h"
#include "rtcg/cgen/support/integer.h"
#include "rtcg/loopy/analyze/infer_types.h"
#include "rtcg/loopy/analyze/type_of.h"
#include "rtcg/loopy/slice/contraction.h"
#include "rtcg/loopy/slice/gpu_figures.h"
#include "rtcg/loopy/slice/legal_slicing.h"
#include "rtcg/loopy/slice/listed_source.h"
#include "rtcg/loopy/symbolic/traverse.h"
#include "rtcg/loopy/transform/expand_subst.h"
#include "rtcg/loopy/transform/tensor_product.h"

namespace rtcg::loopy::detail {
namespace {

constexpr std::int64_t atom_rows = 16;
constexpr std::int64_t atom_columns = 8;
constexpr double other_registers = 40;     // of a thread: addresses, counters
constexpr double clocks_of_barrier = 500;  // until all warps multiply again
/// Instructions on their way in each scheduler that keep its tensor core busy.
constexpr double atoms_on_the_way = 4;

/// A product of matrices: rows along the slow loop, columns along the fast one.
struct TensorProblem {
  SlicingProblem problem{};
  std::vector<InameFusion> fusions{};
  TensorAtom atom{};
  std::vector<SlicedRead> reads{};  // those of the sum

  [[nodiscard]] const SlicedLoop& rows() const { return problem.loops[slow_loop]; }
  [[nodiscard]] const SlicedLoop& columns() const { return problem.loops[fast_loop]; }
  [[nodiscard]] const SlicedLoop& sum() const { return problem.loops[reduced_loop]; }
  [[nodiscard]] std::int64_t batch() const {
    return problem.has(first_whole_loop) ? problem.loops[first_whole_loop].length : 1;
  }
  [[nodiscard]] double input_bytes() const { return size_bytes(atom.input); }
};

struct TensorChoice {
  std::int64_t row_atoms = 1;     ///< of a warp
  std::int64_t column_atoms = 1;  ///< the same
  std::int64_t row_warps = 1;     ///< of a block
  std::int64_t column_warps = 1;
  std::int64_t steps = 1;  ///< atoms of a tile along the sum
  std::int64_t stages = 1;
  std::int64_t swizzle = 0;
  static constexpr auto lengths =
      std::tuple(&TensorChoice::row_atoms, &TensorChoice::column_atoms, &TensorChoice::row_warps,
                 &TensorChoice::column_warps, &TensorChoice::steps);
  static constexpr auto answers = std::tuple(&TensorChoice::stages, &TensorChoice::swizzle);
  friend auto operator<=>(const TensorChoice&, const TensorChoice&) = default;

  [[nodiscard]] std::int64_t threads() const { return warp_size * row_warps * column_warps; }
  [[nodiscard]] std::int64_t rows() const { return atom_rows * row_atoms * row_warps; }
  [[nodiscard]] std::int64_t columns() const { return atom_columns * column_atoms * column_warps; }
  [[nodiscard]] std::int64_t items() const { return 4 * row_atoms * column_atoms; }
};

/// Elements of a row of a tile.
std::int64_t row_length(const TensorProblem& problem, const SlicedRead& read,
                        const TensorChoice& choice) {
  const bool is_sum_last = !read.axes.empty() && read.axes.back().coefficients[reduced_loop] != 0;
  return is_sum_last                ? choice.steps * problem.atom.depth
         : read.mentions[slow_loop] ? choice.rows()
                                    : choice.columns();
}

/// Unused elements after each row of a tile. Threads read 8 bytes at four places of the sum in four
/// rows or columns at once, or less: then rows begin half of that apart.
std::int64_t padding_of(const TensorProblem& problem, const SlicedRead& read,
                        const TensorChoice& choice) {
  const bool is_sum_last = !read.axes.empty() && read.axes.back().coefficients[reduced_loop] != 0;
  const auto bytes = static_cast<std::int64_t>(problem.input_bytes());
  const std::int64_t apart = is_sum_last || bytes == 8 ? 32 : 16;
  const bool is_apart = row_length(problem, read, choice) * bytes % (2 * apart) == apart;
  return is_apart ? 0 : apart / bytes;
}

Slicing tensor_slicing(const TensorProblem& problem, const TensorChoice& choice) {
  Slicing slicing;
  slicing.fusions = problem.fusions;
  InameSlicing rows{problem.rows().iname, {{0, {AxisKind::grid, 1}}}};
  rows.factors.push_back({2 * choice.row_atoms, {AxisKind::ilp}});
  rows.factors.push_back({8 * choice.row_warps, {AxisKind::block, 1}});
  InameSlicing columns{problem.columns().iname, {{0, {AxisKind::grid, 0}}}};
  if (choice.column_warps > 1) {
    columns.factors.push_back({choice.column_warps, {AxisKind::block, 2}});
  }
  if (choice.column_atoms > 1) {
    columns.factors.push_back({choice.column_atoms, {AxisKind::ilp}});
  }
  columns.factors.push_back({4, {AxisKind::block, 0}});
  columns.factors.push_back(
      {2, {problem.problem.writes_neighbours ? AxisKind::vec : AxisKind::ilp}});
  InameSlicing sum{problem.sum().iname, {{0, {AxisKind::sequential}}}};
  if (choice.steps > 1) {
    sum.factors.push_back({choice.steps, {AxisKind::unroll}});
  }
  sum.factors.push_back({problem.atom.depth, {AxisKind::tensor}});
  slicing.inames = {std::move(rows), std::move(columns), std::move(sum)};
  if (problem.problem.has(first_whole_loop)) {
    slicing.inames.push_back(
        {problem.problem.loops[first_whole_loop].iname, {{0, {AxisKind::grid, 2}}}});
  }
  for (const SlicedRead& each : problem.reads) {
    const Fetchable& fetched = problem.problem.fetchable[each.fetchable];
    FetchPlan fetch;
    fetch.array = fetched.array;
    fetch.group = fetched.group;
    fetch.padding = padding_of(problem, each, choice);
    slicing.fetches.push_back(std::move(fetch));
  }
  slicing.stages = choice.stages;
  slicing.swizzle_rows = choice.swizzle;
  return slicing;
}

class TensorCost {
 public:
  TensorCost(const TensorProblem& problem, const MachineModel& machine)
      : problem_(problem), machine_(machine) {}

  [[nodiscard]] std::int64_t blocks(const TensorChoice& choice) const {
    return ceil_divide(problem_.rows().length, choice.rows()) *
           ceil_divide(problem_.columns().length, choice.columns()) * problem_.batch();
  }
  [[nodiscard]] std::int64_t depth(const TensorChoice& choice) const {
    return choice.steps * problem_.atom.depth;
  }
  [[nodiscard]] std::int64_t shared_bytes(const TensorChoice& choice) const {
    std::int64_t elements = 0;
    for (const SlicedRead& each : problem_.reads) {
      const std::int64_t row = row_length(problem_, each, choice);
      const std::int64_t all = depth(choice) * (each.mentions[slow_loop] ? choice.rows() : 1) *
                               (each.mentions[fast_loop] ? choice.columns() : 1);
      elements += all / row * (row + padding_of(problem_, each, choice));
    }
    return choice.stages * elements * static_cast<std::int64_t>(problem_.input_bytes());
  }
  [[nodiscard]] double registers(const TensorChoice& choice) const {
    const double sums = static_cast<double>(choice.items()) * size_bytes(problem_.atom.sum) / 4;
    const double factors = static_cast<double>(2 * choice.row_atoms + choice.column_atoms) *
                           problem_.atom.depth / 4 * problem_.input_bytes() / 4;
    return sums + 2 * factors + other_registers;
  }

  [[nodiscard]] double seconds(const TensorChoice& choice) const {
    const double tiles =
        std::ceil(static_cast<double>(problem_.sum().length) / static_cast<double>(depth(choice))) *
        std::max(1.0, points_of_step());
    const double steps = tiles * static_cast<double>(depth(choice));
    const double warps = static_cast<double>(choice.row_warps * choice.column_warps);
    const double resident =
        gpu::resident_blocks(machine_, static_cast<double>(choice.threads()), registers(choice),
                             static_cast<double>(shared_bytes(choice)));
    const double busy =
        std::min(1.0, static_cast<double>(choice.row_atoms * choice.column_atoms) *
                          std::max(1.0, warps * resident / gpu::schedulers) / atoms_on_the_way) *
        std::min(1.0, warps * resident / gpu::schedulers);
    const double operations = 2.0 * static_cast<double>(choice.rows() * choice.columns()) * steps;
    const double tensor_clocks = operations / flops_per_clock() / busy;
    const double loaded = warps * static_cast<double>(atom_rows * choice.row_atoms +
                                                      atom_columns * choice.column_atoms);
    const double filled = static_cast<double>(choice.rows() + choice.columns());
    const double shared_clocks =
        (loaded + filled) * steps * problem_.input_bytes() / machine_.shared_bytes_per_clock;
    // a barrier in each tile, and without copies ahead the way of its elements as well
    const double waiting = clocks_of_barrier + (choice.stages > 1 ? 0.0 : gpu::clocks_of_load);
    const double count = static_cast<double>(blocks(choice)) * std::min(1.0, points_of_step());
    const double of_one = std::ceil(count / machine_.multiprocessors);
    const double rounds = std::ceil(of_one / resident);
    const double clocks = of_one * std::max(tensor_clocks, shared_clocks) +
                          rounds * (tiles * waiting + 2 * gpu::clocks_of_load);
    const double read = count * filled * steps * problem_.input_bytes();
    const double cached = read / gpu::cache_bytes_per_second * (choice.swizzle == 0 ? 1.0 : 0.95);
    // copies wait for each other and for the products: neither hides the other one whole
    return std::max(std::hypot(clocks / machine_.clock_hz, cached),
                    problem_.problem.compulsory_bytes / machine_.memory_bytes_per_second) +
           gpu::launch_seconds;
  }

 private:
  [[nodiscard]] double flops_per_clock() const {
    return problem_.atom.input == cgen::f64
               ? gpu::tensor_factor_f64 * machine_.f64_flops_per_clock
               : machine_.flops_per_clock * (problem_.input_bytes() == 2
                                                 ? gpu::tensor_factor_16_bits
                                                 : gpu::tensor_factor_8_bits);
  }
  /// Points of the sum for each of its steps and each result of the box: more than 1 where it has
  /// other loops, less where results are a triangle.
  [[nodiscard]] double points_of_step() const {
    const double results = static_cast<double>(problem_.rows().length) *
                           static_cast<double>(problem_.columns().length) *
                           static_cast<double>(problem_.batch());
    return std::max(
        1.0, problem_.problem.least_steps / results / static_cast<double>(problem_.sum().length));
  }

  const TensorProblem& problem_;
  const MachineModel& machine_;
};

class TensorEnumerator {
 public:
  TensorEnumerator(const Kernel& kernel, const TensorProblem& problem,
                   const SlicingConstraints& constraints)
      : kernel_(kernel),
        problem_(problem),
        constraints_(constraints),
        cost_(problem, constraints.machine) {}

  std::vector<TensorChoice> run() {
    const bool has_stages =
        constraints_.machine.has_async_copies &&
        std::all_of(problem_.reads.begin(), problem_.reads.end(), [&](const SlicedRead& each) {
          return problem_.problem.fetchable[each.fetchable].can_run_ahead;
        });
    std::vector<TensorChoice> choices;
    for (const std::int64_t stages : {1, 2, 3, 4, 5}) {
      if (stages > 1 && !has_stages) {
        continue;
      }
      const std::vector<TensorChoice> tiles = tiles_of(stages);
      // tiles of one kind are all refused or none is
      if (!tiles.empty() && !why_not_sliced(kernel_, tensor_slicing(problem_, tiles.front()))) {
        choices.insert(choices.end(), tiles.begin(), tiles.end());
      }
    }
    return choices;
  }

 private:
  [[nodiscard]] std::vector<TensorChoice> tiles_of(std::int64_t stages) const {
    std::vector<TensorChoice> tiles;
    for (const std::int64_t row_atoms : {1, 2, 3, 4}) {
      for (const std::int64_t column_atoms : {1, 2, 3, 4, 6, 8}) {
        for (const std::int64_t row_warps : {1, 2, 4, 8}) {
          for (const std::int64_t column_warps : {1, 2, 4, 8}) {
            for (const std::int64_t steps : {1, 2, 4, 8}) {
              for (const std::int64_t swizzle : {0, 8}) {
                const TensorChoice choice{row_atoms, column_atoms, row_warps, column_warps,
                                          steps,     stages,       swizzle};
                if (is_allowed(choice)) {
                  tiles.push_back(choice);
                }
              }
            }
          }
        }
      }
    }
    return tiles;
  }

  [[nodiscard]] bool is_allowed(const TensorChoice& choice) const {
    const std::int64_t down = ceil_divide(problem_.rows().length, choice.rows());
    const std::int64_t across = ceil_divide(problem_.columns().length, choice.columns());
    const bool is_wasteful =
        choice.rows() >= 2 * std::max(problem_.rows().length, atom_rows) ||
        choice.columns() >= 2 * std::max(problem_.columns().length, atom_columns) ||
        cost_.depth(choice) >=
            2 * std::max<std::int64_t>(problem_.sum().length, problem_.atom.depth);
    const std::int64_t tiles = ceil_divide(problem_.sum().length, cost_.depth(choice));
    return !is_wasteful && has_whole_atoms(choice) &&
           choice.threads() >= constraints_.min_threads &&
           choice.threads() <= constraints_.max_threads &&
           choice.items() <= constraints_.max_items_per_thread && down <= most_blocks_across &&
           (choice.stages == 1 || tiles >= choice.stages) &&
           (choice.swizzle == 0 || (down >= 16 && across >= 16)) &&
           cost_.blocks(choice) >= constraints_.min_blocks &&
           cost_.shared_bytes(choice) <=
               std::min(constraints_.max_shared_bytes, constraints_.machine.shared_bytes) &&
           cost_.registers(choice) <= static_cast<double>(constraints_.max_registers) &&
           cost_.registers(choice) * static_cast<double>(choice.threads()) <=
               constraints_.machine.registers_per_multiprocessor &&
           keeps_hint(problem_.rows(), choice.rows(), 8 * choice.row_warps) &&
           keeps_hint(problem_.columns(), choice.columns(), 4 * choice.column_warps) &&
           keeps_hint(problem_.sum(), cost_.depth(choice), 1);
  }

  /// Lanes and threads beyond the end of a loop whose length is known do not exist: what is left of
  /// them has to fill atoms.
  [[nodiscard]] bool has_whole_atoms(const TensorChoice& choice) const {
    const auto is_short = [](const SlicedLoop& loop, std::int64_t length) {
      return loop.is_constant && loop.length < length;
    };
    const std::int64_t row_threads = 8 * choice.row_warps;
    return !is_short(problem_.columns(), atom_columns) &&
           !is_short(problem_.sum(), problem_.atom.depth) &&
           (!is_short(problem_.rows(), choice.rows()) ||
            ceil_divide(problem_.rows().length, row_threads) % 2 == 0);
  }

  [[nodiscard]] bool keeps_hint(const SlicedLoop& loop, std::int64_t tile,
                                std::int64_t threads) const {
    const auto hint = constraints_.inames.find(loop.iname);
    const auto allows = [](const std::vector<std::int64_t>& lengths, std::int64_t length) {
      return lengths.empty() || std::find(lengths.begin(), lengths.end(), length) != lengths.end();
    };
    return hint == constraints_.inames.end() ||
           (allows(hint->second.tiles, tile) && allows(hint->second.threads, threads));
  }

  const Kernel& kernel_;
  const TensorProblem& problem_;
  const SlicingConstraints& constraints_;
  const TensorCost cost_;
};

struct TensorFamily {
  using Problem = TensorProblem;
  using Choice = TensorChoice;
  using Cost = TensorCost;
  using Enumerator = TensorEnumerator;

  static SlicedChoice sliced(const Problem& problem, const Choice& choice,
                             const MachineModel& machine) {
    const Cost cost(problem, machine);
    return {tensor_slicing(problem, choice), choice.threads(), cost.blocks(choice),
            cost.shared_bytes(choice)};
  }
};

/// Whether the machine's programs are for devices with the instructions of the atom.
bool has_tensor_cores(const MachineModel& machine, const TensorAtom& atom) {
  const std::string& target = machine.architecture;
  const bool has_three_digits = target.size() > 5 && target[5] >= '0' && target[5] <= '9';
  const std::string_view least = atom.input == cgen::f64 ? "sm_90" : "sm_80";
  return !machine.is_cpu && target.starts_with("sm_") && (has_three_digits || target >= least);
}

/// The sum of the kernel's one statement, if it has but one.
const Reduction* only_reduction(const Kernel& typed) {
  const Assignment* assignment =
      typed.instructions.size() == 1 ? get_if<Assignment>(typed.instructions.front()) : nullptr;
  const Reduction* found = nullptr;
  int count = 0;
  if (assignment != nullptr) {
    walk(assignment->value, [&](const Expr& part) {
      if (const Reduction* reduction = get_if<Reduction>(part)) {
        found = reduction;
        ++count;
      }
      return true;
    });
  }
  return count == 1 ? found : nullptr;
}

/// A problem whose reads are rows or columns of a product; nothing for others.
std::optional<TensorProblem> tensor_problem(const TensorSum& sum, SlicingProblem sliced,
                                            std::vector<InameFusion> fusions,
                                            const SlicingConstraints& constraints) {
  TensorProblem result;
  result.problem = std::move(sliced);
  result.fusions = std::move(fusions);
  result.atom = sum.atom;
  const SlicingProblem& problem = result.problem;
  const auto is_far = [&](std::size_t loop) {
    return problem.has(loop) &&
           (problem.loops[loop].is_inner || problem.loops[loop].length > most_blocks_across);
  };
  if (!problem.has(fast_loop) || !problem.has(slow_loop) || !problem.has(reduced_loop) ||
      is_far(first_whole_loop) || problem.has(first_whole_loop + 1) || problem.other_results > 1 ||
      !problem.beginnings.empty()) {
    return std::nullopt;
  }
  const auto parts_of = [&](std::size_t loop) {
    const std::string& iname = problem.loops[loop].iname;
    NameSet parts = {iname};
    for (const InameFusion& each : result.fusions) {
      for (const FusedIname& part : each.parts) {
        if (each.name == iname) {
          parts.insert(part.iname);
        }
      }
    }
    return parts;
  };
  const NameSet rows = parts_of(slow_loop);
  const NameSet columns = parts_of(fast_loop);
  bool has_rows = false;
  bool has_columns = false;
  for (const Expr& factor : sum.factors) {
    const NameSet names = free_names(factor);
    const auto mentions = [&](const NameSet& inames) {
      return std::any_of(inames.begin(), inames.end(),
                         [&](const auto& each) { return names.count(each) != 0; });
    };
    if (mentions(rows) && mentions(columns)) {
      return std::nullopt;
    }
    has_rows = has_rows || mentions(rows);
    has_columns = has_columns || mentions(columns);
  }
  for (const SlicedRead& each : problem.reads) {
    if (!each.mentions[reduced_loop]) {
      continue;
    }
    const auto use = constraints.arrays.find(each.array);
    const bool is_allowed = use == constraints.arrays.end() || use->second == ArrayUse::any ||
                            use->second == ArrayUse::shared;
    if (each.fetchable == nowhere || !is_allowed) {
      return std::nullopt;
    }
    result.reads.push_back(each);
  }
  return has_rows && has_columns && !result.reads.empty() ? std::optional(std::move(result))
                                                          : std::nullopt;
}

}  // namespace

SourcePtr tensor_slicings(const Kernel& kernel, const SlicingConstraints& constraints) {
  const Kernel typed = infer_types(expand_subst(kernel));
  const Reduction* reduction = only_reduction(typed);
  const auto sum = reduction != nullptr ? find_tensor_sum(typed, *reduction) : std::nullopt;
  if (!sum || !has_tensor_cores(constraints.machine, sum->atom) ||
      !constraints.free_layouts.empty()) {
    return nullptr;
  }
  SourcePtr all = listed_slicings<TensorFamily>(
      kernel,
      tensor_problem(*sum,
                     read_slicing_problem(kernel, constraints.parameters, {}, constraints.machine),
                     {}, constraints),
      constraints);
  if (!constraints.inames.empty()) {
    return all;  // fusions unite inames that hints may name
  }
  for (FusedContraction& each :
       fused_contractions(typed, constraints.parameters, constraints.machine)) {
    all = merged(std::move(all),
                 listed_slicings<TensorFamily>(kernel,
                                               tensor_problem(*sum, std::move(each.problem),
                                                              std::move(each.fusions), constraints),
                                               constraints));
  }
  return all;
}

}  // namespace rtcg::loopy::detail
