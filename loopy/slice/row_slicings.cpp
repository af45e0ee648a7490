// Rows: chains of nests over one row, which the threads of a block or of a part of it share.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "rtcg/cgen/support/error.h"
#include "rtcg/cgen/support/gpu_limits.h"
#include "rtcg/cgen/support/integer.h"
#include "rtcg/loopy/analyze/access.h"
#include "rtcg/loopy/analyze/flat_indices.h"
#include "rtcg/loopy/analyze/infer_types.h"
#include "rtcg/loopy/analyze/type_of.h"
#include "rtcg/loopy/recipe/apply_recipe.h"
#include "rtcg/loopy/slice/gpu_figures.h"
#include "rtcg/loopy/slice/legal_slicing.h"
#include "rtcg/loopy/slice/listed_source.h"
#include "rtcg/loopy/slice/loop_cuts.h"
#include "rtcg/loopy/slice/online_kernel.h"
#include "rtcg/loopy/slice/slicing_fusion.h"
#include "rtcg/loopy/slice/slicing_problem.h"
#include "rtcg/loopy/symbolic/traverse.h"
#include "rtcg/loopy/transform/expand_subst.h"
#include "rtcg/loopy/transform/keep_row.h"
#include "rtcg/loopy/transform/why_not.h"

namespace rtcg::loopy::detail {
namespace {

constexpr std::size_t most_kept = 2;             // arrays whose rows may be kept
constexpr std::int64_t most_kept_elements = 64;  // of a thread, in registers

enum class Keep : std::uint8_t { nowhere, registers, shared };

struct RowChoice {
  std::int64_t threads = 32;  ///< of a row
  std::int64_t rows = 1;      ///< of a block
  std::int64_t items = 1;     ///< neighbours that a thread takes at once
  /// Steps of each thread, where several blocks share a row and each nest is a launch; 0: a block
  /// has whole rows.
  std::int64_t shared_steps = 0;
  std::array<Keep, most_kept> keeps{};
  static constexpr auto lengths = std::tuple(&RowChoice::threads, &RowChoice::rows,
                                             &RowChoice::items, &RowChoice::shared_steps);
  static constexpr auto answers = std::tuple(&RowChoice::keeps);
  friend auto operator<=>(const RowChoice&, const RowChoice&) = default;

  [[nodiscard]] bool keeps_any(Keep where) const {
    return std::find(keeps.begin(), keeps.end(), where) != keeps.end();
  }
};

/// A loop over the row that the threads share.
struct RowNest {
  SlicedLoop loop{};
  bool is_sum = false;
  bool has_inner_sums = false;  ///< which run in each thread
  bool is_ragged = false;       ///< whether its end depends on the row
  double operations = 0;        ///< of one iteration
  double results = 1;           ///< whose sums the threads share, one after the other
};

/// Reads of one array in one nest.
struct RowAccess {
  std::string array{};
  double element_bytes = 4;
  bool is_write = false;
  bool mentions_rows = false;
  bool is_along = false;  ///< whether threads next to each other touch neighbours
  bool moves = false;     ///< whether iterations of the nest touch different elements
  double times = 1;       ///< of one iteration of the nest
  double shares = 1;      ///< neighbours along the nest that touch the same element
  double run = 1;         ///< neighbours that a thread touches one after the other
  std::size_t nest = nowhere;
  std::size_t kept = nowhere;  ///< place of the array among those that may be kept
};

struct RowProblem {
  std::vector<SlicedLoop> rows{};  ///< the fastest varying first
  std::vector<RowNest> nests{};
  std::vector<RowAccess> accesses{};
  std::vector<std::string> keepable{};
  /// Temporaries that one nest sets and another one reads: in global memory where these are
  /// launches.
  std::vector<std::string> values{};
  double other_rows = 1;  ///< iterations of loops over rows that are not on the grid
  /// Slicing::online: the rest is about the kernel after this.
  std::vector<std::vector<std::string>> online{};

  [[nodiscard]] std::int64_t longest() const {
    std::int64_t length = 1;
    for (const RowNest& each : nests) {
      length = std::max(length, each.loop.length);
    }
    return length;
  }
};

/// Of an index `p // 8`: 8.
std::optional<std::int64_t> steps_of_quotient(const Expr& index) {
  const FloorDiv* quotient = get_if<FloorDiv>(index);
  return quotient != nullptr ? as_integer(quotient->denominator) : std::nullopt;
}

class RowReader {
 public:
  RowReader(const Kernel& kernel, const IntegerValues& parameters)
      : kernel_(infer_types(expand_subst(kernel))), parameters_(parameters) {}

  /// Nothing where the kernel is no chain over a row.
  std::optional<RowProblem> read() {
    const bool has_results =
        std::any_of(kernel_.instructions.begin(), kernel_.instructions.end(),
                    [&](const auto& each) { return has_argument(written_variables(each)); });
    if (!has_results) {
      return std::nullopt;
    }
    problem_.rows = result_loops(kernel_, parameters_);
    for (const SlicedLoop& each : problem_.rows) {
      row_inames_.insert(each.iname);
    }
    for (const Instruction& each : kernel_.instructions) {
      if (!read_statement(each)) {
        return std::nullopt;
      }
    }
    const bool is_one_sum = problem_.nests.size() == 1 && problem_.nests[0].is_sum &&
                            (problem_.rows.size() == 1 || combines_several_);
    if (problem_.nests.size() < 2 && !is_one_sum) {
      return std::nullopt;
    }
    read_values();
    for (std::size_t i = 3; i < problem_.rows.size(); ++i) {
      problem_.other_rows *= static_cast<double>(problem_.rows[i].length);
    }
    problem_.rows.resize(std::min<std::size_t>(problem_.rows.size(), 3));
    read_accesses();
    return std::move(problem_);
  }

 private:
  [[nodiscard]] bool has_argument(const NameSet& names) const {
    return std::any_of(names.begin(), names.end(), [&](const std::string& each) {
      return find_argument(kernel_, each) != nullptr;
    });
  }

  void read_values() {
    for (const Temporary& each : kernel_.temporaries) {
      std::optional<NameSet> common;  // loops of one nest
      std::size_t users = 0;
      for (const Instruction& instruction : kernel_.instructions) {
        if (touches(kernel_, instruction, each.name)) {
          ++users;
          common = common.value_or(instruction.within_inames);
          std::erase_if(*common, [&](const std::string& iname) {
            return row_inames_.count(iname) != 0 || instruction.within_inames.count(iname) == 0;
          });
        }
      }
      if (users > 1 && common->empty() && each.initial_values.empty()) {
        problem_.values.push_back(each.name);
      }
    }
  }

  bool read_statement(const Instruction& instruction) {
    const Assignment* assignment = get_if<Assignment>(instruction);
    if (assignment == nullptr) {
      return false;
    }
    NameSet own = instruction.within_inames;
    std::erase_if(own, [&](const auto& each) { return row_inames_.count(each) != 0; });
    const NameSet sums = reduction_inames(instruction);
    const auto is_computed = [&](const std::string& each) {
      return has_computed_bounds(kernel_, each);
    };
    if (std::any_of(own.begin(), own.end(), is_computed) ||
        std::any_of(sums.begin(), sums.end(), is_computed)) {
      return false;
    }
    if (!own.empty()) {
      const std::string spread = spread_iname(own, assignment->targets.front());
      NameSet all = sums;
      all.insert(own.begin(), own.end());
      const double operations = operations_of(assignment->value, spread);
      // the threads share a long sum of each of a few results
      if (const std::string sum = longest(sums); has_one_sum(assignment->value) &&
                                                 length_of(spread) < warp_size &&
                                                 length_of(sum) >= 4 * length_of(spread)) {
        const double results = steps_of(own, "");
        return add_nest(sum, all, results * operations_of(assignment->value, sum), true, false,
                        results);
      }
      return add_nest(spread, all, steps_of(own, spread) * operations, false, !sums.empty());
    }
    bool is_row = true;
    walk(assignment->value, [&](const Expr& part) {
      const Reduction* sum = get_if<Reduction>(part);
      if (sum == nullptr) {
        return true;
      }
      const NameSet outer(sum->inames.begin(), sum->inames.end());
      const NameSet all = reduction_inames(part);
      const std::string spread = longest(outer);
      double operations = operations_of(part, spread);
      if (const SubstitutionRule* rule = find_rule(kernel_, sum->operation)) {
        operations += steps_of(outer, spread) * operations_of(rule->body, spread);
        combines_several_ = true;
      }
      is_row = is_row && add_nest(spread, all, operations, true, all.size() > outer.size());
      return false;  // what is within runs in each thread
    });
    return is_row;
  }

  [[nodiscard]] static bool has_one_sum(const Expr& value) {
    std::size_t sums = 0;
    walk(value, [&](const Expr& part) {
      sums += is<Reduction>(part) ? 1 : 0;
      return true;
    });
    return sums == 1;
  }
  [[nodiscard]] std::int64_t length_of(const std::string& iname) const {
    return sliced_loop(kernel_, parameters_, iname).length;
  }
  /// Iterations of each thread where others share `spread`.
  template <class Inames>
  [[nodiscard]] double steps_of(const Inames& inames, const std::string& spread) const {
    double steps = 1;
    for (const std::string& each : inames) {
      steps *= each == spread ? 1 : static_cast<double>(length_of(each));
    }
    return steps;
  }
  /// What it costs to compute an expression once, in simple operations: its sums step by step, but
  /// for the steps along `spread`.
  [[nodiscard]] double operations_of(const Expr& expr, const std::string& spread) const {
    double count = is<Call>(expr) ? 8 : 0.5;
    for_each_child(expr, [&](const Expr& child) { count += operations_of(child, spread); });
    const Reduction* sum = get_if<Reduction>(expr);
    return sum != nullptr ? steps_of(sum->inames, spread) * count : count;
  }

  [[nodiscard]] std::string longest(const NameSet& inames) const {
    std::string result;
    std::int64_t most = 0;
    for (const std::string& each : inames) {
      const std::int64_t length = length_of(each);
      if (length > most) {
        most = length;
        result = each;
      }
    }
    return result;
  }

  /// The one along which the statement writes neighbours, otherwise the longest.
  [[nodiscard]] std::string spread_iname(const NameSet& own, const Expr& target) const {
    if (const Access* element = get_if<Access>(target)) {
      const auto last = to_affine(element->indices.back());
      for (const std::string& each : own) {
        if (last && last->coefficient(each) == 1) {
          return each;
        }
      }
    }
    return longest(own);
  }

  /// @param all         inames of the nest that are no rows
  /// @param operations  of one iteration of the nest
  /// @param results     whose sums the threads share
  bool add_nest(const std::string& spread, const NameSet& all, double operations, bool is_sum,
                bool has_inner_sums, double results = 1) {
    NameSet parents = with_parent_inames(kernel_, {spread});
    parents.erase(spread);
    if (std::any_of(parents.begin(), parents.end(),
                    [&](const auto& each) { return row_inames_.count(each) == 0; }) ||
        tag_of(kernel_, spread).kind != AxisKind::sequential || serial_.count(spread) != 0) {
      return false;
    }
    for (const std::string& each : all) {
      if (each != spread) {
        if (place_of(each) != nowhere) {
          return false;  // is shared by threads in another nest
        }
        serial_.insert(each);
      }
    }
    if (place_of(spread) == nowhere) {
      problem_.nests.push_back({sliced_loop(kernel_, parameters_, spread), is_sum});
      problem_.nests.back().is_ragged = is_ragged(spread);
    }
    RowNest& nest = problem_.nests[place_of(spread)];
    nest.operations += operations;
    nest.results = std::max(nest.results, results);
    nest.is_sum = nest.is_sum || is_sum;
    nest.has_inner_sums = nest.has_inner_sums || has_inner_sums;
    return true;
  }
  /// Whether the bounds of the loop depend on the row, as those of a triangle do.
  [[nodiscard]] bool is_ragged(const std::string& iname) const {
    const Domain* home = find_home_domain(kernel_, iname);
    const auto mentions_row = [&](const Constraint& each) {
      return each.expr.coefficient(iname) != 0 &&
             std::any_of(row_inames_.begin(), row_inames_.end(),
                         [&](const auto& row) { return each.expr.coefficient(row) != 0; });
    };
    return home != nullptr && std::any_of(home->constraints.constraints().begin(),
                                          home->constraints.constraints().end(), mentions_row);
  }
  [[nodiscard]] std::size_t place_of(const std::string& iname) const {
    for (std::size_t i = 0; i < problem_.nests.size(); ++i) {
      if (problem_.nests[i].loop.iname == iname) {
        return i;
      }
    }
    return nowhere;
  }

  /// Whether a copy of the row may read what the access reads under conditions: they are of data,
  /// so that a row has all elements, not the part that indices tell.
  [[nodiscard]] bool is_kept_whole(const ArrayAccess& access) const {
    const auto is_of_data = [](const Expr& condition) {
      bool has_access = false;
      walk(condition, [&](const Expr& part) {
        has_access = has_access || is<Access>(part);
        return !has_access;
      });
      return has_access;
    };
    return access.conditions.empty() ||
           (!access.is_write &&
            std::all_of(access.conditions.begin(), access.conditions.end(), is_of_data) &&
            may_keep_without_conditions(kernel_, access));
  }

  void read_accesses() {
    const std::vector<ArrayAccess> all = accesses_of(kernel_);
    std::map<std::string, std::set<std::string>> nests_of;
    std::map<std::string, std::vector<Affine>> pattern_of;
    NameSet refused;
    for (const ArrayAccess& access : all) {
      const Argument* argument = find_argument(kernel_, access.array);
      if (argument == nullptr || !argument->is_array) {
        continue;
      }
      add_access(access, size_bytes(*argument->type));
      if (access.is_linear || !is_kept_whole(access)) {
        refused.insert(access.array);
        continue;
      }
      std::vector<Affine> others;
      std::string along;
      bool is_row = true;
      for (const Expr& index : flat_indices(kernel_, access.array, access.indices).indices) {
        const auto affine = to_affine(index);
        is_row = is_row && affine;
        others.push_back(affine.value_or(Affine()));
        for (const RowNest& nest : problem_.nests) {
          if (const auto step = others.back().coefficient(nest.loop.iname); step != 0) {
            is_row = is_row && along.empty() && step == 1;
            along = nest.loop.iname;
            others.back() = others.back() - Affine(nest.loop.iname);
          }
        }
        is_row = is_row && std::none_of(serial_.begin(), serial_.end(), [&](const auto& each) {
                   return others.back().coefficient(each) != 0;
                 });
      }
      // see keep_row(): the last of its statements may update what it reads
      if (access.is_write && (along.empty() || pattern_of.count(access.array) == 0)) {
        refused.insert(access.array);
        continue;
      }
      if (!along.empty()) {
        const auto known = pattern_of.emplace(access.array, others).first;
        if (!is_row || known->second != others) {
          refused.insert(access.array);
        }
        nests_of[access.array].insert(along);
      }
    }
    for (const auto& [array, nests] : nests_of) {
      if (nests.size() >= 2 && refused.count(array) == 0 && problem_.keepable.size() < most_kept) {
        for (RowAccess& each : problem_.accesses) {
          each.kept =
              each.array == array && each.nest != nowhere ? problem_.keepable.size() : each.kept;
        }
        problem_.keepable.push_back(array);
      }
    }
  }

  void add_access(const ArrayAccess& access, double bytes) {
    RowAccess result{access.array, bytes, access.is_write};
    const std::vector<Expr> indices = flat_indices(kernel_, access.array, access.indices).indices;
    for (std::size_t axis = 0; axis < indices.size(); ++axis) {
      const auto affine = to_affine(indices[axis]);
      for (const std::string& each : free_names(indices[axis])) {
        result.mentions_rows = result.mentions_rows || row_inames_.count(each) != 0;
        const std::size_t nest = place_of(each);
        result.nest = nest != nowhere ? nest : result.nest;
        result.moves = result.moves || nest != nowhere || serial_.count(each) != 0 ||
                       !is_iname(kernel_, each) || !affine;
        result.is_along = result.is_along || (nest != nowhere && axis + 1 == indices.size() &&
                                              affine && affine->coefficient(each) == 1);
        if (serial_.count(each) != 0 && axis + 1 == indices.size() && affine &&
            affine->coefficient(each) == 1) {
          result.run = std::max(result.run, static_cast<double>(length_of(each)));
        }
        // neighbours share what a quotient of theirs chooses
        if (const auto shared = steps_of_quotient(indices[axis]); nest != nowhere && shared) {
          result.is_along = true;
          result.shares = std::max(result.shares, static_cast<double>(*shared));
        }
      }
    }
    for (const std::string& each : access.inames) {
      const std::size_t nest = place_of(each);
      result.nest = nest != nowhere ? nest : result.nest;
    }
    if (result.nest != nowhere) {
      NameSet serial = access.inames;
      std::erase_if(serial, [&](const std::string& each) { return row_inames_.count(each) != 0; });
      result.times = steps_of(serial, problem_.nests[result.nest].loop.iname) / result.shares;
    }
    problem_.accesses.push_back(std::move(result));
  }

  Kernel kernel_;
  const IntegerValues& parameters_;
  NameSet row_inames_{};
  NameSet serial_{};
  RowProblem problem_{};
  bool combines_several_ = false;  ///< whether reductions combine tuples
};

/// Blocks that share a row.
[[nodiscard]] std::int64_t sharing_blocks(const RowProblem& problem, const RowChoice& choice) {
  return choice.shared_steps == 0
             ? 1
             : ceil_divide(problem.longest(), choice.threads * choice.shared_steps);
}

[[nodiscard]] std::int64_t blocks_of(const RowProblem& problem, const RowChoice& choice) {
  std::int64_t blocks = sharing_blocks(problem, choice);
  for (std::size_t i = 0; i < problem.rows.size(); ++i) {
    blocks *= ceil_divide(problem.rows[i].length, i == 0 ? choice.rows : 1);
  }
  return blocks;
}

/// Iterations of each thread along the longest nest, in steps of its items.
[[nodiscard]] std::int64_t trips_of(const RowProblem& problem, const RowChoice& choice) {
  return choice.shared_steps != 0 ? choice.shared_steps
                                  : ceil_divide(problem.longest(), choice.threads * choice.items);
}

[[nodiscard]] bool divides_all(const RowProblem& problem, std::int64_t tile) {
  return std::all_of(problem.nests.begin(), problem.nests.end(), [&](const RowNest& each) {
    return each.loop.is_constant && each.loop.length % tile == 0;
  });
}

[[nodiscard]] Slicing row_slicing(const RowProblem& problem, const RowChoice& choice) {
  Slicing slicing;
  slicing.online = problem.online;
  // the axis that may have many blocks is for the row loop with the most
  std::vector<std::size_t> order;
  std::vector<std::int64_t> lengths;
  for (std::size_t i = 0; i < problem.rows.size(); ++i) {
    order.push_back(i);
    lengths.push_back(ceil_divide(problem.rows[i].length, i == 0 ? choice.rows : 1));
  }
  if (std::any_of(lengths.begin(), lengths.end(),
                  [](std::int64_t each) { return each > most_blocks_across; })) {
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return lengths[a] > lengths[b]; });
  }
  for (std::size_t i = 0; i < problem.rows.size(); ++i) {
    const auto axis = std::find(order.begin(), order.end(), i) - order.begin();
    slicing.inames.push_back(
        {problem.rows[i].iname, {{0, {AxisKind::grid, static_cast<int>(axis)}}}});
  }
  if (choice.rows > 1) {
    // a thread that has a row for itself is next to those of other rows
    slicing.inames.front().factors.push_back(
        {choice.rows, {AxisKind::block, choice.threads > 1 ? 1 : 0}});
  }
  if (choice.threads == 1) {
    return slicing;
  }
  const bool has_registers = choice.keeps_any(Keep::registers);
  const bool is_whole = divides_all(problem, choice.threads * choice.items);
  for (const RowNest& nest : problem.nests) {
    InameTag steps{};
    if (has_registers) {
      steps = {is_whole ? AxisKind::unroll_hint : AxisKind::unroll, 0};
    }
    slicing.inames.push_back(
        {nest.loop.iname, {{0, steps}, {choice.threads, {AxisKind::block, 0}}}});
    if (choice.shared_steps != 0) {
      std::vector<SlicingFactor>& factors = slicing.inames.back().factors;
      factors.front().axis = {AxisKind::grid, static_cast<int>(problem.rows.size())};
      if (choice.shared_steps > 1) {
        factors.insert(factors.begin() + 1, {choice.shared_steps, {}});
      }
    }
    if (choice.items > 1) {
      slicing.inames.back().factors.push_back(
          {choice.items, {nest.is_sum ? AxisKind::unroll : AxisKind::vec, 0}});
    }
  }
  if (choice.shared_steps != 0) {
    slicing.global_values = problem.values;
  }
  for (std::size_t i = 0; i < problem.keepable.size(); ++i) {
    if (choice.keeps[i] != Keep::nowhere) {
      slicing.keeps.push_back(
          {problem.keepable[i], choice.keeps[i] == Keep::shared,
           choice.keeps[i] == Keep::registers && choice.items > 1 ? choice.items : 0});
    }
  }
  return slicing;
}

// What a row costs on a GPU. The rates that MachineModel lacks are estimates.
constexpr double cache_bytes = 40e6;  // of the second level
constexpr double registers_of_thread = 32;
constexpr double seconds_of_launch = 2.5e-6;
constexpr double share_of_triangle = 0.5;  // of the elements of its box

class RowCost {
 public:
  RowCost(const RowProblem& problem, const MachineModel& machine)
      : problem_(problem), machine_(machine) {}

  [[nodiscard]] double registers(const RowChoice& choice) const {
    double count = registers_of_thread + 2 * static_cast<double>(choice.items);
    for (const Keep each : choice.keeps) {
      count += each == Keep::registers
                   ? static_cast<double>(trips_of(problem_, choice) * choice.items)
                   : 0;
    }
    return count;
  }

  [[nodiscard]] std::int64_t shared_bytes(const RowChoice& choice) const {
    double bytes = 0;
    for (const RowNest& nest : problem_.nests) {
      bytes += nest.is_sum
                   ? 8.0 * static_cast<double>(
                               choice.rows * std::max<std::int64_t>(1, choice.threads / warp_size))
                   : 0;
    }
    for (std::size_t i = 0; i < problem_.keepable.size(); ++i) {
      bytes += choice.keeps[i] == Keep::shared
                   ? element_bytes(i) * static_cast<double>(problem_.longest() * choice.rows)
                   : 0;
    }
    return static_cast<std::int64_t>(bytes);
  }

  [[nodiscard]] double seconds(const RowChoice& choice) const {
    return machine_.is_cpu ? cpu_seconds(choice) : gpu_seconds(choice);
  }

 private:
  [[nodiscard]] double element_bytes(std::size_t kept) const {
    for (const RowAccess& each : problem_.accesses) {
      if (each.kept == kept) {
        return each.element_bytes;
      }
    }
    return 4;
  }

  [[nodiscard]] double row_count() const {
    double rows = problem_.other_rows;
    for (const SlicedLoop& each : problem_.rows) {
      rows *= static_cast<double>(each.length);
    }
    return rows;
  }

  [[nodiscard]] double gpu_seconds(const RowChoice& choice) const {
    const double multiprocessors = machine_.multiprocessors;
    const double rows = row_count();
    const double threads = static_cast<double>(choice.threads * choice.rows);
    const double blocks = static_cast<double>(blocks_of(problem_, choice)) * problem_.other_rows;
    const double resident = gpu::resident_blocks(machine_, threads, registers(choice),
                                                 static_cast<double>(shared_bytes(choice)));
    const double running = std::min(blocks, multiprocessors * resident);
    double memory_bytes = 0;
    double again_bytes = 0;
    double core_bytes = 0;    // from the first level, which has what all rows read
    double instructions = 0;  // of warps
    double sync_clocks = 0;
    double wait_clocks = 0;
    const double held = running * static_cast<double>(choice.rows);
    std::set<std::string> seen;
    for (std::size_t n = 0; n < problem_.nests.size(); ++n) {
      const RowNest& nest = problem_.nests[n];
      const double share = nest.is_ragged ? share_of_triangle : 1;
      const double trips = std::ceil(share * static_cast<double>(nest.loop.length) /
                                     static_cast<double>(choice.threads * choice.items));
      const double block_trips =
          choice.shared_steps != 0 ? static_cast<double>(choice.shared_steps) : trips;
      // idle lanes of the last step take as long as the others
      const double steps = rows * trips * static_cast<double>(choice.threads * choice.items);
      instructions += steps * nest.operations / machine_.warp_lanes;
      for (const RowAccess& each : problem_.accesses) {
        if (each.nest != n || !each.moves) {
          continue;  // one element of a row stays in a register
        }
        const Keep keep = each.kept == nowhere ? Keep::nowhere : choice.keeps[each.kept];
        const bool is_again = !seen.insert(each.array + (each.is_write ? "=" : "")).second;
        const double wide =
            keep == Keep::registers || each.is_write ? static_cast<double>(choice.items) : 1;
        instructions += keep == Keep::registers && is_again
                            ? 0
                            : steps * each.times / wide / machine_.warp_lanes;
        if (keep != Keep::nowhere && is_again) {
          continue;
        }
        // what a thread leaves of a sector it takes in its next steps
        const double apart = each.is_along && choice.threads > 1
                                 ? 1
                                 : std::min(8.0, gpu::sector_bytes / each.element_bytes);
        // what is kept is read beyond the end of its row, too
        const double bytes = std::max(1.0, apart / each.run) * each.element_bytes *
                             (keep == Keep::nowhere ? share : 1) *
                             static_cast<double>(nest.loop.length) * rows * each.times;
        core_bytes += each.run > 1 ? apart * each.element_bytes * steps * each.times : 0;
        const bool is_in_cache =
            !each.mentions_rows ||
            (is_again && (choice.shared_steps != 0 ? rows * each.times : held) *
                                 static_cast<double>(nest.loop.length) * each.element_bytes <
                             cache_bytes);
        const bool is_in_core = !each.mentions_rows && each.times == 1;
        (is_in_core ? core_bytes : is_in_cache ? again_bytes : memory_bytes) += bytes;
      }
      if (nest.is_sum) {
        sync_clocks += nest.results *
                       (12 * std::log2(std::min<double>(32, static_cast<double>(choice.threads))) +
                        (choice.threads > warp_size ? 120 : 0));
      }
      // loads of a thread that wait for memory together: all of a row that is kept, else a few
      const double together = choice.keeps_any(Keep::registers) && n == 0 ? block_trips : 4;
      wait_clocks += nest.results * std::ceil(block_trips / together) * gpu::clocks_of_load;
    }
    const double waves = std::ceil(blocks / (multiprocessors * resident));
    const double in_flight =
        running / multiprocessors * threads * 4 * static_cast<double>(choice.items) *
        (choice.keeps_any(Keep::registers)
             ? std::min<double>(8, static_cast<double>(trips_of(problem_, choice)))
             : 4);
    const double busy = std::min(1.0, blocks / multiprocessors);
    const double memory_seconds = memory_bytes / machine_.memory_bytes_per_second /
                                  std::clamp(in_flight / gpu::bytes_in_flight, 0.02, 1.0) / busy;
    const double cache_seconds = again_bytes / gpu::cache_bytes_per_second / busy;
    const double core_seconds =
        std::max(instructions / 4, core_bytes / machine_.cache_bytes_per_clock) / multiprocessors /
        machine_.clock_hz / busy;
    const double wait_seconds = waves * (sync_clocks + wait_clocks) / machine_.clock_hz;
    const double longest = std::max({memory_seconds + cache_seconds, core_seconds, wait_seconds});
    return longest +
           0.1 * (memory_seconds + cache_seconds + core_seconds + wait_seconds - longest) +
           waves * sync_clocks / machine_.clock_hz + 2e-6 +
           seconds_of_launch * static_cast<double>(launches(choice) - 1);
  }

  /// Where blocks share rows each nest is a launch, and another one adds up the parts of each sum.
  [[nodiscard]] std::int64_t launches(const RowChoice& choice) const {
    std::int64_t count = choice.shared_steps == 0 ? 1 : 0;
    for (const RowNest& each : problem_.nests) {
      count += choice.shared_steps == 0 ? 0 : each.is_sum ? 2 : 1;
    }
    return count;
  }

  /// Threads are the lanes of a core's vectors.
  [[nodiscard]] double cpu_seconds(const RowChoice& choice) const {
    constexpr double lanes = 16;
    constexpr double clocks_of_meeting = 60;
    double clocks = 0;  // of a row
    for (std::size_t n = 0; n < problem_.nests.size(); ++n) {
      const RowNest& nest = problem_.nests[n];
      double accesses = 0;
      for (const RowAccess& each : problem_.accesses) {
        accesses += each.nest == n ? each.times * (each.is_along ? 1 : lanes / 2) : 0;
      }
      const double steps = static_cast<double>(round_up(nest.loop.length, choice.threads));
      clocks += steps * (nest.operations + accesses) / lanes *
                    std::max(1.0, lanes / static_cast<double>(choice.threads)) +
                (nest.is_sum ? clocks_of_meeting * nest.results : 0);
    }
    const double rounds = std::ceil(row_count() / std::max(1, machine_.multiprocessors));
    return rounds * clocks / machine_.clock_hz + 2e-6;
  }

  const RowProblem& problem_;
  const MachineModel& machine_;
};

class RowEnumerator {
 public:
  RowEnumerator(const Kernel& kernel, const RowProblem& problem,
                const SlicingConstraints& constraints)
      : kernel_(kernel),
        problem_(problem),
        constraints_(constraints),
        cost_(problem, constraints.machine) {}

  std::vector<RowChoice> run() {
    const bool is_cpu = constraints_.machine.is_cpu;
    if (!is_possible({first_threads()})) {
      return {};
    }
    const std::int64_t row_count = problem_.rows.empty() ? 1 : problem_.rows[0].length;
    const bool can_have_rows = !is_cpu && row_count > 1 && is_possible({first_threads(), 2});
    for (std::int64_t rows = 32; can_have_rows && rows <= most_threads_of_block; rows *= 2) {
      add({1, rows});
    }
    for (std::int64_t threads = 4; threads <= most_threads_of_block; threads *= 2) {
      if (threads >= 2 * problem_.longest() && threads > 4) {
        break;
      }
      for (std::int64_t rows = 1; rows <= 64 && rows < 2 * row_count; rows *= 2) {
        if (rows == 1 || (can_have_rows && threads <= 256)) {
          add_copies({threads, rows});
        }
      }
    }
    add_shared();
    return std::move(choices_);
  }

 private:
  /// Several blocks a row, where there are too few rows for the device.
  void add_shared() {
    const bool are_few =
        blocks_of(problem_, {first_threads()}) < 4 * constraints_.machine.multiprocessors &&
        problem_.rows.size() < 3 && problem_.other_rows == 1;
    const bool are_constant = problem_.values.empty() ||
                              std::all_of(problem_.rows.begin(), problem_.rows.end(),
                                          [](const SlicedLoop& each) { return each.is_constant; });
    const bool is_ragged = std::any_of(problem_.nests.begin(), problem_.nests.end(),
                                       [](const RowNest& each) { return each.is_ragged; });
    if (constraints_.machine.is_cpu || problem_.nests.size() < 2 || !are_few || !are_constant ||
        is_ragged) {
      return;
    }
    for (std::int64_t threads = 64; threads <= 512; threads *= 2) {
      RowChoice choice{threads};
      for (choice.shared_steps = 1; choice.shared_steps <= 256; choice.shared_steps *= 2) {
        const std::int64_t sharing = sharing_blocks(problem_, choice);
        if (sharing < 2 || sharing > most_blocks_across) {
          continue;
        }
        if (!can_share_) {
          can_share_ = is_possible(choice);
        }
        if (*can_share_) {
          add(choice);
        }
      }
    }
  }

  [[nodiscard]] std::int64_t first_threads() const {
    std::int64_t threads = 4;
    while (threads < 32 && threads < problem_.longest()) {
      threads *= 2;
    }
    return threads;
  }

  /// Asks the transformations and the generator.
  [[nodiscard]] bool is_possible(const RowChoice& choice) const {
    return !why_not_sliced(kernel_, row_slicing(problem_, choice));
  }
  /// Once for each kind of copy.
  [[nodiscard]] bool can_keep(RowChoice choice) {
    choice.rows = 1;
    return possible_.has(
        {choice.items, divides_all(problem_, choice.threads * choice.items),
         static_cast<std::int64_t>(choice.keeps[0]), static_cast<std::int64_t>(choice.keeps[1])},
        [&] { return row_slicing(problem_, choice); });
  }

  void add_copies(RowChoice choice) {
    add(choice);
    if (constraints_.machine.is_cpu || problem_.keepable.empty()) {
      return;
    }
    const std::size_t kinds = problem_.keepable.size() == 1 ? 3 : 9;
    for (std::size_t kind = 1; kind < kinds; ++kind) {
      choice.keeps = {static_cast<Keep>(kind % 3), static_cast<Keep>(kind / 3)};
      for (choice.items = 1; choice.items <= 4; choice.items *= 2) {
        const std::int64_t elements = trips_of(problem_, choice) * choice.items;
        const bool has_registers = choice.keeps_any(Keep::registers);
        const bool has_room =
            !has_registers || (elements <= most_kept_elements && all_are_constant());
        const bool is_vector =
            choice.items == 1 || (has_registers && !choice.keeps_any(Keep::shared) &&
                                  divides_all(problem_, choice.threads * choice.items) &&
                                  static_cast<double>(choice.items) * widest_element() <= 16);
        if (has_room && is_vector && can_keep(choice)) {
          add(choice);
        }
      }
      choice.items = 1;
    }
  }
  [[nodiscard]] bool all_are_constant() const {
    return std::all_of(problem_.nests.begin(), problem_.nests.end(),
                       [](const RowNest& each) { return each.loop.is_constant; });
  }
  [[nodiscard]] double widest_element() const {
    double bytes = 1;
    for (const RowAccess& each : problem_.accesses) {
      bytes = std::max(bytes, each.element_bytes);
    }
    return bytes;
  }

  void add(const RowChoice& choice) {
    const bool is_cpu = constraints_.machine.is_cpu;
    const std::int64_t threads = choice.threads * choice.rows;
    const std::int64_t least =
        is_cpu ? std::min<std::int64_t>(8, constraints_.min_threads) : constraints_.min_threads;
    // of one sum over a row TileSource has what a block alone does
    const bool is_known = problem_.nests.size() == 1 && problem_.online.empty() &&
                          (choice.threads == 1 || (choice.rows == 1 && choice.threads >= 32));
    std::int64_t crowded = 0;
    for (std::size_t i = 0; i < problem_.rows.size(); ++i) {
      crowded += ceil_divide(problem_.rows[i].length, i == 0 ? choice.rows : 1) > most_blocks_across
                     ? 1
                     : 0;
    }
    if (!is_known && threads >= least && threads <= constraints_.max_threads &&
        (!is_cpu || choice.threads <= 64) && crowded <= 1 &&
        blocks_of(problem_, choice) >= constraints_.min_blocks &&
        cost_.shared_bytes(choice) <=
            std::min(constraints_.max_shared_bytes, constraints_.machine.shared_bytes) &&
        cost_.registers(choice) <= static_cast<double>(constraints_.max_registers) &&
        cost_.registers(choice) * static_cast<double>(threads) <=
            constraints_.machine.registers_per_multiprocessor) {
      choices_.push_back(choice);
    }
  }

  const Kernel& kernel_;
  const RowProblem& problem_;
  const SlicingConstraints& constraints_;
  RowCost cost_;
  std::vector<RowChoice> choices_{};
  PossibleKinds possible_{kernel_};
  std::optional<bool> can_share_{};
};

struct RowFamily {
  using Problem = RowProblem;
  using Choice = RowChoice;
  using Cost = RowCost;
  using Enumerator = RowEnumerator;

  static SlicedChoice sliced(const Problem& problem, const Choice& choice,
                             const MachineModel& machine) {
    return {row_slicing(problem, choice), choice.threads * choice.rows, blocks_of(problem, choice),
            Cost(problem, machine).shared_bytes(choice)};
  }
};

/// @param shown   the kernel that the problem is read from: with one pass over `online`
RowSlicings row_slicings_of(const Kernel& kernel, const Kernel& shown,
                            const std::vector<std::vector<std::string>>& online,
                            const SlicingConstraints& constraints) {
  std::optional<RowProblem> problem = RowReader(shown, constraints.parameters).read();
  if (!problem) {
    return {};
  }
  problem->online = online;
  const bool is_chain = problem->nests.size() > 1 &&
                        std::all_of(problem->nests.begin(), problem->nests.end(),
                                    [](const RowNest& each) { return !each.has_inner_sums; });
  SourcePtr source = listed_slicings<RowFamily>(kernel, std::move(problem), constraints);
  const bool replaces_tiles = source != nullptr && is_chain;
  return {std::move(source), replaces_tiles};
}

RowSlicings plain_row_slicings(const Kernel& kernel, const SlicingConstraints& constraints) {
  RowSlicings rows = row_slicings_of(kernel, kernel, {}, constraints);
  if (const auto online = find_online_kernel(kernel)) {
    const RowSlicings one_pass =
        row_slicings_of(kernel, online->kernel, online->inames, constraints);
    rows.source = merged(std::move(rows.source), one_pass.source);
  }
  return rows;
}

/// The loops of each nest over a row of several axes, in the order of the axes: one flat loop each.
/// Empty where nests have one loop, or go through their arrays in another order.
class RowFusions {
 public:
  RowFusions(const Kernel& kernel, const IntegerValues& parameters)
      : kernel_(infer_types(expand_subst(kernel))), parameters_(parameters) {}

  std::vector<InameFusion> find() {
    for (const SlicedLoop& each : result_loops(kernel_, parameters_)) {
      rows_.insert(each.iname);
    }
    for (const Instruction& each : kernel_.instructions) {
      NameSet own = each.within_inames;
      std::erase_if(own, [&](const auto& iname) { return rows_.count(iname) != 0; });
      add(own);
      for_each_expression(each, [&](const Expr& expr) {
        walk(expr, [&](const Expr& part) {
          if (const Reduction* sum = get_if<Reduction>(part)) {
            add({sum->inames.begin(), sum->inames.end()});
          }
          return true;
        });
      });
    }
    return is_possible_ ? fusions_ : std::vector<InameFusion>();
  }

 private:
  void add(const NameSet& own) {
    if (own.size() < 2 || !known_.insert(own).second) {
      return;
    }
    const bool is_new = std::none_of(own.begin(), own.end(),
                                     [&](const auto& each) { return used_.count(each) != 0; });
    const std::vector<FusedIname> parts = in_order(own);
    is_possible_ = is_possible_ && is_new && !parts.empty();
    used_.insert(own.begin(), own.end());
    fusions_.push_back({fused_name(parts), parts});
  }

  /// Like those of an array's neighbouring axes that the loops go through as a whole.
  [[nodiscard]] std::vector<FusedIname> in_order(const NameSet& own) const {
    for (const ArrayAccess& access : accesses_of(kernel_)) {
      const Argument* argument = find_argument(kernel_, access.array);
      if (argument == nullptr || access.is_linear || access.indices.size() < own.size()) {
        continue;
      }
      std::vector<FusedIname> parts;
      const std::size_t first = access.indices.size() - own.size();
      for (std::size_t axis = first; axis < access.indices.size(); ++axis) {
        const Name* iname = get_if<Name>(access.indices[axis]);
        const auto length = as_integer(argument->shape[axis]);
        if (iname == nullptr || own.count(iname->name) == 0 ||
            sliced_loop(kernel_, parameters_, iname->name).begin != 0 ||
            sliced_loop(kernel_, parameters_, iname->name).length != length) {
          break;
        }
        parts.push_back({iname->name});
      }
      if (parts.size() == own.size()) {
        return parts;
      }
    }
    return {};
  }

  const Kernel kernel_;
  const IntegerValues& parameters_;
  NameSet rows_{};
  NameSet used_{};
  std::set<NameSet> known_{};
  std::vector<InameFusion> fusions_{};
  bool is_possible_ = true;
};

}  // namespace

RowSlicings row_slicings(const Kernel& kernel, const SlicingConstraints& constraints) {
  RowSlicings rows = plain_row_slicings(kernel, constraints);
  // hints name inames, which flat loops unite
  if (!rows.replace_tiles || constraints.machine.is_cpu || !constraints.inames.empty()) {
    return rows;
  }
  const std::vector<InameFusion> fusions = RowFusions(kernel, constraints.parameters).find();
  const std::vector<RecipeStep> steps = fusion_steps(fusions);
  if (fusions.empty() || why_not([&] { return apply_recipe(expand_subst(kernel), steps); })) {
    return rows;
  }
  const RowSlicings flat =
      plain_row_slicings(apply_recipe(expand_subst(kernel), steps), constraints);
  if (flat.source != nullptr) {
    rows.source = merged(std::move(rows.source), with_fusions(flat.source, fusions));
  }
  return rows;
}

}  // namespace rtcg::loopy::detail
