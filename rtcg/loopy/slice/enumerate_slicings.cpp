#include "rtcg/loopy/slice/enumerate_slicings.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/analyze/access.h"
#include "rtcg/loopy/analyze/infer_types.h"
#include "rtcg/loopy/symbolic/traverse.h"
#include "rtcg/loopy/transform/expand_subst.h"
#include "rtcg/loopy/transform/fix_parameters.h"

namespace rtcg::loopy {
namespace {

// The inames that are cut: two of the results, and the longest of the reductions.
constexpr std::size_t fast = 0;
constexpr std::size_t slow = 1;
constexpr std::size_t reduced = 2;

struct Loop {
  std::string iname{};
  std::int64_t length = 1;
};

// How an array is read, by one statement: the elements that it takes along each of its axes when
// the cut inames take some numbers of values.
struct Read {
  std::string array{};
  double element_bytes = 4;
  /// For each axis of the array the coefficients of fast, slow and reduced, and the values that
  /// other loops add to the footprint.
  struct Axis {
    std::array<std::int64_t, 3> coefficients{};
    std::int64_t others = 1;
  };
  std::vector<Axis> axes{};
  std::array<bool, 3> mentions{};
  /// Times that one result, or one step of the reduction, reads it.
  double times = 1;
};

struct Problem {
  std::array<Loop, 3> loops{};
  std::vector<std::string> grid_inames{};  ///< results' inames that are not cut
  std::int64_t other_results = 1;          ///< product of their lengths
  std::int64_t other_steps = 1;            ///< product of the reductions' lengths that are not cut
  std::vector<Read> reads{};
  std::vector<std::string> arrays{};  ///< that may be fetched
  double flops_per_step = 1;
  double result_bytes = 4;
};

struct Choice {
  std::array<std::uint16_t, 3> fast{1, 1, 1};  ///< lanes apart, threads, lanes side by side
  std::array<std::uint16_t, 3> slow{1, 1, 1};
  std::uint16_t depth = 0;  ///< of a tile along the reduction; 0: not cut
  std::uint16_t reduction_threads = 1;
  std::uint8_t fetched = 0;  ///< a bit for each array
  std::uint8_t stages = 1;   ///< buffers of each tile
  bool may_turn = true;      ///< whether tiles lie in shared memory as lanes read them

  [[nodiscard]] std::int64_t fast_tile() const { return std::int64_t{fast[0]} * fast[1] * fast[2]; }
  [[nodiscard]] std::int64_t slow_tile() const { return std::int64_t{slow[0]} * slow[1] * slow[2]; }
  [[nodiscard]] std::int64_t lanes() const {
    return std::int64_t{fast[0]} * fast[2] * slow[0] * slow[2];
  }
  [[nodiscard]] std::int64_t threads() const {
    return std::int64_t{fast[1]} * slow[1] * reduction_threads;
  }
};

struct Ranked {
  float seconds = 0;
  Choice choice{};
};

std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

// ---- what the kernel is ------------------------------------------------------------------------

class ProblemReader {
 public:
  ProblemReader(const Kernel& kernel, const SlicingConstraints& constraints)
      : kernel_(infer_types(expand_subst(kernel))), constraints_(constraints) {}

  Problem read() {
    const std::vector<std::string> results = result_inames();
    if (results.empty()) {
      throw InvalidInput("loopy.slicings.nothing_to_slice",
                         fmt::format("kernel '{}' has no iname that all statements are within and "
                                     "all results are indexed by",
                                     kernel_.name));
    }
    problem_.loops[fast] = loop(results.front());
    if (results.size() > 1) {
      problem_.loops[slow] = loop(results[1]);
    }
    for (std::size_t i = 2; i < results.size(); ++i) {
      problem_.grid_inames.push_back(results[i]);
      problem_.other_results *= loop(results[i]).length;
    }
    read_reductions();
    read_accesses();
    return std::move(problem_);
  }

 private:
  Loop loop(const std::string& iname) const {
    ConstraintSet set = constraints_of(kernel_, {iname});
    for (const auto& [name, value] : constraints_.parameters) {
      set = set.substitute(name, Affine(value));
    }
    const auto first = set.minimum(Affine(iname));
    const auto last = set.maximum(Affine(iname));
    if (!first || !last) {
      throw InvalidInput("loopy.slicings.missing_parameter",
                         fmt::format("the length of loop '{}' is unknown: give a value to each "
                                     "parameter that bounds it",
                                     iname));
    }
    return {iname, std::max<std::int64_t>(1, *last - *first + 1)};
  }

  /// The fastest varying in the results first.
  std::vector<std::string> result_inames() const {
    std::vector<std::string> order;
    std::optional<NameSet> common;
    for (const ArrayAccess& access : accesses_of(kernel_)) {
      if (!access.is_write || find_argument(kernel_, access.array) == nullptr) {
        continue;
      }
      NameSet indexed;
      for (std::size_t axis = access.indices.size(); axis-- > 0;) {
        for (const std::string& name : free_names(access.indices[axis])) {
          if (is_iname(kernel_, name)) {
            indexed.insert(name);
            order.push_back(name);
          }
        }
      }
      if (common) {
        std::erase_if(*common, [&](const auto& each) { return indexed.count(each) == 0; });
      } else {
        common = indexed;
      }
    }
    std::vector<std::string> result;
    for (const std::string& iname : order) {
      const bool is_everywhere = std::all_of(
          kernel_.instructions.begin(), kernel_.instructions.end(),
          [&](const Instruction& each) { return each.within_inames.count(iname) != 0; });
      const bool is_free = tag_of(kernel_, iname).kind == AxisKind::sequential &&
                           with_parent_inames(kernel_, {iname}).size() == 1;
      if (common->count(iname) != 0 && is_everywhere && is_free &&
          std::find(result.begin(), result.end(), iname) == result.end()) {
        result.push_back(iname);
      }
    }
    return result;
  }

  void read_reductions() {
    NameSet inames;
    for (const Instruction& instruction : kernel_.instructions) {
      inames.merge(reduction_inames(instruction));
    }
    for (const std::string& iname : inames) {
      const Loop each = loop(iname);
      if (tag_of(kernel_, iname).kind != AxisKind::sequential) {
        continue;
      }
      Loop& longest = problem_.loops[reduced];
      if (each.length > longest.length) {
        problem_.other_steps *= longest.length;
        longest = each;
      } else {
        problem_.other_steps *= each.length;
      }
    }
  }

  void read_accesses() {
    double operations = 0;
    for (const ArrayAccess& access : accesses_of(kernel_)) {
      const Argument* argument = find_argument(kernel_, access.array);
      if (argument == nullptr || !argument->is_array) {
        continue;
      }
      const double bytes = cgen::size_bytes(*cgen::scalar_kind(*argument->type));
      if (access.is_write) {
        problem_.result_bytes = bytes;
        continue;
      }
      operations += 2;
      add_read(access, bytes);
    }
    problem_.flops_per_step = std::max(1.0, operations / 2);
  }

  void add_read(const ArrayAccess& access, double bytes) {
    Read read;
    read.array = access.array;
    read.element_bytes = bytes;
    bool is_affine = true;
    for (const Expr& index : access.indices) {
      Read::Axis axis;
      const auto affine = to_affine(index);
      is_affine = is_affine && affine.has_value();
      for (std::size_t i = 0; affine && i < 3; ++i) {
        axis.coefficients[i] = affine->coefficient(problem_.loops[i].iname);
        read.mentions[i] = read.mentions[i] || axis.coefficients[i] != 0;
      }
      if (affine) {
        for (const Affine::Term& term : affine->terms()) {
          const bool is_cut =
              std::any_of(problem_.loops.begin(), problem_.loops.end(),
                          [&](const Loop& each) { return each.iname == term.name; });
          const bool is_grid = std::find(problem_.grid_inames.begin(), problem_.grid_inames.end(),
                                         term.name) != problem_.grid_inames.end();
          if (!is_cut && !is_grid && is_iname(kernel_, term.name)) {
            axis.others += std::abs(term.coefficient) * (loop(term.name).length - 1);
          }
        }
      }
      read.axes.push_back(axis);
    }
    for (Read& each : problem_.reads) {
      if (each.array == read.array && each.mentions == read.mentions) {
        each.times += 1;
        // neighbours: the footprint grows by about one element on each side
        for (std::size_t i = 0; i < each.axes.size() && i < read.axes.size(); ++i) {
          each.axes[i].others = std::max(each.axes[i].others, read.axes[i].others) +
                                (i + 1 == each.axes.size() ? 1 : 0);
        }
        return;
      }
    }
    problem_.reads.push_back(read);
    const bool is_across = read.mentions[fast] && read.axes.back().coefficients[fast] == 0;
    const bool is_shared = is_across || !read.mentions[fast] || !read.mentions[slow] ||
                           read.axes.empty() ||
                           std::any_of(read.axes.begin(), read.axes.end(),
                                       [](const Read::Axis& axis) { return axis.others > 1; }) ||
                           count_reads(access.array) > 1;
    const bool is_known = std::find(problem_.arrays.begin(), problem_.arrays.end(), access.array) !=
                          problem_.arrays.end();
    if (is_affine && is_shared && !is_known && problem_.arrays.size() < 4) {
      problem_.arrays.push_back(access.array);
    }
  }

  [[nodiscard]] int count_reads(const std::string& array) const {
    int count = 0;
    for (const ArrayAccess& access : accesses_of(kernel_)) {
      count += !access.is_write && access.array == array ? 1 : 0;
    }
    return count;
  }

  Kernel kernel_;
  const SlicingConstraints& constraints_;
  Problem problem_{};
};

// ---- what a slicing costs
// ------------------------------------------------------------------------

class CostModel {
 public:
  CostModel(const Problem& problem, const SlicingConstraints& constraints)
      : problem_(problem), machine_(constraints.machine) {}

  [[nodiscard]] std::int64_t blocks(const Choice& choice) const {
    return ceil_div(problem_.loops[fast].length, choice.fast_tile()) *
           ceil_div(problem_.loops[slow].length, choice.slow_tile()) * problem_.other_results;
  }

  /// Elements along an axis that a block's tile has.
  [[nodiscard]] double length(const Read::Axis& axis, const Choice& choice) const {
    const std::array<std::int64_t, 3> values = {
        choice.fast_tile(), choice.slow_tile(),
        choice.depth != 0 ? std::int64_t{choice.depth} : problem_.loops[reduced].length};
    double length = static_cast<double>(axis.others);
    for (std::size_t i = 0; i < 3; ++i) {
      length += static_cast<double>(std::abs(axis.coefficients[i]) * (values[i] - 1));
    }
    return length;
  }
  /// What a block holds of an array along the cut inames.
  [[nodiscard]] double footprint(const Read& read, const Choice& choice) const {
    double elements = 1;
    for (const Read::Axis& axis : read.axes) {
      elements *= length(axis, choice);
    }
    return elements;
  }
  /// Whether the tile has two axes: those of length 1 are dropped.
  [[nodiscard]] bool is_matrix(const Read& read, const Choice& choice) const {
    return read.axes.size() == 2 && length(read.axes[0], choice) > 1 &&
           length(read.axes[1], choice) > 1;
  }

  [[nodiscard]] bool is_fetched(const Choice& choice, const std::string& array) const {
    for (std::size_t i = 0; i < problem_.arrays.size(); ++i) {
      if (problem_.arrays[i] == array) {
        return (choice.fetched >> i & 1) != 0;
      }
    }
    return false;
  }

  /// Its rows lie along an axis that neighbouring lanes do not: turned round, wide loads fit.
  [[nodiscard]] bool is_transposed(const Choice& choice, const std::string& array) const {
    if (!choice.may_turn) {
      return false;
    }
    for (const Read& read : problem_.reads) {
      if (read.array == array && is_matrix(read, choice)) {
        return read.axes[1].coefficients[reduced] != 0 && read.axes[0].coefficients[reduced] == 0 &&
               (choice.fast[2] > 1 || choice.slow[2] > 1);
      }
    }
    return false;
  }
  [[nodiscard]] bool is_any_transposed(const Choice& choice) const {
    return std::any_of(problem_.arrays.begin(), problem_.arrays.end(), [&](const auto& array) {
      return is_fetched(choice, array) && is_transposed(choice, array);
    });
  }
  [[nodiscard]] std::int64_t padding(const Choice& choice, const std::string& array) const {
    if (is_transposed(choice, array)) {
      return 4;
    }
    for (const Read& read : problem_.reads) {
      if (read.array != array || !is_matrix(read, choice)) {
        continue;
      }
      // threads, or lanes that keep their rows, go down the columns of the tile
      const bool goes_down =
          read.axes[0].coefficients[fast] != 0 && read.axes[1].coefficients[fast] == 0;
      if (!choice.may_turn && read.axes[1].coefficients[reduced] != 0) {
        return 4;
      }
      if (goes_down) {
        return choice.stages > 1 ? 4 : 1;
      }
    }
    return 0;
  }

  /// Whether a tile that is fetched moves along the reduction, so that its copies can run ahead.
  [[nodiscard]] bool can_pipeline(const Choice& choice) const {
    return choice.depth != 0 &&
           std::any_of(problem_.reads.begin(), problem_.reads.end(), [&](const Read& read) {
             return read.mentions[reduced] && is_fetched(choice, read.array);
           });
  }

  [[nodiscard]] std::int64_t shared_bytes(const Choice& choice) const {
    // the threads of a reduction meet in shared memory, each with all its lanes
    double bytes = choice.reduction_threads > 1
                       ? 8.0 * static_cast<double>(choice.threads() * choice.lanes())
                       : 0;
    for (std::size_t i = 0; i < problem_.arrays.size(); ++i) {
      for (const Read& read : problem_.reads) {
        if ((choice.fetched >> i & 1) != 0 && read.array == problem_.arrays[i]) {
          bytes += footprint(read, choice) * read.element_bytes *
                   (read.mentions[reduced] ? choice.stages : 1);
          break;
        }
      }
    }
    return static_cast<std::int64_t>(std::min(bytes, 1e15));
  }

  [[nodiscard]] double seconds(const Choice& choice) const {
    const double blocks_count = static_cast<double>(blocks(choice));
    const double threads = static_cast<double>(choice.threads());
    const double warps = std::ceil(threads / machine_.warp_lanes);
    const double steps =
        static_cast<double>(problem_.loops[reduced].length * problem_.other_steps) /
        choice.reduction_threads;
    const double lanes = static_cast<double>(choice.lanes());
    double flop_clocks = problem_.flops_per_step * 2 * lanes * steps * warps * machine_.warp_lanes /
                         machine_.flops_per_clock;
    double shared_clocks = 0;
    double cache_clocks = 0;
    double memory_bytes = lanes * threads / choice.reduction_threads * problem_.result_bytes;
    const double tiles =
        choice.depth != 0
            ? std::ceil(static_cast<double>(problem_.loops[reduced].length) / choice.depth)
            : 1;
    double instructions = problem_.flops_per_step * lanes * steps * warps;
    for (const Read& read : problem_.reads) {
      const double own_lanes = (read.mentions[fast] ? choice.fast[0] * choice.fast[2] : 1) *
                               (read.mentions[slow] ? choice.slow[0] * choice.slow[2] : 1);
      const double own_steps = read.mentions[reduced] || read.times > 1 ? steps : 1;
      // what neighbouring lanes read, too, stays in a register
      const double per_warp = own_steps * (own_lanes + (read.times - 1) * std::sqrt(own_lanes));
      const double block_bytes = footprint(read, choice) * read.element_bytes *
                                 (choice.depth != 0 && read.mentions[reduced] ? tiles : 1);
      memory_bytes += block_bytes;
      if (is_fetched(choice, read.array)) {
        const bool is_turned = is_transposed(choice, read.array);
        const std::uint16_t wide = read.mentions[fast] ? choice.fast[2] : choice.slow[2];
        const bool goes_along_rows =
            is_turned || (!read.axes.empty() && read.axes.back().coefficients[fast] != 0);
        const double width = goes_along_rows ? std::min<double>(wide, 4) : 1;
        const double distinct = read.mentions[fast] ? std::min<double>(choice.fast[1], 32) : 1;
        // a warp's load of `width` elements a lane takes as many clocks as it has rows of 128 bytes
        const double clocks =
            std::max(1.0, distinct * width * read.element_bytes / machine_.shared_bytes_per_clock) /
            width;
        shared_clocks +=
            per_warp * warps * clocks + 2 * block_bytes / machine_.shared_bytes_per_clock;
        instructions +=
            per_warp * warps / width + 4 * block_bytes / read.element_bytes / machine_.warp_lanes;
      } else {
        // sectors of 32 bytes that a warp's load touches
        const bool is_along = !read.axes.empty() && read.axes.back().coefficients[fast] != 0;
        const double stride = is_along ? choice.fast[2] * read.element_bytes : 32;
        const double apart = read.mentions[fast] ? std::min<double>(choice.fast[1], 32) : 1;
        const double rows = read.mentions[slow] ? std::max(1.0, 32.0 / choice.fast[1]) : 1;
        double sectors = std::max(1.0, apart * std::min(stride, 32.0) / 32) *
                         std::min<double>(rows, choice.slow[1]);
        if (choice.reduction_threads > 1 && read.mentions[reduced]) {
          sectors = is_along ? 32 : 4 * read.element_bytes / 4;
        }
        cache_clocks += per_warp * warps * sectors * 32 / machine_.cache_bytes_per_clock;
        instructions += per_warp * warps;
      }
    }
    const double barrier_clocks =
        (choice.fetched != 0 ? tiles * (choice.stages > 1 ? 1 : 2) * 30 : 0) +
        (choice.reduction_threads > 1 ? 40 * std::log2(choice.reduction_threads) : 0);
    // registers and shared memory say how many blocks a multiprocessor holds at once
    const double registers = std::min(
        255.0,
        24 + 1.3 * lanes + 2 * (choice.fast[0] * choice.fast[2] + choice.slow[0] * choice.slow[2]));
    const double resident = std::max(
        1.0,
        std::min({32.0, std::floor(machine_.threads_per_multiprocessor / threads),
                  std::floor(machine_.registers_per_multiprocessor / (registers * threads)),
                  std::floor(static_cast<double>(machine_.shared_bytes_per_multiprocessor) /
                             std::max(1.0, static_cast<double>(shared_bytes(choice)) + 1024))}));
    const double warps_at_once = resident * warps;
    // each warp hides about as much latency as its independent lanes allow
    const double filled = std::min(
        1.0, warps_at_once * std::min(8.0, 1 + lanes / 4) * (choice.stages > 1 ? 1.5 : 1.0) / 48.0);
    const double issue_clocks = instructions / 4;
    const double clocks = std::max({flop_clocks, shared_clocks, cache_clocks, issue_clocks}) /
                              std::max(0.05, filled) +
                          0.25 * (flop_clocks + shared_clocks) + barrier_clocks;
    const double rounds = std::ceil(blocks_count / (machine_.multiprocessors * resident));
    const double last_fill = blocks_count / (rounds * machine_.multiprocessors * resident);
    const double work =
        blocks_count * clocks / machine_.multiprocessors / std::max(last_fill, 1.0 / resident);
    const double core_seconds = work / machine_.clock_hz;
    const double streams =
        std::min(1.0, std::min(blocks_count, machine_.multiprocessors * resident) * threads *
                          std::min(4.0, lanes) / (machine_.multiprocessors * 1024.0));
    const double memory_seconds = blocks_count * memory_bytes * traffic_share() /
                                  machine_.memory_bytes_per_second / std::max(0.05, streams);
    return std::max(core_seconds, memory_seconds) + 0.2 * std::min(core_seconds, memory_seconds) +
           2e-6;
  }

 private:
  /// The second-level cache serves what several blocks read: at least what all arrays take once.
  [[nodiscard]] double traffic_share() const {
    return problem_.loops[reduced].iname.empty() ? 1 : 0.35;
  }

  const Problem& problem_;
  const MachineModel& machine_;
};

Slicing slicing_of(const Problem& problem, const CostModel& model, const Choice& choice) {
  Slicing slicing;
  const auto add = [&](std::size_t which, int axis, const std::array<std::uint16_t, 3>& lengths) {
    const Loop& loop = problem.loops[which];
    if (loop.iname.empty()) {
      return;
    }
    InameSlicing sliced{loop.iname, {{0, {AxisKind::grid, axis}}}};
    if (lengths[0] > 1) {
      sliced.factors.push_back({lengths[0], {AxisKind::ilp, 0}});
    }
    if (lengths[1] > 1) {
      sliced.factors.push_back({lengths[1], {AxisKind::block, axis}});
    }
    if (lengths[2] > 1) {
      sliced.factors.push_back({lengths[2], {AxisKind::ilp, 0}});
    }
    slicing.inames.push_back(std::move(sliced));
  };
  add(fast, 0, choice.fast);
  add(slow, 1, choice.slow);
  for (std::size_t i = 0; i < problem.grid_inames.size(); ++i) {
    if (i == 0) {
      slicing.inames.push_back({problem.grid_inames[i], {{0, {AxisKind::grid, 2}}}});
    }
  }
  if (choice.depth != 0 || choice.reduction_threads > 1) {
    InameSlicing sliced{problem.loops[reduced].iname, {{0, {}}}};
    if (choice.reduction_threads > 1) {
      sliced.factors.push_back({choice.reduction_threads, {AxisKind::block, 0}});
    }
    if (choice.depth != 0) {
      sliced.factors.push_back({choice.depth, {}});
    }
    slicing.inames.push_back(std::move(sliced));
  }
  for (std::size_t i = 0; i < problem.arrays.size(); ++i) {
    if ((choice.fetched >> i & 1) != 0) {
      slicing.fetches.push_back({problem.arrays[i], model.is_transposed(choice, problem.arrays[i]),
                                 model.padding(choice, problem.arrays[i])});
    }
  }
  slicing.stages = choice.stages;
  return slicing;
}

/// Powers of two up to the first that is at least `length`, and at most `most`.
std::vector<std::uint16_t> powers(std::int64_t length, std::uint16_t most) {
  std::vector<std::uint16_t> result = {1};
  while (result.back() < length && result.back() < most) {
    result.push_back(static_cast<std::uint16_t>(2 * result.back()));
  }
  return result;
}

/// Whether two choices are a step of the search apart: a length doubled or halved, a factor of 2
/// moved from one length to another, or an array fetched or not.
bool are_neighbours(const Choice& a, const Choice& b) {
  int moved = 0;
  int up = 0;
  int down = 0;
  const auto compare = [&](int x, int y) {
    if (x == y) {
      return;
    }
    ++moved;
    up += y == 2 * x || (x == 0 && y == 4) ? 1 : 0;
    down += x == 2 * y || (y == 0 && x == 4) ? 1 : 0;
  };
  for (std::size_t i = 0; i < 3; ++i) {
    compare(a.fast[i], b.fast[i]);
    compare(a.slow[i], b.slow[i]);
  }
  compare(a.depth, b.depth);
  compare(a.reduction_threads, b.reduction_threads);
  if (a.may_turn != b.may_turn) {
    return moved == 0 && a.fetched == b.fetched && a.stages == b.stages;
  }
  if (a.stages != b.stages) {
    return moved == 0 && a.fetched == b.fetched && std::abs(a.stages - b.stages) == 1;
  }
  const bool other_fetches = a.fetched != b.fetched;
  if (other_fetches) {
    return moved <= 1;
  }
  return (moved == 1 && up + down == 1) || (moved == 2 && up == 1 && down == 1);
}

}  // namespace

struct SlicingStream::State {
  SlicingConstraints constraints;
  Problem problem;
  std::vector<Ranked> ranked{};

  void enumerate() {
    const CostModel model(problem, constraints);
    const Loop& f = problem.loops[fast];
    const Loop& s = problem.loops[slow];
    const Loop& r = problem.loops[reduced];
    std::vector<std::uint16_t> depths = {0};
    std::vector<std::uint16_t> reduction_threads = {1};
    if (!r.iname.empty()) {
      for (const std::uint16_t depth : {4, 8, 16, 32}) {
        if (depth < r.length) {
          depths.push_back(depth);
        }
      }
      for (const std::uint16_t each : powers(r.length, 1024)) {
        if (each >= 32) {
          reduction_threads.push_back(each);
        }
      }
    }
    const auto fetch_sets = static_cast<std::uint8_t>(1U << problem.arrays.size());
    Choice choice;
    const auto add = [&] {
      const std::int64_t threads = choice.threads();
      if (threads < constraints.min_threads || threads > constraints.max_threads ||
          choice.lanes() > constraints.max_lanes || model.blocks(choice) < constraints.min_blocks ||
          model.shared_bytes(choice) > constraints.max_shared_bytes) {
        return;
      }
      ranked.push_back({static_cast<float>(model.seconds(choice)), choice});
    };
    for (const std::uint16_t f0 : powers(f.length, 4)) {
      for (const std::uint16_t f1 : powers(f.length, 512)) {
        for (const std::uint16_t f2 : powers(f.length, 4)) {
          for (const std::uint16_t s0 : powers(s.length, 4)) {
            for (const std::uint16_t s1 : powers(s.length, 32)) {
              for (const std::uint16_t s2 : powers(s.length, 8)) {
                choice.fast = {f0, f1, f2};
                choice.slow = {s0, s1, s2};
                // lanes on both sides of no threads are the same lanes
                if (choice.fast_tile() >= 2 * f.length || choice.slow_tile() >= 2 * s.length ||
                    (f1 == 1 && f0 > 1) || (s1 == 1 && s0 > 1)) {
                  continue;
                }
                for (const std::uint16_t depth : depths) {
                  for (std::uint8_t fetched = 0; fetched < fetch_sets; ++fetched) {
                    // a tile without fetches is a loop cut for nothing, and the other way round
                    if (!r.iname.empty() && (depth != 0) != (fetched != 0)) {
                      continue;
                    }
                    choice.depth = depth;
                    choice.fetched = fetched;
                    choice.reduction_threads = 1;
                    const std::int64_t tiles = depth != 0 ? ceil_div(r.length, depth) : 1;
                    const auto most_stages = static_cast<std::uint8_t>(
                        constraints.machine.has_async_copies && model.can_pipeline(choice)
                            ? std::clamp<std::int64_t>(tiles, 1, 4)
                            : 1);
                    for (choice.stages = 1; choice.stages <= most_stages; ++choice.stages) {
                      choice.may_turn = true;
                      add();
                      if (choice.stages > 1 && model.is_any_transposed(choice)) {
                        choice.may_turn = false;  // copies of 16 bytes along the rows
                        add();
                      }
                    }
                    choice.may_turn = true;
                  }
                }
                choice.depth = 0;
                choice.fetched = 0;
                choice.stages = 1;
                for (const std::uint16_t each : reduction_threads) {
                  if (each > 1 && f1 == 1) {
                    choice.reduction_threads = each;
                    add();
                  }
                }
              }
            }
          }
        }
      }
    }
    std::stable_sort(ranked.begin(), ranked.end(),
                     [](const Ranked& a, const Ranked& b) { return a.seconds < b.seconds; });
  }
};

SlicingStream::SlicingStream(const Kernel& kernel, SlicingConstraints constraints) {
  const auto state = std::make_shared<State>(State{std::move(constraints), {}, {}});
  state->problem = ProblemReader(kernel, state->constraints).read();
  state->enumerate();
  state_ = state;
}

std::size_t SlicingStream::count() const noexcept {
  return state_->ranked.size();
}

RankedSlicing SlicingStream::at(std::size_t place) const {
  const Ranked& ranked = state_->ranked.at(place);
  const CostModel model(state_->problem, state_->constraints);
  return {slicing_of(state_->problem, model, ranked.choice), ranked.seconds,
          ranked.choice.threads(), model.blocks(ranked.choice), model.shared_bytes(ranked.choice)};
}

std::vector<std::size_t> SlicingStream::neighbours(std::size_t place) const {
  const Choice& choice = state_->ranked.at(place).choice;
  std::vector<std::size_t> result;
  for (std::size_t i = 0; i < count(); ++i) {
    if (i != place && are_neighbours(choice, state_->ranked[i].choice)) {
      result.push_back(i);
    }
  }
  return result;
}

std::optional<RankedSlicing> SlicingStream::next() {
  if (next_ == count()) {
    return std::nullopt;
  }
  return at(next_++);
}

}  // namespace rtcg::loopy
