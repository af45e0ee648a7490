// Updates: nests whose statements all update elements of arrays atomically, as histograms do.
#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>

#include "rtcg/cgen/support/gpu_limits.h"
#include "rtcg/cgen/support/integer.h"
#include "rtcg/loopy/analyze/access.h"
#include "rtcg/loopy/analyze/infer_types.h"
#include "rtcg/loopy/analyze/type_of.h"
#include "rtcg/loopy/analyze/update.h"
#include "rtcg/loopy/slice/count_work.h"
#include "rtcg/loopy/slice/gpu_figures.h"
#include "rtcg/loopy/slice/listed_source.h"
#include "rtcg/loopy/slice/slicing_problem.h"
#include "rtcg/loopy/symbolic/traverse.h"
#include "rtcg/loopy/transform/expand_subst.h"

namespace rtcg::loopy::detail {
namespace {

constexpr std::size_t most_private = 2;          // arrays that may have copies
constexpr std::int64_t most_elements = 1 << 20;  // of a copy, as they are counted

/// An array that is updated.
struct UpdatedArray {
  std::string array{};
  double element_bytes = 4;
  double updates = 0;          ///< in all
  std::int64_t elements = 1;   ///< of one copy; with those of the axes below
  double all_elements = 1;     ///< of the array
  bool is_along = false;       ///< whether threads next to each other update neighbours
  bool has_function = true;    ///< an atomic one in shared memory, instead of a loop
  bool can_be_private = true;  ///< the length of each axis is constant
  /// Axes whose index has one value where the long loop is on the grid alone.
  std::int64_t elements_across = 1;
};

struct UpdateProblem {
  /// The long one comes first: its iterations are spread over the grid. Then the one along which
  /// neighbours are read if that is another one, and those that blocks or threads go through.
  std::vector<SlicedLoop> loops{};
  bool has_rows = false;  ///< whether loops[1] is the one along which neighbours are read
  /// Places of others, which are on g.1 and g.2.
  std::vector<std::size_t> on_grid{};
  std::vector<UpdatedArray> arrays{};
  double points = 1;
  double inner_steps = 1;  ///< of loops that are not cut, at each point
  double operations = 0;   ///< at each point
  double bytes = 0;        ///< that are read at each point
};

/// How a nest of updates is cut.
struct UpdateChoice {
  std::int64_t threads = 32;  ///< along the loop of neighbours
  std::int64_t rows = 1;      ///< threads along the long loop, if that is another one
  std::int64_t steps = 1;     ///< of each thread along the long loop
  std::int64_t unrolled = 1;  ///< so many updates are read together
  /// Of each block; 0: the array itself is updated.
  std::array<std::int64_t, most_private> copies{};
  static constexpr auto lengths = std::tuple(&UpdateChoice::threads, &UpdateChoice::rows,
                                             &UpdateChoice::steps, &UpdateChoice::unrolled);
  static constexpr auto answers = std::tuple(&UpdateChoice::copies);
  friend auto operator<=>(const UpdateChoice&, const UpdateChoice&) = default;
};

class UpdateReader {
 public:
  UpdateReader(const Kernel& kernel, const IntegerValues& parameters)
      : kernel_(infer_types(expand_subst(kernel))), parameters_(parameters) {}

  /// Nothing for a nest that does anything but update.
  std::optional<UpdateProblem> read() {
    std::optional<NameSet> common;
    bool has_updates = false;
    for (const Instruction& each : kernel_.instructions) {
      const Assignment* assignment = get_if<Assignment>(each);
      if (assignment == nullptr || (!assignment->is_atomic && !is_value(*assignment))) {
        return std::nullopt;
      }
      has_updates = has_updates || assignment->is_atomic;
      if (assignment->is_atomic && !Update::find(kernel_, *assignment)) {
        return std::nullopt;
      }
      common = common.value_or(each.within_inames);
      std::erase_if(*common, [&](const auto& name) { return each.within_inames.count(name) == 0; });
    }
    if (!has_updates || !read_loops(*common) || !read_arrays()) {
      return std::nullopt;
    }
    read_work();
    return std::move(problem_);
  }

 private:
  /// Whether it sets a scalar of a thread.
  [[nodiscard]] bool is_value(const Assignment& assignment) const {
    return std::all_of(assignment.targets.begin(), assignment.targets.end(), [&](const Expr& each) {
      const Name* target = get_if<Name>(each);
      return target != nullptr && find_temporary(kernel_, target->name) != nullptr;
    });
  }

  [[nodiscard]] std::size_t reads_along(const std::string& iname) const {
    std::size_t count = 0;
    for (const ArrayAccess& each : accesses_of(kernel_)) {
      const auto last = each.indices.empty() ? std::nullopt : to_affine(each.indices.back());
      count += last && last->coefficient(iname) == 1 ? 1 : 0;
    }
    return count;
  }

  bool read_loops(const NameSet& common) {
    std::vector<SlicedLoop> loops;
    for (const std::string& each : common) {
      if (tag_of(kernel_, each).kind == AxisKind::sequential &&
          with_parent_inames(kernel_, {each}).size() == 1) {
        loops.push_back(sliced_loop(kernel_, parameters_, each));
      }
    }
    if (loops.empty()) {
      return false;
    }
    std::stable_sort(loops.begin(), loops.end(),
                     [](const SlicedLoop& a, const SlicedLoop& b) { return a.length > b.length; });
    const auto along = std::max_element(
        loops.begin(), loops.end(),
        [&](const auto& a, const auto& b) { return reads_along(a.iname) < reads_along(b.iname); });
    if (along != loops.begin()) {
      problem_.has_rows = true;
      std::rotate(loops.begin() + 1, along, along + 1);
    }
    for (const SlicedLoop& each : loops) {
      problem_.points *= static_cast<double>(each.length);
    }
    for (std::size_t i = problem_.has_rows ? 2 : 1; i < loops.size() && problem_.on_grid.size() < 2;
         ++i) {
      if (loops[i].length <= most_blocks_across) {
        problem_.on_grid.push_back(i);
        on_grid_.insert(loops[i].iname);
      }
    }
    problem_.loops = std::move(loops);
    return true;
  }

  bool read_arrays() {
    PointCounter counter(kernel_, parameters_);
    for (const Instruction& each : kernel_.instructions) {
      const Assignment* assignment = get_if<Assignment>(each);
      if (!assignment->is_atomic) {
        continue;
      }
      const Access& target = *get_if<Access>(assignment->targets.front());
      const Argument* argument = find_argument(kernel_, target.array);
      if (argument == nullptr || argument->shape.size() != target.indices.size()) {
        return false;
      }
      UpdatedArray* array = nullptr;
      for (UpdatedArray& known : problem_.arrays) {
        array = known.array == target.array ? &known : array;
      }
      if (array == nullptr) {
        array = &problem_.arrays.emplace_back(array_of(*argument, *assignment));
        read_axes(target, *argument, *array);
      } else {
        // other indices: of no axis it is known that all have one value in a block
        array->elements = array->elements_across = most_elements;
        if (array->all_elements < static_cast<double>(most_elements)) {
          array->elements = array->elements_across = static_cast<std::int64_t>(array->all_elements);
        }
      }
      array->updates += counter.points(each.within_inames);
    }
    return true;
  }

  [[nodiscard]] UpdatedArray array_of(const Argument& argument,
                                      const Assignment& assignment) const {
    UpdatedArray result{argument.name};
    result.element_bytes = size_bytes(*argument.type);
    const auto kind = cgen::scalar_kind(*argument.type);
    const bool is_known = !Update::find(kernel_, assignment)->reduction().empty() &&
                          Update::find(kernel_, assignment)->reduction() != "product";
    result.has_function = kind && cgen::is_integral(*kind) && is_known;
    return result;
  }

  void read_axes(const Access& target, const Argument& argument, UpdatedArray& array) const {
    for (std::size_t axis = 0; axis < target.indices.size(); ++axis) {
      const auto length = evaluate_integer(argument.shape[axis], parameters_);
      array.all_elements *= static_cast<double>(length.value_or(1));
      const auto affine = to_affine(target.indices[axis]);
      array.is_along = array.is_along || (axis + 1 == target.indices.size() && affine &&
                                          affine->coefficient(row_loop().iname) == 1);
      // one value in a block however loops are cut: loops on the grid alone
      bool is_whole = affine.has_value();
      bool is_across = is_whole;
      for (const std::string& name : free_names(target.indices[axis])) {
        const bool is_on_grid = on_grid_.count(name) != 0;
        is_whole = is_whole && is_on_grid;
        is_across = is_across && (is_on_grid || name == problem_.loops.front().iname);
      }
      const auto known = as_integer(argument.shape[axis]);
      array.can_be_private = array.can_be_private && (known || is_whole);
      const std::int64_t factor = std::min<std::int64_t>(known.value_or(1), most_elements);
      array.elements =
          std::min<std::int64_t>(array.elements * (is_whole ? 1 : factor), most_elements);
      array.elements_across =
          std::min<std::int64_t>(array.elements_across * (is_across ? 1 : factor), most_elements);
    }
  }

  [[nodiscard]] const SlicedLoop& row_loop() const {
    return problem_.loops[problem_.has_rows ? 1 : 0];
  }

  void read_work() {
    const KernelWork work = count_work(kernel_, parameters_, "");
    problem_.operations = work.outside.count() / problem_.points;
    problem_.bytes = work.compulsory_bytes / problem_.points;
    for (const Instruction& each : kernel_.instructions) {
      NameSet inames = each.within_inames;
      inames.merge(reduction_inames(each));
      PointCounter counter(kernel_, parameters_);
      problem_.inner_steps =
          std::max(problem_.inner_steps, counter.points(inames) / problem_.points);
    }
  }

  Kernel kernel_;
  const IntegerValues& parameters_;
  UpdateProblem problem_{};
  NameSet on_grid_{};
};

/// Whether the updates that are read together are those of the loop of neighbours: it is within the
/// long one, which would repeat it as a whole.
[[nodiscard]] bool has_unrolled_rows(const UpdateProblem& problem, const UpdateChoice& choice) {
  return problem.has_rows && problem.loops[1].length >= choice.threads * choice.unrolled;
}

/// Iterations of the long loop that each thread has.
[[nodiscard]] std::int64_t steps_across(const UpdateProblem& problem, const UpdateChoice& choice) {
  return choice.steps * (has_unrolled_rows(problem, choice) ? 1 : choice.unrolled);
}

/// Threads of a block: no more than iterations.
[[nodiscard]] std::int64_t update_threads(const UpdateProblem& problem,
                                          const UpdateChoice& choice) {
  return std::min(choice.threads, problem.loops[problem.has_rows ? 1 : 0].length) *
         std::min(choice.rows, problem.loops.front().length);
}

[[nodiscard]] std::int64_t update_blocks(const UpdateProblem& problem, const UpdateChoice& choice) {
  const std::int64_t along = problem.has_rows ? choice.rows : choice.threads;
  std::int64_t blocks =
      ceil_divide(problem.loops.front().length, along * steps_across(problem, choice));
  for (const std::size_t each : problem.on_grid) {
    blocks *= problem.loops[each].length;
  }
  return blocks;
}

[[nodiscard]] Slicing update_slicing(const UpdateProblem& problem, const UpdateChoice& choice) {
  Slicing slicing;
  InameSlicing across{problem.loops.front().iname, {{0, {AxisKind::grid, 0}}}};
  const auto add = [](InameSlicing& loop, std::int64_t length, AxisKind kind, int number) {
    if (length > 1) {
      loop.factors.push_back({length, {kind, number}});
    }
  };
  add(across, choice.steps, AxisKind::sequential, 0);
  if (!has_unrolled_rows(problem, choice)) {
    add(across, choice.unrolled, AxisKind::unroll, 0);
  }
  if (problem.has_rows) {
    add(across, choice.rows, AxisKind::block, 1);
  } else {
    add(across, choice.threads, AxisKind::block, 0);
  }
  slicing.inames.push_back(std::move(across));
  if (problem.has_rows) {
    InameSlicing along{problem.loops[1].iname, {{0, {}}}};
    if (has_unrolled_rows(problem, choice)) {
      add(along, choice.unrolled, AxisKind::unroll, 0);
    }
    along.factors.push_back({choice.threads, {AxisKind::block, 0}});
    slicing.inames.push_back(std::move(along));
  }
  int axis = 1;
  for (const std::size_t each : problem.on_grid) {
    slicing.inames.push_back({problem.loops[each].iname, {{0, {AxisKind::grid, axis++}}}});
  }
  for (std::size_t i = 0; i < std::min(most_private, problem.arrays.size()); ++i) {
    if (choice.copies.at(i) != 0) {
      slicing.privates.push_back({problem.arrays[i].array, choice.copies.at(i)});
    }
  }
  return slicing;
}

/// Elements of one copy.
[[nodiscard]] std::int64_t private_elements(const UpdateProblem& problem,
                                            const UpdateChoice& choice, std::size_t array) {
  const bool is_across = problem.has_rows && choice.rows * steps_across(problem, choice) == 1;
  return is_across ? problem.arrays[array].elements_across : problem.arrays[array].elements;
}

// What updates cost. What has no figures beside it is estimated for an H100.
constexpr double l2_clock_hz = 1.7e9;
// Requests of one sector follow each other: 2^26 counts in 256 bins take 17.3 ms on an H100, 16e6
// sums of 64 rows of 16 take 245 us on an H200 (2026-11-28).
constexpr double clocks_of_request = 12;
constexpr double clocks_of_update = 2;  // each in the request
constexpr double bytes_of_sector = 32;
constexpr double update_bytes_per_second = 2.7e12;  // of the second level: half of what reads reach
constexpr double l2_bytes = 40e6;
constexpr double clocks_of_shared_update = 4;  // of a warp without bank conflicts
constexpr double clocks_of_shared_loop = 24;   // the same by compare and swap
constexpr double clocks_of_own_update = 8;     // the same without atomic functions
constexpr double clocks_of_own_chain = 60;     // from one such update of a thread to the next
constexpr double clocks_of_block = 3000;       // barriers, and waiting for the first values

class UpdateCost {
 public:
  UpdateCost(const UpdateProblem& problem, const MachineModel& machine)
      : problem_(problem), machine_(machine) {}

  [[nodiscard]] std::int64_t shared_bytes(const UpdateChoice& choice) const {
    double bytes = 0;
    for (std::size_t i = 0; i < std::min(most_private, problem_.arrays.size()); ++i) {
      bytes += problem_.arrays[i].element_bytes *
               static_cast<double>(private_elements(problem_, choice, i) * choice.copies.at(i));
    }
    return static_cast<std::int64_t>(bytes);
  }

  [[nodiscard]] double seconds(const UpdateChoice& choice) const {
    return machine_.is_cpu ? cpu_seconds(choice) : gpu_seconds(choice);
  }

 private:
  /// Lanes of a warp in the bank with the most, of elements that are drawn.
  [[nodiscard]] static double heaviest_bank(std::int64_t copies, std::int64_t elements) {
    const double lanes = static_cast<double>(
        std::max<std::int64_t>(1, warp_size / std::min<std::int64_t>(copies, warp_size)));
    const double places = std::min(lanes, static_cast<double>(elements));
    return lanes / places + 2.5 * (1 - 1 / lanes);
  }

  /// Of the array itself, from all blocks together.
  [[nodiscard]] double memory_update_seconds(const UpdatedArray& array, double updates,
                                             bool is_along) const {
    const double array_bytes = array.all_elements * array.element_bytes;
    const double together = is_along ? bytes_of_sector / array.element_bytes : 1;
    const double requests_of_sector = updates / together / std::ceil(array_bytes / bytes_of_sector);
    const double chain =
        requests_of_sector * (clocks_of_request + together * clocks_of_update) / l2_clock_hz;
    const double bytes = is_along ? 2 * array.element_bytes : bytes_of_sector;
    const double missed = array_bytes > l2_bytes ? 1 - l2_bytes / array_bytes : 0;
    return std::max(chain,
                    updates * bytes *
                        (1 / update_bytes_per_second + missed / machine_.memory_bytes_per_second));
  }

  [[nodiscard]] double gpu_seconds(const UpdateChoice& choice) const {
    const double multiprocessors = machine_.multiprocessors;
    const double threads = static_cast<double>(update_threads(problem_, choice));
    const double blocks = static_cast<double>(update_blocks(problem_, choice));
    const double registers = 32 + 3 * static_cast<double>(choice.unrolled);
    const double resident = gpu::resident_blocks(machine_, threads, registers,
                                                 static_cast<double>(shared_bytes(choice)));
    const double busy = std::min(1.0, blocks / multiprocessors);
    const double waves = std::ceil(blocks / (multiprocessors * resident));
    const double warps = threads / warp_size * std::min(resident, blocks / multiprocessors + 1);
    // lanes beyond the ends of loops take as long as the others
    const double lanes =
        problem_.has_rows
            ? static_cast<double>(round_up(
                  problem_.loops[1].length,
                  choice.threads * (has_unrolled_rows(problem_, choice) ? choice.unrolled : 1))) /
                  static_cast<double>(problem_.loops[1].length)
            : 1;
    const double steps = problem_.points * lanes / warp_size;  // of warps
    double clocks = steps * (problem_.operations + 6 * problem_.inner_steps) / 4;
    double block_clocks = 0;
    double memory_updates = 0;
    for (std::size_t i = 0; i < problem_.arrays.size(); ++i) {
      const UpdatedArray& array = problem_.arrays[i];
      const std::int64_t copies = i < most_private ? choice.copies.at(i) : 0;
      if (copies == 0) {
        memory_updates += memory_update_seconds(array, array.updates, array.is_along);
        clocks += array.updates / warp_size * 4;
        continue;
      }
      const std::int64_t elements = private_elements(problem_, choice, i);
      const double all = static_cast<double>(elements * copies);
      if (copies == update_threads(problem_, choice)) {
        clocks += array.updates / warp_size *
                  std::max(clocks_of_own_update, clocks_of_own_chain / std::max(1.0, warps));
      } else {
        const double heaviest = heaviest_bank(copies, elements);
        clocks += array.updates / warp_size * heaviest *
                  (array.has_function ? clocks_of_shared_update : clocks_of_shared_loop);
      }
      // copies are set to the neutral element by all threads, and merged by one for each element
      block_clocks += 3 * std::ceil(all / threads) * threads / warp_size +
                      std::ceil(static_cast<double>(elements) / threads) *
                          (8 * static_cast<double>(copies) + 40);
      memory_updates += memory_update_seconds(array, blocks * static_cast<double>(elements), true);
    }
    const double in_flight = std::min(resident, blocks / multiprocessors + 1) * threads *
                             static_cast<double>(choice.unrolled) * std::min(16.0, problem_.bytes);
    const double memory_seconds = problem_.points * problem_.bytes /
                                  machine_.memory_bytes_per_second /
                                  std::clamp(in_flight / gpu::bytes_in_flight, 0.05, 1.0) / busy;
    const double core_seconds = clocks / multiprocessors / machine_.clock_hz / busy;
    const double longest = std::max({memory_seconds, core_seconds, memory_updates});
    return longest + 0.15 * (memory_seconds + core_seconds + memory_updates - longest) +
           waves * (clocks_of_block + block_clocks) / machine_.clock_hz + 2e-6;
  }

  /// Threads are lanes of a core's vectors, which neither gather nor scatter. Each goes through its
  /// steps before the next one does, and so reads every line of the block that they share.
  [[nodiscard]] double cpu_seconds(const UpdateChoice& choice) const {
    constexpr double clocks_of_atomic = 20;
    constexpr double clocks_of_line = 8;  // from the second level, by a core
    constexpr double threads_of_line = 16;
    constexpr double cached_bytes = 256e3;
    const double cores = std::max(1, machine_.multiprocessors);
    const double blocks = static_cast<double>(update_blocks(problem_, choice));
    const double threads = static_cast<double>(update_threads(problem_, choice));
    double clocks = problem_.points * (problem_.operations + 3 * problem_.inner_steps);
    double reads = 1;
    if (threads > 1 && choice.steps * choice.rows > 1) {
      clocks += problem_.points * clocks_of_line;
      const double block_bytes = problem_.points * problem_.bytes / blocks;
      reads = block_bytes > cached_bytes ? std::min(threads, threads_of_line) : 1;
    }
    for (std::size_t i = 0; i < problem_.arrays.size(); ++i) {
      const std::int64_t copies = i < most_private ? choice.copies.at(i) : 0;
      const bool is_own = copies == update_threads(problem_, choice);
      // cores wait for the lines of the others
      clocks += problem_.arrays[i].updates * (copies == 0 ? clocks_of_atomic * cores
                                              : is_own    ? 3
                                                          : clocks_of_atomic);
      clocks += copies == 0 ? 0
                            : blocks * static_cast<double>(private_elements(problem_, choice, i)) *
                                  (2 * static_cast<double>(copies) + clocks_of_atomic);
    }
    return std::ceil(blocks / cores) / blocks * clocks / machine_.clock_hz +
           problem_.points * problem_.bytes * reads / machine_.memory_bytes_per_second + 2e-6;
  }

  const UpdateProblem& problem_;
  const MachineModel& machine_;
};

class UpdateEnumerator {
 public:
  UpdateEnumerator(const Kernel& kernel, const UpdateProblem& problem,
                   const SlicingConstraints& constraints)
      : kernel_(kernel),
        problem_(problem),
        constraints_(constraints),
        cost_(problem, constraints.machine) {}

  std::vector<UpdateChoice> run() {
    const bool is_cpu = constraints_.machine.is_cpu;
    const std::int64_t most_threads = is_cpu ? 64 : most_threads_of_block;
    for (std::int64_t threads = is_cpu ? 1 : 16; threads <= most_threads; threads *= 2) {
      const std::int64_t length = problem_.loops[problem_.has_rows ? 1 : 0].length;
      if (threads >= 2 * length && threads > 16) {
        break;
      }
      for (std::int64_t rows = 1; rows <= (problem_.has_rows ? 64 : 1); rows *= 2) {
        if (is_block(threads * rows)) {
          add_steps({threads, rows});
        }
      }
    }
    return std::move(choices_);
  }

 private:
  [[nodiscard]] bool is_block(std::int64_t threads) const {
    const std::int64_t least = constraints_.machine.is_cpu ? 1 : constraints_.min_threads;
    return threads >= least && threads <= constraints_.max_threads;
  }

  void add_steps(UpdateChoice choice) {
    const std::int64_t most = constraints_.machine.is_cpu ? 1 << 20 : 512;
    for (choice.unrolled = 1; choice.unrolled <= (constraints_.machine.is_cpu ? 1 : 16);
         choice.unrolled *= 2) {
      for (choice.steps = 1; choice.steps <= most; choice.steps *= 2) {
        const std::int64_t blocks = update_blocks(problem_, choice);
        if (choice.steps > 1 && blocks * 2 < problem_blocks()) {
          break;
        }
        if (blocks >= constraints_.min_blocks) {
          add_copies(choice, 0);
        }
      }
    }
  }
  /// Fewer blocks leave parts of the device without work.
  [[nodiscard]] std::int64_t problem_blocks() const {
    return std::min<std::int64_t>(constraints_.machine.multiprocessors,
                                  update_blocks(problem_, {16, 1}));
  }

  void add_copies(UpdateChoice choice, std::size_t array) {
    if (array == std::min(most_private, problem_.arrays.size())) {
      if (is_possible(choice)) {
        choices_.push_back(choice);
      }
      return;
    }
    add_copies(choice, array + 1);
    if (!problem_.arrays[array].can_be_private) {
      return;
    }
    const std::int64_t most_bytes =
        std::min(constraints_.max_shared_bytes, constraints_.machine.shared_bytes);
    for (const std::int64_t copies : copy_counts(choice)) {
      choice.copies.at(array) = copies;
      if (cost_.shared_bytes(choice) <= most_bytes) {
        add_copies(choice, array + 1);
      }
    }
  }
  /// Powers of two up to the lanes of a warp, and one for each thread.
  [[nodiscard]] std::vector<std::int64_t> copy_counts(const UpdateChoice& choice) const {
    if (constraints_.machine.is_cpu) {
      return {update_threads(problem_, choice)};
    }
    std::vector<std::int64_t> counts;
    for (std::int64_t copies = 1;
         copies <= std::min<std::int64_t>(warp_size, update_threads(problem_, choice));
         copies *= 2) {
      counts.push_back(copies);
    }
    if (counts.back() != update_threads(problem_, choice)) {
      counts.push_back(update_threads(problem_, choice));
    }
    return counts;
  }

  /// Asks the transformations and the generator, once for each kind of choice.
  [[nodiscard]] bool is_possible(const UpdateChoice& choice) {
    std::vector<std::int64_t> kind = {choice.rows > 1, choice.steps > 1, choice.unrolled > 1,
                                      has_unrolled_rows(problem_, choice)};
    for (std::size_t i = 0; i < choice.copies.size(); ++i) {
      const std::int64_t copies = choice.copies.at(i);
      kind.push_back(copies == 0                                 ? 0
                     : copies == 1                               ? 1
                     : copies < update_threads(problem_, choice) ? 2
                                                                 : 3);
    }
    return possible_.has(kind, [&] { return update_slicing(problem_, choice); });
  }

  const Kernel& kernel_;
  const UpdateProblem& problem_;
  const SlicingConstraints& constraints_;
  UpdateCost cost_;
  std::vector<UpdateChoice> choices_{};
  PossibleKinds possible_{kernel_};
};

struct UpdateFamily {
  using Problem = UpdateProblem;
  using Choice = UpdateChoice;
  using Cost = UpdateCost;
  using Enumerator = UpdateEnumerator;

  static SlicedChoice sliced(const Problem& problem, const Choice& choice,
                             const MachineModel& machine) {
    return {update_slicing(problem, choice), update_threads(problem, choice),
            update_blocks(problem, choice), Cost(problem, machine).shared_bytes(choice)};
  }
  /// Copies of all threads are as many as there are threads.
  static ChoiceDistance distance(const Problem& problem, const Choice& a, const Choice& b) {
    ChoiceDistance result;
    result.add_length(a.threads, b.threads);
    result.add_length(a.rows, b.rows);
    result.add_length(a.steps, b.steps);
    result.add_length(a.unrolled, b.unrolled);
    for (std::size_t k = 0; k < most_private; ++k) {
      const bool are_of_all = a.copies.at(k) == update_threads(problem, a) &&
                              b.copies.at(k) == update_threads(problem, b);
      result.answers += are_of_all || a.copies.at(k) == b.copies.at(k) ? 0 : 1;
    }
    return result;
  }
};

}  // namespace

SourcePtr update_slicings(const Kernel& kernel, const SlicingConstraints& constraints) {
  return listed_slicings<UpdateFamily>(kernel, UpdateReader(kernel, constraints.parameters).read(),
                                       constraints);
}

}  // namespace rtcg::loopy::detail
