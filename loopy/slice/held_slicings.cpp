// Nests that hand arrays on within a block: each iteration of the loops that they share is done by
// a block or by a part of it, which keeps the arrays in shared memory.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "rtcg/cgen/support/gpu_limits.h"
#include "rtcg/cgen/support/integer.h"
#include "rtcg/loopy/analyze/access.h"
#include "rtcg/loopy/analyze/infer_types.h"
#include "rtcg/loopy/analyze/type_of.h"
#include "rtcg/loopy/slice/access_groups.h"
#include "rtcg/loopy/slice/gpu_figures.h"
#include "rtcg/loopy/slice/held_kernel.h"
#include "rtcg/loopy/slice/hinted_source.h"
#include "rtcg/loopy/slice/listed_source.h"
#include "rtcg/loopy/slice/slicing_problem.h"
#include "rtcg/loopy/slice/worded_source.h"
#include "rtcg/loopy/symbolic/print_expr.h"
#include "rtcg/loopy/symbolic/traverse.h"
#include "rtcg/loopy/transform/expand_subst.h"

namespace rtcg::loopy::detail {
namespace {

constexpr std::size_t most_fetched = 3;  // arrays of which a block copies all
constexpr double most_fetched_bytes = 64 * 1024;
constexpr double registers_of_held_thread = 36;  // apart from sums
constexpr double clocks_of_held_barrier = 40;
constexpr double clocks_of_held_block = 400;      // its start, first loads and results
constexpr double warps_at_work_of_held = 24;      // that keep a multiprocessor busy
constexpr std::int64_t distance_of_lookups = 64;  // elements between places that are looked up
constexpr double steps_of_call = 8;               // of a function, in simple operations

struct HeldChoice {
  std::int64_t threads = 1;  ///< along the loops of each nest
  std::int64_t across = 1;   ///< along their second loops
  std::int64_t rows = 1;     ///< of a block at once, in threads
  std::int64_t steps = 1;    ///< of a block, one after the other
  std::int64_t results = 1;  ///< of a thread at once, along loops around sums
  std::int64_t items = 1;    ///< rows of a thread
  std::int64_t fetched = 0;  ///< a bit for each of HeldProblem::fetchable
  static constexpr auto lengths =
      std::tuple(&HeldChoice::threads, &HeldChoice::across, &HeldChoice::rows, &HeldChoice::steps,
                 &HeldChoice::results, &HeldChoice::items);
  static constexpr auto answers = std::tuple(&HeldChoice::fetched);
  friend auto operator<=>(const HeldChoice&, const HeldChoice&) = default;

  [[nodiscard]] std::int64_t all_threads() const { return threads * across * rows; }
  [[nodiscard]] std::int64_t rows_of_block() const { return rows * items * steps; }
  [[nodiscard]] bool fetches(std::size_t array) const { return (fetched >> array & 1) != 0; }
};

/// What one iteration of the threads' loops touches.
struct HeldAccess {
  double element_bytes = 4;
  double times = 1;  ///< along loops of a thread
  bool is_of_row = false;
  bool is_held = false;
  bool is_run = false;  ///< whether steps of a sum read neighbours, the same for all lanes
  std::size_t fetchable = nowhere;
  /// Elements from one lane's to the next one's, along the threads' loops and the rows; 0: the
  /// same.
  std::array<std::int64_t, 2> strides{};
  std::int64_t row_stride = 0;
};

struct HeldNest {
  SlicedLoop spread{};    ///< that threads share
  SlicedLoop across{};    ///< no iname: there is no second loop
  bool is_sum = false;    ///< whether threads share a sum
  double others = 1;      ///< iterations of the other loops around the statements
  double operations = 0;  ///< of one iteration of all of them
  double sums = 0;        ///< of one result
  std::vector<HeldAccess> accesses{};

  /// Of one thread at once.
  [[nodiscard]] std::int64_t results(const HeldChoice& choice) const {
    return sums > 0 && !is_sum ? choice.results : 1;
  }
};

/// An array that all rows read.
struct HeldOperand {
  std::string array{};
  double bytes = 0;
  std::vector<std::string> inames{};
  bool has_even_rows = false;  ///< which lanes find in the same banks
};

struct HeldProblem {
  std::vector<SlicedLoop> rows{};
  std::vector<HeldNest> nests{};
  std::vector<std::string> arrays{};
  double held_bytes = 0;  ///< of a row
  std::vector<HeldOperand> fetchable{};
  double compulsory_bytes = 0;
};

class HeldReader {
 public:
  HeldReader(const HeldKernel& held, const IntegerValues& parameters)
      : kernel_(infer_types(expand_subst(held.kernel))), parameters_(parameters) {
    problem_.arrays = held.arrays;
  }

  /// Nothing where statements share no loops, or where nests use an iname in different ways.
  std::optional<HeldProblem> read() {
    problem_.rows = result_loops(kernel_, parameters_);
    for (const SlicedLoop& each : problem_.rows) {
      rows_.insert(each.iname);
    }
    if (problem_.rows.empty() || problem_.rows.size() > 3 || !is_around_all()) {
      return std::nullopt;
    }
    for (const Instruction& each : kernel_.instructions) {
      if (!add(each)) {
        return std::nullopt;
      }
    }
    const bool is_shared_and_serial =
        std::any_of(serial_.begin(), serial_.end(),
                    [&](const std::string& each) { return shared_.count(each) != 0; });
    if (problem_.nests.size() < 2 || is_shared_and_serial || !read_held_bytes()) {
      return std::nullopt;
    }
    read_fetchable();
    read_accesses();
    return std::move(problem_);
  }

 private:
  [[nodiscard]] bool is_around_all() const {
    return std::all_of(kernel_.instructions.begin(), kernel_.instructions.end(),
                       [&](const Instruction& each) {
                         return std::includes(each.within_inames.begin(), each.within_inames.end(),
                                              rows_.begin(), rows_.end());
                       });
  }

  [[nodiscard]] SlicedLoop loop(const std::string& iname) const {
    return sliced_loop(kernel_, parameters_, iname);
  }
  [[nodiscard]] double length(const std::string& iname) const {
    return static_cast<double>(loop(iname).length);
  }

  /// The loop along which a statement writes elements that are nearest to each other, otherwise the
  /// longest one.
  [[nodiscard]] std::string spread_of(const NameSet& own, const Instruction& statement) const {
    for (const Expr& target : targets_of(statement)) {
      const Access* element = get_if<Access>(target);
      for (std::size_t axis = element != nullptr ? element->indices.size() : 0; axis-- > 0;) {
        const auto index = to_affine(element->indices[axis]);
        for (const std::string& each : own) {
          if (index && index->coefficient(each) == 1) {
            return each;
          }
        }
      }
    }
    return longest(own);
  }
  [[nodiscard]] std::string longest(const NameSet& inames) const {
    std::string result;
    for (const std::string& each : inames) {
      result = result.empty() || length(each) > length(result) ? each : result;
    }
    return result;
  }

  bool add(const Instruction& statement) {
    if (!is<Assignment>(statement)) {
      return false;
    }
    NameSet own = statement.within_inames;
    std::erase_if(own, [&](const auto& each) { return rows_.count(each) != 0; });
    const NameSet sums = reduction_inames(statement);
    NameSet all = own;
    all.insert(sums.begin(), sums.end());
    const auto is_unknown = [&](const std::string& each) {
      return has_computed_bounds(kernel_, each) ||
             tag_of(kernel_, each).kind != AxisKind::sequential;
    };
    if (all.empty() || std::any_of(all.begin(), all.end(), is_unknown)) {
      return false;
    }
    const bool is_sum = own.empty();
    const std::optional<std::size_t> place = nest_with(own, is_sum, is_sum ? sums : own, statement);
    if (!place) {
      return false;
    }
    HeldNest& nest = problem_.nests[*place];
    statements_.push_back(*place);
    std::copy_if(all.begin(), all.end(), std::inserter(serial_, serial_.end()),
                 [&](const std::string& each) {
                   return each != nest.spread.iname && each != nest.across.iname;
                 });
    for_each_expression(statement,
                        [&](const Expr& expr) { nest.operations += operations_of(expr, nest); });
    return true;
  }

  /// The nest with these loops, a new one if there is none; nothing if others share some of them.
  /// @param candidates  loops that threads may share
  std::optional<std::size_t> nest_with(const NameSet& own, bool is_sum, const NameSet& candidates,
                                       const Instruction& statement) {
    for (std::size_t i = 0; i < problem_.nests.size(); ++i) {
      if (candidates.count(problem_.nests[i].spread.iname) != 0) {
        const bool is_same = loops_[i] == own && problem_.nests[i].is_sum == is_sum;
        return is_same ? std::optional(i) : std::nullopt;
      }
    }
    HeldNest nest;
    nest.is_sum = is_sum;
    nest.spread = loop(spread_of(candidates, statement));
    NameSet rest = own;
    rest.erase(nest.spread.iname);
    if (!rest.empty()) {
      nest.across = loop(spread_of(rest, statement));
      rest.erase(nest.across.iname);
    }
    for (const std::string& each : rest) {
      nest.others *= length(each);
    }
    const bool are_free = shared_.insert(nest.spread.iname).second &&
                          (nest.across.iname.empty() || shared_.insert(nest.across.iname).second);
    if (!are_free) {
      return std::nullopt;
    }
    loops_.push_back(own);
    problem_.nests.push_back(std::move(nest));
    return problem_.nests.size() - 1;
  }

  /// In simple operations; what the nest has computed before takes none.
  [[nodiscard]] double operations_of(const Expr& expr, HeldNest& nest) {
    const bool is_leaf = is<Name>(expr) || is<Integer>(expr) || is<Real>(expr);
    if (!is_leaf && !seen_parts_[nest.spread.iname].insert(to_string(expr)).second) {
      return 0;
    }
    const Reduction* sum = get_if<Reduction>(expr);
    double count = is<Call>(expr) ? steps_of_call : 0.5;
    for_each_child(expr, [&](const Expr& child) { count += operations_of(child, nest); });
    if (sum == nullptr) {
      return count;
    }
    nest.sums += 1;
    for (const std::string& each : sum->inames) {
      count *= each == nest.spread.iname ? 1 : length(each);
    }
    return count;
  }

  bool read_held_bytes() {
    for (const std::string& each : problem_.arrays) {
      const Temporary* temporary = find_temporary(kernel_, each);
      const Argument* argument = find_argument(kernel_, each);
      const std::vector<Expr>& shape = temporary != nullptr ? temporary->shape : argument->shape;
      const auto type = temporary != nullptr ? temporary->type : argument->type;
      double bytes = type ? static_cast<double>(size_bytes(*type)) : 4;
      for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        const auto elements = evaluate_integer(shape[axis], parameters_);
        if (!elements) {
          return false;
        }
        bytes *= is_row_axis(each, axis) ? 1 : static_cast<double>(*elements);
      }
      problem_.held_bytes += bytes;
    }
    return true;
  }
  [[nodiscard]] bool is_row_axis(const std::string& array, std::size_t axis) const {
    for (const ArrayAccess& access : accesses_of(kernel_)) {
      if (access.array == array && !access.is_linear && axis < access.indices.size()) {
        const NameSet names = free_names(access.indices[axis]);
        return std::any_of(names.begin(), names.end(),
                           [&](const auto& each) { return rows_.count(each) != 0; });
      }
    }
    return false;
  }

  [[nodiscard]] bool is_held(const std::string& array) const {
    return std::find(problem_.arrays.begin(), problem_.arrays.end(), array) !=
           problem_.arrays.end();
  }

  /// Arrays of constant size that all rows read in one way.
  void read_fetchable() {
    for (const Argument& each : kernel_.arguments) {
      if (!each.is_array || each.shape.empty() || is_overwritten(kernel_, each.name) ||
          problem_.fetchable.size() == most_fetched) {
        continue;
      }
      const std::vector<AccessGroup> groups = access_groups(kernel_, each.name);
      if (groups.size() != 1 || !groups[0].is_affine || !groups[0].gathered.empty() ||
          groups[0].inames.size() < 2 ||
          std::any_of(groups[0].inames.begin(), groups[0].inames.end(),
                      [&](const auto& iname) { return rows_.count(iname) != 0; })) {
        continue;
      }
      HeldOperand operand{each.name, static_cast<double>(size_bytes(*each.type))};
      for (const Expr& axis : each.shape) {
        operand.bytes *= static_cast<double>(evaluate_integer(axis, {}).value_or(1 << 20));
      }
      const auto last = evaluate_integer(each.shape.back(), {});
      operand.has_even_rows = last && *last % 2 == 0;
      operand.inames.assign(groups[0].inames.begin(), groups[0].inames.end());
      if (operand.bytes <= most_fetched_bytes) {
        problem_.fetchable.push_back(std::move(operand));
      }
    }
  }

  void read_accesses() {
    std::map<std::string, double> bytes_of;
    std::set<std::string> seen;
    for (std::size_t i = 0; i < kernel_.instructions.size(); ++i) {
      HeldNest& nest = problem_.nests[statements_[i]];
      for (const ArrayAccess& access : accesses_of(kernel_, kernel_.instructions[i])) {
        const bool is_new =
            seen.insert(nest.spread.iname + (access.is_write ? "=" : " ") + access.array +
                        to_string(loopy::access(access.array, access.indices)))
                .second;
        if (access.indices.empty() || !is_new) {
          continue;  // compilers load once
        }
        nest.accesses.push_back(held_access(access, nest));
        if (!is_held(access.array)) {
          bytes_of[access.array + (access.is_write ? "=" : "")] +=
              elements_of(access) * nest.accesses.back().element_bytes;
        }
      }
    }
    for (const auto& [array, bytes] : bytes_of) {
      problem_.compulsory_bytes += std::min(bytes, size_of(array.substr(0, array.find('='))));
    }
  }

  /// Different ones, about.
  [[nodiscard]] double elements_of(const ArrayAccess& access) const {
    NameSet mentioned;
    for (const Expr& index : access.indices) {
      mentioned.merge(free_names(index));
    }
    double elements = 1;
    for (const std::string& each : mentioned) {
      elements *= access.inames.count(each) != 0 ? length(each) : 1;
    }
    return elements;
  }
  [[nodiscard]] double size_of(const std::string& array) const {
    const Argument* argument = find_argument(kernel_, array);
    double bytes = 1e30;
    if (argument != nullptr && argument->is_array) {
      bytes = static_cast<double>(size_bytes(*argument->type));
      for (const Expr& each : argument->shape) {
        bytes *= static_cast<double>(evaluate_integer(each, parameters_).value_or(1 << 20));
      }
    }
    return bytes;
  }

  [[nodiscard]] HeldAccess held_access(const ArrayAccess& access, const HeldNest& nest) const {
    HeldAccess result;
    const Argument* argument = find_argument(kernel_, access.array);
    const Temporary* temporary = find_temporary(kernel_, access.array);
    const auto type = argument != nullptr ? argument->type : temporary->type;
    const std::vector<Expr>& shape = argument != nullptr ? argument->shape : temporary->shape;
    result.element_bytes = type ? static_cast<double>(size_bytes(*type)) : 4;
    result.is_held = is_held(access.array);
    for (std::size_t i = 0; i < problem_.fetchable.size(); ++i) {
      result.fetchable = problem_.fetchable[i].array == access.array ? i : result.fetchable;
    }
    for (const std::string& each : access.inames) {
      const bool is_parallel =
          rows_.count(each) != 0 || each == nest.spread.iname || each == nest.across.iname;
      result.times *= is_parallel ? 1 : length(each);
    }
    result.times /= nest.others;
    std::int64_t stride = 1;
    for (std::size_t axis = access.indices.size(); axis-- > 0;) {
      const auto affine = to_affine(access.indices[axis]);
      const std::int64_t elements =
          axis < shape.size()
              ? evaluate_integer(shape[axis], parameters_).value_or(distance_of_lookups)
              : distance_of_lookups;
      const NameSet names = free_names(access.indices[axis]);
      const bool is_near_row = std::any_of(
          names.begin(), names.end(), [&](const auto& each) { return rows_.count(each) != 0; });
      for (const std::string& each : names) {
        const bool is_row = rows_.count(each) != 0;
        // places that are looked up: anywhere along a long axis, but near those of the same row
        const std::int64_t distance = elements <= distance_of_lookups ? 1
                                      : is_near_row && !is_row        ? 0
                                                                      : distance_of_lookups;
        const std::int64_t step = (affine ? affine->coefficient(each) : distance) * stride;
        if (is_row) {
          result.row_stride += step;
          result.is_of_row = true;
        } else if (each == nest.spread.iname || each == nest.across.iname) {
          result.strides[each == nest.spread.iname ? 0 : 1] += step;
        } else if (axis + 1 == access.indices.size()) {
          result.is_run = result.is_run || step == 1;
        }
      }
      stride *= elements;
    }
    return result;
  }

  const Kernel kernel_;
  const IntegerValues& parameters_;
  NameSet rows_{};
  NameSet shared_{};                       ///< loops that threads share
  NameSet serial_{};                       ///< all others of nests
  std::vector<NameSet> loops_{};           ///< of each nest, around its statements
  std::vector<std::size_t> statements_{};  ///< the nest of each
  std::map<std::string, std::set<std::string>> seen_parts_{};  ///< by the loop of a nest
  HeldProblem problem_{};
};

std::int64_t blocks_of(const HeldProblem& problem, const HeldChoice& choice) {
  std::int64_t blocks = 1;
  for (std::size_t i = 0; i < problem.rows.size(); ++i) {
    blocks *= ceil_divide(problem.rows[i].length, i == 0 ? choice.rows_of_block() : 1);
  }
  return blocks;
}

std::int64_t shared_bytes_of(const HeldProblem& problem, const HeldChoice& choice) {
  double bytes = problem.held_bytes * static_cast<double>(choice.rows * choice.items);
  for (std::size_t i = 0; i < problem.fetchable.size(); ++i) {
    bytes += choice.fetches(i) ? 1.1 * problem.fetchable[i].bytes : 0;
  }
  for (const HeldNest& each : problem.nests) {
    bytes += each.is_sum ? 8.0 * static_cast<double>(choice.rows * choice.items *
                                                     std::max<std::int64_t>(1, choice.threads / 32))
                         : 0;
  }
  return static_cast<std::int64_t>(bytes);
}

/// The loops of an iname along which threads share.
InameSlicing shared_loop(const SlicedLoop& loop, std::int64_t threads, int axis,
                         std::int64_t results) {
  InameSlicing sliced{loop.iname};
  if (loop.length > threads * results) {
    sliced.factors.push_back({});
  }
  sliced.factors.push_back({sliced.factors.empty() ? 0 : threads, {AxisKind::block, axis}});
  if (results > 1) {
    sliced.factors.push_back({results, {AxisKind::ilp, 0}});
  }
  return sliced;
}

Slicing held_slicing(const HeldProblem& problem, const HeldChoice& choice) {
  Slicing slicing;
  int axis = choice.threads > 1 ? 1 : 0;
  const int across_axis = axis;
  axis += choice.across > 1 ? 1 : 0;
  for (std::size_t i = 0; i < problem.rows.size(); ++i) {
    slicing.inames.push_back({problem.rows[i].iname, {{0, {AxisKind::grid, static_cast<int>(i)}}}});
  }
  std::vector<SlicingFactor>& row = slicing.inames.front().factors;
  if (choice.steps > 1) {
    row.push_back({choice.steps, {}});
  }
  if (choice.rows > 1) {
    row.push_back({choice.rows, {AxisKind::block, axis}});
  }
  if (choice.items > 1) {
    row.push_back({choice.items, {AxisKind::ilp, 0}});
  }
  std::map<std::string, std::size_t> parts;
  for (const HeldNest& nest : problem.nests) {
    const auto cut = [&](const SlicedLoop& loop, std::int64_t threads, int of_axis,
                         std::int64_t results) {
      if (threads > 1 && !loop.iname.empty()) {
        slicing.inames.push_back(shared_loop(loop, threads, of_axis, results));
        parts[loop.iname] = slicing.inames.back().factors.size();
      }
    };
    cut(nest.spread, choice.threads, 0, nest.results(choice));
    cut(nest.across, choice.across, across_axis, 1);
  }
  for (std::size_t i = 0; i < problem.fetchable.size(); ++i) {
    if (!choice.fetches(i)) {
      continue;
    }
    FetchPlan fetch{problem.fetchable[i].array};
    fetch.padding = problem.fetchable[i].has_even_rows ? 1 : 0;
    for (const std::string& iname : problem.fetchable[i].inames) {
      const std::size_t count = parts.count(iname) != 0 ? parts[iname] : 1;
      for (std::size_t part = 0; part < count; ++part) {
        fetch.swept.push_back(count == 1 ? iname : iname + "_" + std::to_string(part));
      }
    }
    slicing.fetches.push_back(std::move(fetch));
  }
  slicing.shared_values = problem.arrays;
  return slicing;
}

class HeldCost {
 public:
  HeldCost(const HeldProblem& problem, const MachineModel& machine)
      : problem_(problem), machine_(machine) {}

  [[nodiscard]] double registers(const HeldChoice& choice) const {
    double values = 0;
    for (const HeldNest& each : problem_.nests) {
      values = std::max(values, (each.sums + 2) * static_cast<double>(each.results(choice)));
    }
    return registers_of_held_thread + values * static_cast<double>(choice.items);
  }

  [[nodiscard]] double seconds(const HeldChoice& choice) const {
    const double threads = static_cast<double>(choice.all_threads());
    const double warps = std::ceil(threads / machine_.warp_lanes);
    const double blocks = static_cast<double>(blocks_of(problem_, choice));
    const double resident =
        gpu::resident_blocks(machine_, threads, registers(choice),
                             static_cast<double>(shared_bytes_of(problem_, choice)));
    const double items = static_cast<double>(choice.items);
    double instructions = 0;  // of a block's warps
    double lines = 0;         // that its loads and stores find one after the other
    double waits = 0;         // clocks from the first to the last statement
    for (const HeldNest& nest : problem_.nests) {
      const double steps = steps_of(nest, choice);
      const double results = static_cast<double>(nest.results(choice));
      instructions += warps * steps * results * items * nest.operations;
      double loads = 0;
      for (const HeldAccess& each : nest.accesses) {
        const double times = each.times * steps * (each.is_of_row || each.is_held ? items : 1) *
                             (each.strides[0] != 0 ? results : 1) * share_of_loads(each, choice);
        loads += times;
        lines += warps * times * lines_of(each, choice);
      }
      instructions += warps * loads;
      waits += clocks_of_held_barrier + gpu::clocks_of_load * std::ceil(steps / 2) +
               2 * nest.operations * steps * results * items +
               (nest.is_sum ? 12 * std::log2(static_cast<double>(choice.threads)) * items : 0);
    }
    const double block_steps = static_cast<double>(choice.steps);
    instructions *= block_steps;
    lines *= block_steps;
    waits *= block_steps;
    double copied = 0;
    for (std::size_t i = 0; i < problem_.fetchable.size(); ++i) {
      copied += choice.fetches(i) ? problem_.fetchable[i].bytes : 0;
    }
    lines += 2 * copied / gpu::line_bytes;
    instructions += 4 * copied / 4 / machine_.warp_lanes;
    waits += copied > 0 ? gpu::clocks_of_load + copied / 4 / threads * 10 : 0;
    const double rounds = std::ceil(blocks / machine_.multiprocessors / resident);
    const double of_core = blocks / machine_.multiprocessors;
    const double idle = std::max(1.0, warps_at_work_of_held / (resident * warps));
    const double core_clocks = idle * of_core * std::max(instructions / gpu::schedulers, lines);
    const double wait_clocks = rounds * (waits + clocks_of_held_block);
    const double memory = problem_.compulsory_bytes / machine_.memory_bytes_per_second;
    const double cache = blocks * copied / gpu::cache_bytes_per_second;
    const double core = core_clocks / machine_.clock_hz;
    const double wait = wait_clocks / machine_.clock_hz;
    const double longest = std::max({memory, cache, core, wait});
    return longest + 0.25 * (memory + cache + core + wait - longest) + gpu::launch_seconds;
  }

 private:
  [[nodiscard]] static double steps_of(const HeldNest& nest, const HeldChoice& choice) {
    const auto share = [](const SlicedLoop& loop, std::int64_t threads) {
      return loop.iname.empty() ? 1.0 : static_cast<double>(ceil_divide(loop.length, threads));
    };
    return share(nest.spread, choice.threads * nest.results(choice)) *
           share(nest.across, choice.across) * nest.others;
  }

  [[nodiscard]] static bool is_in_shared_memory(const HeldAccess& access,
                                                const HeldChoice& choice) {
    return access.is_held || (access.fetchable != nowhere && choice.fetches(access.fetchable));
  }
  /// Compilers load neighbours in shared memory at once.
  [[nodiscard]] static double share_of_loads(const HeldAccess& access, const HeldChoice& choice) {
    return is_in_shared_memory(access, choice) && access.is_run ? 0.4 : 1;
  }

  /// Lines of 128 bytes that the lanes of a warp touch at once.
  [[nodiscard]] double lines_of(const HeldAccess& access, const HeldChoice& choice) const {
    if (is_in_shared_memory(access, choice)) {
      return 1;
    }
    const double along =
        static_cast<double>(std::min<std::int64_t>(choice.threads, machine_.warp_lanes));
    const double across =
        std::min(static_cast<double>(choice.across), std::floor(machine_.warp_lanes / along));
    const double rows = std::min(static_cast<double>(choice.rows),
                                 std::floor(machine_.warp_lanes / along / across));
    const auto spans = [&](double lanes, std::int64_t stride) {
      const double bytes = static_cast<double>(std::abs(stride)) * access.element_bytes;
      return std::clamp(lanes * bytes / gpu::line_bytes, stride == 0 ? 0.0 : 1.0 / 32, lanes);
    };
    return std::max(1.0, std::max(1.0, spans(along, access.strides[0])) *
                             std::max(1.0, spans(across, access.strides[1])) *
                             std::max(1.0, spans(rows, access.row_stride)));
  }

  const HeldProblem& problem_;
  const MachineModel& machine_;
};

class HeldEnumerator {
 public:
  HeldEnumerator(const Kernel& kernel, const HeldProblem& problem,
                 const SlicingConstraints& constraints)
      : kernel_(kernel),
        problem_(problem),
        constraints_(constraints),
        cost_(problem, constraints.machine) {}

  std::vector<HeldChoice> run() {
    const bool has_second =
        std::all_of(problem_.nests.begin(), problem_.nests.end(),
                    [](const auto& each) { return !each.across.iname.empty(); });
    const bool has_sums =
        std::any_of(problem_.nests.begin(), problem_.nests.end(),
                    [](const auto& each) { return each.sums > 0 && !each.is_sum; });
    std::vector<HeldChoice> all = {HeldChoice{}};
    const auto vary = [&](std::int64_t HeldChoice::*decision, const auto& values) {
      std::vector<HeldChoice> more;
      for (HeldChoice each : all) {
        for (const std::int64_t value : values) {
          each.*decision = value;
          more.push_back(each);
        }
      }
      all = std::move(more);
    };
    using Values = std::vector<std::int64_t>;
    Values subsets(std::size_t{1} << problem_.fetchable.size());
    std::iota(subsets.begin(), subsets.end(), 0);
    vary(&HeldChoice::threads, widths_of(&HeldNest::spread));
    vary(&HeldChoice::across,
         has_second ? widths_of(&HeldNest::across) : std::set<std::int64_t>{1});
    vary(&HeldChoice::rows, Values{1, 2, 4, 8, 16, 32, 64, 128});
    vary(&HeldChoice::results, has_sums ? Values{1, 2, 4} : Values{1});
    vary(&HeldChoice::items, Values{1, 2, 4});
    vary(&HeldChoice::fetched, subsets);
    vary(&HeldChoice::steps, subsets.size() > 1 ? Values{1, 4, 16} : Values{1});
    std::erase_if(all, [&](const HeldChoice& each) { return !is_within_bounds(each); });
    std::map<PossibleKinds::Kind, Slicing> kinds;
    for (const HeldChoice& each : all) {
      for (const Question& question : questions_about(each)) {
        if (kinds.count(question.kind) == 0) {
          kinds.emplace(question.kind, held_slicing(problem_, question.choice));
        }
      }
    }
    PossibleKinds possible(kernel_);
    possible.ask(kinds);
    std::erase_if(all, [&](const HeldChoice& each) {
      const std::vector<Question> questions = questions_about(each);
      return std::any_of(questions.begin(), questions.end(), [&](const Question& question) {
        return !possible.has(question.kind,
                             [&] { return held_slicing(problem_, question.choice); });
      });
    });
    return all;
  }

 private:
  /// Numbers of threads: powers of two, and the lengths of the loops.
  [[nodiscard]] std::set<std::int64_t> widths_of(SlicedLoop HeldNest::*loop) const {
    std::set<std::int64_t> widths;
    std::int64_t longest = 1;
    for (const HeldNest& each : problem_.nests) {
      longest = std::max(longest, (each.*loop).length);
      for (const std::int64_t share : {1, 2}) {
        const std::int64_t width = ceil_divide((each.*loop).length, share);
        if (width <= constraints_.max_threads) {
          widths.insert(width);
        }
      }
    }
    for (std::int64_t width = 1; width < 2 * longest && width <= constraints_.max_threads;
         width *= 2) {
      widths.insert(width);
    }
    return widths;
  }

  [[nodiscard]] bool is_within_bounds(const HeldChoice& choice) const {
    const std::int64_t tile = choice.rows_of_block();
    // steps share copies, and results of a thread the lengths that threads share
    if ((choice.steps > 1 && choice.fetched == 0) || (choice.results > 1 && choice.threads == 1)) {
      return false;
    }
    std::int64_t crowded = 0;
    for (std::size_t i = 1; i < problem_.rows.size(); ++i) {
      crowded += problem_.rows[i].length > most_blocks_across ? 1 : 0;
    }
    const double registers = cost_.registers(choice);
    return choice.all_threads() >= constraints_.min_threads &&
           choice.all_threads() <= constraints_.max_threads && crowded == 0 &&
           (tile <= 1 || tile < 2 * problem_.rows[0].length) &&
           choice.items * choice.results <= constraints_.max_items_per_thread &&
           blocks_of(problem_, choice) >= constraints_.min_blocks &&
           shared_bytes_of(problem_, choice) <=
               std::min(constraints_.max_shared_bytes, constraints_.machine.shared_bytes) &&
           registers <= static_cast<double>(constraints_.max_registers) &&
           registers * static_cast<double>(choice.all_threads()) <=
               constraints_.machine.registers_per_multiprocessor;
  }

  /// What decides about choices of a kind, and one of them.
  struct Question {
    PossibleKinds::Kind kind{};
    HeldChoice choice{};
  };
  /// The transformations and the generator are asked about each array that is fetched, and about
  /// the rest without them.
  [[nodiscard]] std::vector<Question> questions_about(HeldChoice choice) const {
    std::vector<Question> result;
    const std::int64_t fetched = choice.fetched;
    for (std::int64_t bit = 1; bit <= fetched; bit *= 2) {
      choice.fetched = fetched & bit;
      if (choice.fetched != 0) {
        result.push_back({{choice.fetched}, choice});
      }
    }
    choice.fetched = 0;
    PossibleKinds::Kind kind = {0,
                                choice.threads > 1 ? 1 : 0,
                                choice.across > 1 ? 1 : 0,
                                choice.rows > 1 ? 1 : 0,
                                choice.steps > 1 ? 1 : 0,
                                choice.results > 1 ? 1 : 0,
                                choice.items > 1 ? 1 : 0};
    for (const HeldNest& each : problem_.nests) {
      kind.push_back(each.spread.length <= choice.threads * each.results(choice) ? 1 : 0);
      kind.push_back(each.across.length <= choice.across ? 1 : 0);
    }
    result.push_back({std::move(kind), choice});
    return result;
  }

  const Kernel& kernel_;
  const HeldProblem& problem_;
  const SlicingConstraints& constraints_;
  HeldCost cost_;
};

struct HeldFamily {
  using Problem = HeldProblem;
  using Choice = HeldChoice;
  using Cost = HeldCost;
  using Enumerator = HeldEnumerator;

  static SlicedChoice sliced(const Problem& problem, const Choice& choice, const MachineModel&) {
    return {held_slicing(problem, choice), choice.all_threads(), blocks_of(problem, choice),
            shared_bytes_of(problem, choice)};
  }
};

class HeldSource final : public ListedSource<HeldFamily> {
 public:
  using ListedSource::ListedSource;

  /// The first ones of each way to copy and to have several results: other families' times are
  /// estimated by other models.
  [[nodiscard]] std::vector<std::size_t> seed_shapes() const override {
    constexpr std::size_t most_seeds = 8;
    std::vector<std::size_t> result;
    std::set<std::array<std::int64_t, 3>> seen;
    for (std::size_t i = 0; i < count() && result.size() < most_seeds; ++i) {
      const HeldChoice& each = choice(i);
      if (seen.insert({each.fetched, each.results, each.items}).second) {
        result.push_back(i);
      }
    }
    return result;
  }
};

}  // namespace

SourcePtr held_slicings(const Kernel& kernel, const SlicingConstraints& constraints) {
  if (constraints.machine.is_cpu) {
    return nullptr;
  }
  SourcePtr result;
  for (HeldKernel& each : find_held_kernels(kernel)) {
    SourcePtr listed = listed_slicings<HeldFamily, HeldSource>(
        each.kernel, HeldReader(each, constraints.parameters).read(), constraints);
    result = merged(std::move(result),
                    with_words(std::move(each.words),
                               hinted(each.kernel, constraints, "held arrays", std::move(listed))));
  }
  return result;
}

}  // namespace rtcg::loopy::detail
