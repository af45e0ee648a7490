// Values of rules that a block computes once, in shared memory, for all of its results.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "rtcg/cgen/support/gpu_limits.h"
#include "rtcg/cgen/support/integer.h"
#include "rtcg/loopy/analyze/infer_types.h"
#include "rtcg/loopy/analyze/type_of.h"
#include "rtcg/loopy/kernel/expand_rules.h"
#include "rtcg/loopy/slice/count_work.h"
#include "rtcg/loopy/slice/gpu_figures.h"
#include "rtcg/loopy/slice/legal_slicing.h"
#include "rtcg/loopy/slice/listed_source.h"
#include "rtcg/loopy/slice/rule_uses.h"
#include "rtcg/loopy/slice/slicing_problem.h"
#include "rtcg/loopy/symbolic/traverse.h"
#include "rtcg/loopy/transform/expand_subst.h"

namespace rtcg::loopy::detail {
namespace {

constexpr std::size_t most_loops = 4;             // of results
constexpr std::int64_t longest_whole = 64;        // loop that a block has all of
constexpr std::int64_t most_value_items = 32;     // of a thread
constexpr double registers_of_value_thread = 32;  // apart from its results
constexpr double clocks_of_value_barrier = 40;
constexpr double clocks_of_value_block = 1000;  // its start, first loads and results
constexpr double warps_at_work = 24;            // that keep a multiprocessor busy
constexpr double elements_of_sector = 8;        // of 4 bytes

struct ValueChoice {
  /// Of each loop of the results, the fastest varying first: threads, and items of each.
  std::array<std::uint16_t, most_loops> threads{1, 1, 1, 1};
  std::array<std::uint16_t, most_loops> items{1, 1, 1, 1};
  std::uint16_t set = 0;  ///< of rules, a place in ValueProblem::sets
  static constexpr auto lengths = std::tuple(&ValueChoice::threads, &ValueChoice::items);
  static constexpr auto answers = std::tuple(&ValueChoice::set);
  friend auto operator<=>(const ValueChoice&, const ValueChoice&) = default;
};

struct ValueLoop {
  SlicedLoop loop{};
  bool is_whole = false;   ///< whether a block has all of it
  bool has_to_be = false;  ///< because several arguments reach values along it
  bool is_single = false;  ///< whether a block has one of it: values depend on it without arguments
};

/// What one argument of a rule reaches, over all of its uses.
struct ValueAxis {
  std::array<std::int64_t, most_loops> coefficients{};
  std::int64_t others = 1;  ///< values that distances and other loops add
};

struct KeptValue {
  std::string rule{};
  double element_bytes = 4;
  std::vector<ValueAxis> axes{};
  Expr body = 0;  ///< calls those that are kept, no other rules
};

/// Rules that are kept together, and the statements that use them.
struct ValueSet {
  std::vector<KeptValue> values{};
  std::vector<Expr> statements{};
};

struct ValueProblem {
  std::vector<ValueLoop> loops{};
  std::vector<ValueSet> sets{};
  std::map<std::string, double> lengths{};  ///< of all inames
  double compulsory_bytes = 0;
};

/// Whether a rule computes a sum, itself or by others.
bool has_sum(const Kernel& kernel, const std::string& rule) {
  return !reduction_inames(expand_rules(kernel, find_rule(kernel, rule)->body)).empty();
}

/// Whether a rule reads more than one element, itself or by others.
bool reads_several(const Kernel& kernel, const std::string& rule) {
  std::size_t reads = 0;
  walk(expand_rules(kernel, find_rule(kernel, rule)->body), [&](const Expr& part) {
    reads += is<Access>(part) ? 1 : 0;
    return reads < 2;
  });
  return reads > 1;
}

class ValueReader {
 public:
  ValueReader(const Kernel& kernel, const IntegerValues& parameters)
      : kernel_(kernel), expanded_(infer_types(expand_subst(kernel))), parameters_(parameters) {}

  /// Nothing where no rule's values are worth keeping.
  std::optional<ValueProblem> read() {
    const std::vector<std::string> candidates = read_candidates();
    const bool are_plain =
        std::all_of(kernel_.instructions.begin(), kernel_.instructions.end(),
                    [](const Instruction& each) { return is<Assignment>(each); });
    if (candidates.empty() || !are_plain) {
      return std::nullopt;
    }
    const std::vector<SlicedLoop> results = result_loops(expanded_, parameters_);
    if (results.empty() || results.size() > most_loops || !are_around_all(results)) {
      return std::nullopt;
    }
    for (const SlicedLoop& each : results) {
      problem_.loops.push_back({each});
    }
    PointCounter counter(expanded_, parameters_);
    for (const std::string& iname : all_inames(expanded_)) {
      problem_.lengths[iname] = counter.length(iname);
    }
    for (const std::string& each : candidates) {
      if (!read_axes(each)) {
        return std::nullopt;
      }
    }
    find_whole_loops(candidates);
    if (std::any_of(problem_.loops.begin(), problem_.loops.end(),
                    [](const ValueLoop& each) { return each.has_to_be && !each.is_whole; })) {
      return std::nullopt;
    }
    const auto grid_loops = std::count_if(problem_.loops.begin(), problem_.loops.end(),
                                          [](const ValueLoop& each) { return !each.is_whole; });
    if (grid_loops > 3) {
      return std::nullopt;
    }
    problem_.compulsory_bytes = count_work(expanded_, parameters_, "").compulsory_bytes;
    add_sets(candidates);
    return std::move(problem_);
  }

 private:
  [[nodiscard]] bool are_around_all(const std::vector<SlicedLoop>& results) const {
    return std::all_of(
        expanded_.instructions.begin(), expanded_.instructions.end(),
        [&](const Instruction& each) { return each.within_inames.size() == results.size(); });
  }

  /// Rules with sums, or that read several elements, of which several places use different values,
  /// or each step of another sum.
  [[nodiscard]] std::vector<std::string> read_candidates() const {
    std::vector<std::string> result;
    for (const SubstitutionRule& rule : kernel_.rules) {
      if (rule.parameters.empty() ||
          !(has_sum(kernel_, rule.name) || reads_several(kernel_, rule.name))) {
        continue;
      }
      const std::vector<RuleUse> uses = uses_of(kernel_, rule.name);
      NameSet mentioned;
      bool are_different = false;
      for (const RuleUse& use : uses) {
        are_different = are_different || use.arguments != uses.front().arguments;
        for (const Expr& argument : use.arguments) {
          mentioned.merge(free_names(argument));
        }
      }
      const bool is_in_sum =
          std::any_of(mentioned.begin(), mentioned.end(), [&](const std::string& each) {
            return is_iname(kernel_, each) &&
                   std::none_of(kernel_.instructions.begin(), kernel_.instructions.end(),
                                [&](const Instruction& statement) {
                                  return statement.within_inames.count(each) != 0;
                                });
          });
      if (are_different || is_in_sum) {
        result.push_back(rule.name);
      }
    }
    return result;
  }

  /// Short loops are whole, but for those that bodies of rules mention.
  void find_whole_loops(const std::vector<std::string>& rules) {
    NameSet mentioned;
    for (const std::string& each : rules) {
      const SubstitutionRule& rule = *find_rule(kernel_, each);
      NameSet names = free_names(expand_rules(kernel_, rule.body));
      for (const std::string& parameter : rule.parameters) {
        names.erase(parameter);
      }
      mentioned.merge(names);
    }
    for (ValueLoop& each : problem_.loops) {
      each.is_single = mentioned.count(each.loop.iname) != 0;
      each.is_whole = !each.is_single && whole_length(each.loop.iname).has_value();
    }
  }

  /// Which values the uses of a rule ask for: along each argument the same combination of loops,
  /// or several loops of which a block has all.
  bool read_axes(const std::string& rule) {
    const std::vector<RuleUse> uses = uses_of(kernel_, rule);
    std::vector<ValueAxis>& axes = axes_[rule];
    axes.resize(find_rule(kernel_, rule)->parameters.size());
    for (std::size_t axis = 0; axis < axes.size(); ++axis) {
      std::vector<Affine> places;
      for (const RuleUse& use : uses) {
        const auto place = to_affine(use.arguments[axis]);
        if (!place) {
          return false;
        }
        places.push_back(*place);
      }
      const bool are_alike = std::all_of(places.begin(), places.end(), [&](const Affine& each) {
        const Affine distance = each - places.front();
        const Affine::Terms terms = distance.terms();
        return std::all_of(terms.begin(), terms.end(),
                           [&](const Affine::Term& term) { return loop_of(term.name) == nowhere; });
      });
      if (!(are_alike ? read_tile(places, axes[axis]) : read_whole(places, axes[axis]))) {
        return false;
      }
    }
    return true;
  }
  bool read_tile(const std::vector<Affine>& places, ValueAxis& axis) {
    for (const Affine::Term& term : places.front().terms()) {
      if (const std::size_t loop = loop_of(term.name); loop != nowhere) {
        axis.coefficients[loop] = std::abs(term.coefficient);
      }
    }
    std::optional<std::pair<std::int64_t, std::int64_t>> all;
    for (const Affine& each : places) {
      std::int64_t first = each.constant();
      std::int64_t last = first;
      for (const Affine::Term& term : each.terms()) {
        if (loop_of(term.name) != nowhere) {
          continue;
        }
        const auto length = whole_length(term.name);
        if (!length) {
          return false;
        }
        const std::int64_t begin = sliced_loop(expanded_, parameters_, term.name).begin;
        const std::int64_t ends[] = {term.coefficient * begin,
                                     term.coefficient * (begin + *length - 1)};
        first += std::min(ends[0], ends[1]);
        last += std::max(ends[0], ends[1]);
      }
      all = all ? std::pair(std::min(all->first, first), std::max(all->second, last))
                : std::pair(first, last);
    }
    axis.others = 1 + all->second - all->first;
    return true;
  }
  bool read_whole(const std::vector<Affine>& places, ValueAxis& axis) {
    for (const Affine& each : places) {
      std::int64_t reached = 1;
      for (const Affine::Term& term : each.terms()) {
        const auto length = whole_length(term.name);
        if (!length) {
          return false;
        }
        reached += std::abs(term.coefficient) * (*length - 1);
        if (const std::size_t loop = loop_of(term.name); loop != nowhere) {
          problem_.loops[loop].has_to_be = true;
        }
      }
      axis.others = std::max(axis.others, reached);
    }
    return true;
  }
  [[nodiscard]] std::size_t loop_of(const std::string& iname) const {
    for (std::size_t i = 0; i < problem_.loops.size(); ++i) {
      if (problem_.loops[i].loop.iname == iname) {
        return i;
      }
    }
    return nowhere;
  }
  /// Of a short loop of known length.
  [[nodiscard]] std::optional<std::int64_t> whole_length(const std::string& iname) const {
    if (!is_iname(expanded_, iname) || with_parent_inames(expanded_, {iname}).size() != 1 ||
        has_computed_bounds(expanded_, iname)) {
      return std::nullopt;
    }
    const SlicedLoop loop = sliced_loop(expanded_, parameters_, iname);
    return loop.is_constant && loop.length <= longest_whole ? std::optional(loop.length)
                                                            : std::nullopt;
  }

  /// Those that no other candidate calls, those that call none, and all of them.
  void add_sets(const std::vector<std::string>& candidates) {
    std::vector<std::string> called;
    std::vector<std::string> calling;
    for (const std::string& each : candidates) {
      const auto calls_it = [&](const std::string& other) { return calls(kernel_, other, each); };
      const auto is_called_by_it = [&](const std::string& other) {
        return calls(kernel_, each, other);
      };
      if (std::none_of(candidates.begin(), candidates.end(), calls_it)) {
        calling.push_back(each);
      }
      if (std::none_of(candidates.begin(), candidates.end(), is_called_by_it)) {
        called.push_back(each);
      }
    }
    std::vector<std::vector<std::string>> sets = {candidates};
    for (std::vector<std::string>& each : std::vector{called, calling}) {
      if (std::find(sets.begin(), sets.end(), each) == sets.end()) {
        sets.push_back(std::move(each));
      }
    }
    for (const std::vector<std::string>& each : sets) {
      add_set(each);
    }
  }
  void add_set(const std::vector<std::string>& rules) {
    Kernel others = kernel_;  // expands rules that are not kept
    std::erase_if(others.rules, [&](const SubstitutionRule& each) {
      return std::find(rules.begin(), rules.end(), each.name) != rules.end();
    });
    ValueSet set;
    for (const std::string& each : callees_first(kernel_, rules)) {
      const SubstitutionRule& rule = *find_rule(kernel_, each);
      KeptValue value{each, 4, axes_[each], with_alike_sums(expand_rules(others, rule.body))};
      value.element_bytes = size_bytes(type_of(expanded_, expand_rules(kernel_, rule.body)));
      set.values.push_back(std::move(value));
    }
    for (const Instruction& each : kernel_.instructions) {
      set.statements.push_back(
          with_alike_sums(expand_rules(others, get_if<Assignment>(each)->value)));
    }
    problem_.sets.push_back(std::move(set));
  }

  /// With names for the inames of sums that follow from their lengths and what is within: compilers
  /// read what several sums read once.
  [[nodiscard]] Expr with_alike_sums(const Expr& expr) {
    return rewrite_bottom_up(expr, [&](const Expr& part) -> std::optional<Expr> {
      const Reduction* sum = get_if<Reduction>(part);
      if (sum == nullptr) {
        return std::nullopt;
      }
      const std::size_t inner = reduction_inames(part).size() - sum->inames.size();
      std::map<std::string, std::string, std::less<>> names;
      for (const std::string& each : sum->inames) {
        const double length = problem_.lengths[each];
        const std::string name = fmt::format(".{}.{}", inner + names.size(), length);
        problem_.lengths[name] = length;
        names.emplace(each, name);
      }
      return rename_all(part, names);
    });
  }

  const Kernel& kernel_;
  const Kernel expanded_;
  const IntegerValues& parameters_;
  std::map<std::string, std::vector<ValueAxis>> axes_{};
  ValueProblem problem_{};
};

std::int64_t value_tile(const ValueChoice& choice, std::size_t loop) {
  return std::int64_t{choice.threads[loop]} * choice.items[loop];
}

std::int64_t threads_of(const ValueChoice& choice) {
  std::int64_t threads = 1;
  for (const std::uint16_t each : choice.threads) {
    threads *= each;
  }
  return threads;
}

std::int64_t items_of(const ValueChoice& choice) {
  std::int64_t items = 1;
  for (const std::uint16_t each : choice.items) {
    items *= each;
  }
  return items;
}

std::int64_t blocks_of(const ValueProblem& problem, const ValueChoice& choice) {
  std::int64_t blocks = 1;
  for (std::size_t i = 0; i < problem.loops.size(); ++i) {
    blocks *= ceil_divide(problem.loops[i].loop.length, value_tile(choice, i));
  }
  return blocks;
}

/// Values of a rule that a block computes.
double values_of(const KeptValue& value, const ValueChoice& choice) {
  double count = 1;
  for (const ValueAxis& axis : value.axes) {
    double length = static_cast<double>(axis.others);
    for (std::size_t i = 0; i < most_loops; ++i) {
      length += static_cast<double>(axis.coefficients[i] * (value_tile(choice, i) - 1));
    }
    count *= length;
  }
  return count;
}

std::int64_t shared_bytes_of(const ValueProblem& problem, const ValueChoice& choice) {
  double bytes = 0;
  for (const KeptValue& each : problem.sets[choice.set].values) {
    bytes += 16 * std::ceil(values_of(each, choice) * each.element_bytes / 16);
  }
  return static_cast<std::int64_t>(bytes);
}

Slicing value_slicing(const ValueProblem& problem, const ValueChoice& choice) {
  Slicing slicing;
  int grid_axis = 0;
  int block_axis = 0;
  for (std::size_t i = 0; i < problem.loops.size(); ++i) {
    InameSlicing sliced{problem.loops[i].loop.iname};
    const auto add = [&](std::int64_t length, const InameTag& axis) {
      sliced.factors.push_back({sliced.factors.empty() ? 0 : length, axis});
    };
    if (!problem.loops[i].is_whole) {
      add(0, {AxisKind::grid, grid_axis++});
    }
    if (choice.threads[i] > 1) {
      add(choice.threads[i], {AxisKind::block, block_axis++});
    }
    if (choice.items[i] > 1 || sliced.factors.empty()) {
      add(choice.items[i], {AxisKind::ilp, 0});
    }
    slicing.inames.push_back(std::move(sliced));
  }
  for (const KeptValue& each : problem.sets[choice.set].values) {
    slicing.shared_values.push_back(each.rule);
  }
  return slicing;
}

/// What a thread computes and reads.
class ValueCost {
 public:
  ValueCost(const ValueProblem& problem, const MachineModel& machine)
      : problem_(problem), machine_(machine) {}

  [[nodiscard]] double registers(const ValueChoice& choice) const {
    return registers_of_value_thread + 2 * static_cast<double>(items_of(choice));
  }

  [[nodiscard]] double seconds(const ValueChoice& choice) const {
    const ValueSet& set = problem_.sets[choice.set];
    const double threads = static_cast<double>(threads_of(choice));
    ThreadWork work;
    for (const KeptValue& each : set.values) {
      // the threads compute the values in turns
      const double turns = std::ceil(values_of(each, choice) / threads);
      add(each.body, turns, {}, work);
      work.known.clear();  // a barrier is between them
      work.loads += turns;
    }
    for (const Expr& each : set.statements) {
      add(each, 1, choice, work);
      work.loads += static_cast<double>(items_of(choice));
    }
    // neighbours in the arrays are in neighbouring threads, or in one
    work.loads *= choice.items[0] == 1 ? 1 : choice.threads[0] > 1 ? 1.5 : 3;
    // of each sector a block uses what its tile has of the fastest loop
    const double part_of_sector =
        problem_.loops[0].is_whole
            ? 1
            : std::min(1.0, static_cast<double>(value_tile(choice, 0)) / elements_of_sector);
    work.loads /= part_of_sector;
    const double warps = std::ceil(threads / machine_.warp_lanes);
    const double blocks = static_cast<double>(blocks_of(problem_, choice));
    const double multiprocessors = machine_.multiprocessors;
    const double resident = std::max(
        1.0,
        std::min({32.0, std::floor(machine_.threads_per_multiprocessor / threads),
                  std::floor(machine_.registers_per_multiprocessor / (registers(choice) * threads)),
                  std::floor(static_cast<double>(machine_.shared_bytes_per_multiprocessor) /
                             static_cast<double>(shared_bytes_of(problem_, choice) + 1024))}));
    // a warp issues its loads one after the other, a quarter of what all units can
    const double issue = std::max((work.operations + work.loads) / gpu::schedulers, work.loads);
    const double alone = clocks_of_value_block +
                         clocks_of_value_barrier * static_cast<double>(set.values.size()) +
                         (work.operations + work.loads) * 4;
    const double rounds = std::ceil(blocks / (multiprocessors * resident));
    const double busy = std::min(1.0, resident * warps / warps_at_work);
    const double clocks =
        std::max(std::ceil(blocks / multiprocessors) * issue * warps / busy, rounds * alone);
    const double core_seconds = clocks / machine_.clock_hz;
    const double memory_seconds =
        problem_.compulsory_bytes /
        (machine_.memory_bytes_per_second * std::max(0.1, busy) * part_of_sector);
    return std::max(core_seconds, memory_seconds) + 0.3 * std::min(core_seconds, memory_seconds) +
           gpu::launch_seconds;
  }

 private:
  struct ThreadWork {
    double operations = 0;  // of a thread
    double loads = 0;
    std::set<std::pair<std::uint64_t, double>> known{};  ///< what is computed, and how often
  };

  /// Items of a thread that an expression is different for.
  [[nodiscard]] double lanes_of(const Expr& expr, const ValueChoice& choice) const {
    const NameSet names = free_names(expr);
    double lanes = 1;
    for (std::size_t i = 0; i < problem_.loops.size(); ++i) {
      lanes *= names.count(problem_.loops[i].loop.iname) != 0 ? choice.items[i] : 1;
    }
    return lanes;
  }

  /// @param steps  times that it is computed, by the sums around it and for each item
  void add(const Expr& expr, double steps, const ValueChoice& choice, ThreadWork& work) const {
    if (!work.known.emplace(expr.hash(), steps).second) {
      return;
    }
    if (is<Access>(expr) || is_kept(expr, choice)) {
      work.loads += steps * lanes_of(expr, choice);
      return;
    }
    if (const Reduction* sum = get_if<Reduction>(expr)) {
      for (const std::string& each : sum->inames) {
        const auto length = problem_.lengths.find(each);
        steps *= length != problem_.lengths.end() ? length->second : 1;
      }
      work.operations += steps * lanes_of(expr, choice);
    } else if (const Product* product = get_if<Product>(expr)) {
      // the last one is part of the sum around it
      work.operations += steps * lanes_of(expr, choice) *
                         std::max<double>(0, static_cast<double>(product->factors.size()) - 2);
    } else if (is<Sum>(expr) || is<Quotient>(expr) || is<Call>(expr) || is<Conditional>(expr)) {
      work.operations += steps * lanes_of(expr, choice) * (is<Call>(expr) ? 8 : 1);
    }
    for_each_child(expr, [&](const Expr& child) { add(child, steps, choice, work); });
  }
  [[nodiscard]] bool is_kept(const Expr& expr, const ValueChoice& choice) const {
    const Call* call = get_if<Call>(expr);
    const auto& values = problem_.sets[choice.set].values;
    return call != nullptr && std::any_of(values.begin(), values.end(), [&](const auto& each) {
             return each.rule == call->function;
           });
  }

  const ValueProblem& problem_;
  const MachineModel& machine_;
};

class ValueEnumerator {
 public:
  ValueEnumerator(const Kernel& kernel, const ValueProblem& problem,
                  const SlicingConstraints& constraints)
      : kernel_(kernel),
        problem_(problem),
        constraints_(constraints),
        cost_(problem, constraints.machine) {}

  std::vector<ValueChoice> run() {
    for (std::size_t i = 0; i < problem_.sets.size(); ++i) {
      is_possible_.reset();
      choice_ = {};
      choice_.set = static_cast<std::uint16_t>(i);
      cut(0);
    }
    return std::move(choices_);
  }

 private:
  /// Goes through the cuts of a loop and of those after it.
  void cut(std::size_t loop) {
    if (loop == problem_.loops.size()) {
      add();
      return;
    }
    const ValueLoop& each = problem_.loops[loop];
    const std::int64_t length = each.loop.length;
    const std::int64_t most_threads = each.is_single ? 1 : std::min<std::int64_t>(length, 64);
    for (std::int64_t threads = 1; threads <= most_threads; ++threads) {
      if (each.is_whole ? length % threads != 0 : (threads & (threads - 1)) != 0) {
        continue;
      }
      const std::int64_t most = each.is_whole ? length / threads : each.is_single ? 1 : 4;
      for (std::int64_t items = each.is_whole ? most : 1; items <= most; items *= 2) {
        if (items > most_value_items) {
          break;
        }
        choice_.threads[loop] = static_cast<std::uint16_t>(threads);
        choice_.items[loop] = static_cast<std::uint16_t>(items);
        cut(loop + 1);
      }
    }
    choice_.threads[loop] = 1;
    choice_.items[loop] = 1;
  }

  void add() {
    const std::int64_t threads = threads_of(choice_);
    const auto axes = std::count_if(choice_.threads.begin(), choice_.threads.end(),
                                    [](std::uint16_t each) { return each > 1; });
    int long_axes = 0;
    for (std::size_t i = 0; i < problem_.loops.size(); ++i) {
      long_axes +=
          ceil_divide(problem_.loops[i].loop.length, value_tile(choice_, i)) > most_blocks_across
              ? 1
              : 0;
    }
    if (axes > 3 || long_axes > 0 || threads < constraints_.min_threads ||
        threads > constraints_.max_threads || items_of(choice_) > most_value_items ||
        items_of(choice_) > constraints_.max_items_per_thread ||
        blocks_of(problem_, choice_) < constraints_.min_blocks ||
        shared_bytes_of(problem_, choice_) >
            std::min(constraints_.max_shared_bytes, constraints_.machine.shared_bytes) ||
        cost_.registers(choice_) > static_cast<double>(constraints_.max_registers)) {
      return;
    }
    if (!is_possible_) {  // of each set once
      is_possible_ = !why_not_sliced(kernel_, value_slicing(problem_, choice_));
    }
    if (*is_possible_) {
      choices_.push_back(choice_);
    }
  }

  const Kernel& kernel_;
  const ValueProblem& problem_;
  const SlicingConstraints& constraints_;
  ValueCost cost_;
  ValueChoice choice_{};
  std::optional<bool> is_possible_{};
  std::vector<ValueChoice> choices_{};
};

struct ValueFamily {
  using Problem = ValueProblem;
  using Choice = ValueChoice;
  using Cost = ValueCost;
  using Enumerator = ValueEnumerator;

  static SlicedChoice sliced(const Problem& problem, const Choice& choice, const MachineModel&) {
    return {value_slicing(problem, choice), threads_of(choice), blocks_of(problem, choice),
            shared_bytes_of(problem, choice)};
  }
};

}  // namespace

SourcePtr value_slicings(const Kernel& kernel, const SlicingConstraints& constraints) {
  if (kernel.rules.empty() || constraints.machine.is_cpu) {
    return nullptr;
  }
  return listed_slicings<ValueFamily>(kernel, ValueReader(kernel, constraints.parameters).read(),
                                      constraints);
}

}  // namespace rtcg::loopy::detail
