#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rtcg/loopy/analyze/evaluate_integer.h"
#include "rtcg/loopy/kernel/print_kernel.h"
#include "rtcg/loopy/preprocess/preprocess.h"
#include "rtcg/loopy/schedule/insert_barriers.h"
#include "rtcg/loopy/schedule/launch_axes.h"
#include "rtcg/loopy/symbolic/print_expr.h"
#include "rtcg/loopy/symbolic/traverse.h"
#include "tests/loopy/support/combine_values.h"
#include "tests/loopy/support/initial_number.h"
#include "tests/loopy/support/watched_cell.h"

// Runs a finished schedule for small parameters, thread by thread, and looks at every access: the
// verifier of what build_loop_tree and insert_barriers promise, independent of how they decide.

namespace rtcg::loopy {

/// Blocks one after the other, the threads of a block statement by statement, the last one first.
/// Two accesses to an element, one of them writing, must be of the same thread, or of one block
/// with a barrier between, or of two launches; atomic updates may meet each other. Reads of
/// temporaries must see a value.
class ScheduleRun {
 public:
  using Element = loopy::Element;
  using Values = std::map<std::string, std::int64_t, std::less<>>;

  /// What it cannot run: C text, loops whose bounds the kernel computes, very long runs.
  struct NotRunnable : std::runtime_error {
    using std::runtime_error::runtime_error;
  };

  /// @param kernel  preprocessed
  ScheduleRun(Kernel kernel, const LoopTree& tree, const Values& parameters)
      : kernel_(std::move(kernel)), parameters_(parameters) {
    for (const std::string& iname : all_inames(kernel_)) {
      ranges_[iname] = range_of(iname);
    }
    for (std::size_t i = 0; i < kernel_.instructions.size(); ++i) {
      facts_.push_back(facts_of_statement(i));
    }
    run_on_host(tree);
  }

  /// The first thing that is wrong; empty where all is well.
  [[nodiscard]] const std::string& problem() const { return problem_; }
  /// Elements of arguments that were written.
  [[nodiscard]] std::map<Element, double> results() const {
    std::map<Element, double> results;
    for (const auto& [element, cell] : global_) {
      if (cell.value && is_argument(element.first)) {
        results.emplace(element, *cell.value);
      }
    }
    return results;
  }
  [[nodiscard]] int barriers_passed() const { return barriers_; }

 private:
  struct Range {
    std::int64_t low = 0;
    std::int64_t high = -1;
    bool is_known = true;
  };
  struct StatementFact {
    ConstraintSet domain;
    std::vector<std::string> lanes;
    bool runs_in_first_block = false;  // of axes that it is not on
    bool runs_in_first_thread = false;
  };
  struct Axis {
    HardwareAxis axis;
    std::int64_t first = 0;
    std::int64_t extent = 1;
  };

  // ---- facts ---------------------------------------------------------------------------------

  [[nodiscard]] ConstraintSet with_parameters(ConstraintSet set) const {
    for (const auto& [name, value] : parameters_) {
      set = set.substitute(name, value);
    }
    return set;
  }

  [[nodiscard]] Range range_of(const std::string& iname) const {
    const ConstraintSet set = with_parameters(constraints_of(kernel_, {iname}));
    if (set.is_empty()) {
      return {};
    }
    const auto low = set.minimum(Affine(iname));
    const auto high = set.maximum(Affine(iname));
    return low && high ? Range{*low, *high, true} : Range{0, 0, false};
  }

  [[nodiscard]] bool is_argument(const std::string& name) const {
    return find_argument(kernel_, name) != nullptr;
  }
  [[nodiscard]] bool is_in(const std::string& name, AddressSpace space) const {
    const Temporary* temporary = find_temporary(kernel_, name);
    return temporary != nullptr && temporary->address_space == space;
  }

  [[nodiscard]] StatementFact facts_of_statement(std::size_t index) const {
    const Instruction& instruction = kernel_.instructions[index];
    StatementFact fact;
    fact.domain = with_parameters(constraints_of(kernel_, instruction.within_inames));
    std::vector<std::string> others;
    for (const std::string& name : fact.domain.names()) {
      if (is_iname(kernel_, name) && instruction.within_inames.count(name) == 0) {
        others.push_back(name);
      }
    }
    fact.domain = fact.domain.project_out(others);
    for (const std::string& iname : all_inames(kernel_)) {
      if (instruction.within_inames.count(iname) != 0 && tag_of(kernel_, iname).is_lane()) {
        fact.lanes.push_back(iname);
      }
    }
    for (const std::string& name : written_variables(instruction)) {
      const bool is_global = is_argument(name) || is_in(name, AddressSpace::global);
      fact.runs_in_first_block = fact.runs_in_first_block || is_global;
      fact.runs_in_first_thread =
          fact.runs_in_first_thread || is_global || is_in(name, AddressSpace::local);
    }
    return fact;
  }

  // ---- launches ------------------------------------------------------------------------------

  /// Whether the host runs the loop: a launch begins within.
  static bool begins_launch(const LoopTreeNode& node) {
    const LoopNode* loop = get_if<LoopNode>(node);
    return is<LaunchBoundaryNode>(node) ||
           (loop != nullptr && std::any_of(loop->body.begin(), loop->body.end(), begins_launch));
  }

  void run_on_host(const LoopTree& tree) {
    LoopTree launch;
    for (const LoopTreeNode& node : tree) {
      if (!begins_launch(node)) {
        launch.push_back(node);
        continue;
      }
      run_launch(launch);
      launch.clear();
      if (const LoopNode* loop = get_if<LoopNode>(node)) {
        for_each_iteration(*loop, [&] { run_on_host(loop->body); });
      }
    }
    run_launch(launch);
  }

  // ---- blocks and threads --------------------------------------------------------------------

  void run_launch(const LoopTree& launch) {
    const std::vector<std::size_t> statements = statements_in(launch);
    if (statements.empty()) {
      return;
    }
    axes_.clear();
    positions_.clear();
    const LaunchAxes axes = launch_axes(kernel_, statements);
    axis_values_ = axes.values;
    for (const HardwareAxis& axis : axes.axes) {
      axes_.push_back({axis, evaluate_integer(axis.first, parameters_).value(),
                       evaluate_integer(axis.extent, parameters_).value()});
    }
    for (auto& [element, cell] : global_) {
      cell.writers.clear();
      cell.readers.clear();
    }
    for_each_position(AxisKind::grid, 0, [&] {
      local_.clear();
      private_.clear();
      epoch_ = 0;
      run(launch);
      ++thread_.block;
    });
    thread_ = {};
  }

  /// Sets the names of all axes of the kind to each position in turn.
  template <class Body>
  void for_each_position(AxisKind kind, std::size_t from, const Body& body) {
    while (from < axes_.size() && axes_[from].axis.kind != kind) {
      ++from;
    }
    if (from == axes_.size()) {
      body();
      return;
    }
    const Axis& axis = axes_[from];
    for (std::int64_t position = axis.extent; position-- > 0;) {
      names_[axis.axis.variable] = axis.first + position;
      positions_[{kind, axis.axis.number}] = position;
      for_each_position(kind, from + 1, body);
    }
  }

  void run(const LoopTree& tree) {
    for (const LoopTreeNode& node : tree) {
      match(
          node, [&](const LoopNode& loop) { for_each_iteration(loop, [&] { run(loop.body); }); },
          [&](const StatementNode& statement) { run_in_threads(statement.index); },
          [&](const BarrierNode&) {
            ++epoch_;
            ++barriers_;
          },
          [&](const LaunchBoundaryNode&) { throw NotRunnable("a launch begins within a loop"); });
    }
  }

  template <class Body>
  void for_each_iteration(const LoopNode& loop, const Body& body) {
    const Range& range = ranges_.at(loop.iname);
    if (!range.is_known) {
      throw NotRunnable("the bounds of '" + loop.iname + "' are computed");
    }
    for (std::int64_t value = range.low; value <= range.high; ++value) {
      names_[loop.iname] = value;
      body();
    }
    names_.erase(loop.iname);
  }

  void run_in_threads(std::size_t index) {
    const Instruction& instruction = kernel_.instructions[index];
    thread_.number = 0;
    for_each_position(AxisKind::block, 0, [&] {
      ++thread_.number;
      if (++steps_ > most_steps) {
        throw NotRunnable("it takes too long");
      }
      for (const auto& [tag, position] : positions_) {
        const bool is_used =
            std::any_of(instruction.within_inames.begin(), instruction.within_inames.end(),
                        [&, kind = tag.first, number = tag.second](const std::string& iname) {
                          return tag_of(kernel_, iname) == InameTag{kind, number};
                        });
        const bool is_first_only = tag.first == AxisKind::grid ? facts_[index].runs_in_first_block
                                                               : facts_[index].runs_in_first_thread;
        if (!is_used && is_first_only && position != 0) {
          return;
        }
      }
      for (const auto& [iname, value] : axis_values_) {
        names_[iname] = evaluate_integer(value, with_names()).value();
      }
      run_lanes(index, 0);
    });
  }

  void run_lanes(std::size_t index, std::size_t depth) {
    const std::vector<std::string>& lanes = facts_[index].lanes;
    if (depth < lanes.size()) {
      const Range& range = ranges_.at(lanes[depth]);
      for (std::int64_t value = range.low; value <= range.high; ++value) {
        names_[lanes[depth]] = value;
        run_lanes(index, depth + 1);
      }
      names_.erase(lanes[depth]);
      return;
    }
    if (is_in_domain(facts_[index].domain)) {
      statement_ = index;
      execute(kernel_.instructions[index]);
    }
  }

  [[nodiscard]] Values with_names() const {
    Values all = parameters_;
    all.insert(names_.begin(), names_.end());
    return all;
  }

  [[nodiscard]] bool is_in_domain(const ConstraintSet& domain) {
    const auto value_of = [&](const Affine& expr) {
      std::int64_t value = expr.constant();
      for (const Affine::Term& term : expr.terms()) {
        value += term.coefficient * std::llround(evaluate(Name{term.name}));
      }
      return value;
    };
    for (const Constraint& each : domain.constraints()) {
      const std::int64_t value = value_of(each.expr);
      if (each.is_equality ? value != 0 : value < 0) {
        return false;
      }
    }
    return std::all_of(
        domain.congruences().begin(), domain.congruences().end(),
        [&](const Congruence& each) { return value_of(each.expr) % each.modulus == 0; });
  }

  // ---- statements ----------------------------------------------------------------------------

  void execute(const Instruction& instruction) {
    if (const CopyFence* fence = get_if<CopyFence>(instruction)) {
      groups_[thread_] += fence->kind == CopyFenceKind::commit ? 1 : 0;
      if (fence->kind == CopyFenceKind::wait) {
        arrived_[thread_] = groups_[thread_] - fence->open_groups;
      }
      return;
    }
    const Assignment* assignment = get_if<Assignment>(instruction);
    if (assignment == nullptr) {
      throw NotRunnable("'" + instruction.id + "' is no assignment");
    }
    atomic_array_ = assignment->is_atomic ? target_name(assignment->targets.front()) : "";
    for (const Expr& predicate : instruction.predicates) {
      if (evaluate(predicate) == 0) {
        return;
      }
    }
    if (assignment->targets.size() != 1) {
      throw NotRunnable("'" + instruction.id + "' has several targets");
    }
    const double value = evaluate(assignment->value);
    Cell& cell = touch(element_of(assignment->targets.front()), true);
    cell.value = value;
    if (assignment->is_async_copy) {
      cell.in_flight = {thread_, groups_[thread_]};
    }
  }

  Element element_of(const Expr& expr) {
    if (const Name* scalar = get_if<Name>(expr)) {
      return {scalar->name, {}};
    }
    const Access* access = get_if<Access>(expr);
    if (access == nullptr) {
      throw NotRunnable("'" + to_string(expr) + "' is accessed by its place");
    }
    std::vector<std::int64_t> indices;
    for (const Expr& index : access->indices) {
      indices.push_back(std::llround(evaluate(index)));
    }
    return {access->array, indices};
  }

  /// The element's memory, with everything that is wrong about touching it now.
  Cell& touch(const Element& element, bool is_write) {
    const std::string& name = element.first;
    if (is_argument(name) || is_in(name, AddressSpace::global)) {
      return touch_shared(global_[element], element, is_write);
    }
    if (is_in(name, AddressSpace::local)) {
      return touch_shared(local_[element], element, is_write);
    }
    // each lane has private variables of its own, but for those that it indexes
    std::vector<std::int64_t> own = {thread_.number};
    for (const std::string& lane : lanes_of(name)) {
      const auto found = names_.find(lane);
      own.push_back(found == names_.end() ? -1 : found->second);
    }
    return private_[{own, element}];
  }

  [[nodiscard]] const std::set<std::string>& lanes_of(const std::string& temporary) {
    const auto [found, is_new] = lanes_of_.try_emplace(temporary);
    for (std::size_t i = 0; is_new && i < kernel_.instructions.size(); ++i) {
      const Assignment* assignment = get_if<Assignment>(kernel_.instructions[i]);
      for (std::size_t t = 0; assignment != nullptr && t < assignment->targets.size(); ++t) {
        if (target_name(assignment->targets[t]) == temporary) {
          found->second.insert(facts_[i].lanes.begin(), facts_[i].lanes.end());
          for (const std::string& indexed : free_names(assignment->targets[t])) {
            found->second.erase(indexed);
          }
        }
      }
    }
    return found->second;
  }

  Cell& touch_shared(Cell& cell, const Element& element, bool is_write) {
    const bool is_atomic = element.first == atomic_array_;
    const auto check = [&](const std::map<Thread, Touch>& touches) {
      for (const auto& [thread, touch] : touches) {
        const bool is_ordered =
            thread == thread_ || (thread.block == thread_.block && touch.epoch < epoch_);
        if (!is_ordered && !(is_atomic && touch.is_atomic)) {
          complain(
              fmt::format("'{}' in thread {} of block {} and '{}' in thread {} of block {} "
                          "both touch {}[{}], and nothing orders them",
                          kernel_.instructions[touch.statement].id, thread.number, thread.block,
                          kernel_.instructions[statement_].id, thread_.number, thread_.block,
                          element.first, fmt::join(element.second, ", ")));
        }
      }
    };
    check(cell.writers);
    if (is_write) {
      check(cell.readers);
    }
    if (cell.in_flight && arrived_[cell.in_flight->first] <= cell.in_flight->second) {
      complain(fmt::format("'{}' touches {}[{}] while a copy to it is under way",
                           kernel_.instructions[statement_].id, element.first,
                           fmt::join(element.second, ", ")));
    }
    cell.in_flight.reset();
    (is_write ? cell.writers : cell.readers)[thread_] = {epoch_, statement_, is_atomic};
    return cell;
  }

  double read(const Element& element) {
    const Temporary* temporary = find_temporary(kernel_, element.first);
    const Cell& cell = touch(element, false);
    if (cell.value) {
      return *cell.value;
    }
    if (temporary != nullptr) {
      complain(fmt::format("'{}' reads {}[{}], which has no value",
                           kernel_.instructions[statement_].id, element.first,
                           fmt::join(element.second, ", ")));
    }
    return initial_number(element);
  }

  void complain(const std::string& what) {
    if (problem_.empty()) {
      problem_ = what;
    }
  }

  double evaluate(const Expr& expr) {
    const std::optional<double> value =
        evaluate_values(expr, [&](const Expr& leaf) { return read_leaf(leaf); });
    if (!value) {
      throw NotRunnable(to_string(expr));
    }
    return *value;
  }
  double read_leaf(const Expr& leaf) {
    const Name* name = get_if<Name>(leaf);
    if (name == nullptr) {
      return read(element_of(leaf));
    }
    const auto found = names_.find(name->name);
    if (found != names_.end()) {
      return static_cast<double>(found->second);
    }
    const auto parameter = parameters_.find(name->name);
    return parameter != parameters_.end() ? static_cast<double>(parameter->second)
                                          : read({name->name, {}});
  }

  const Kernel kernel_;
  const Values parameters_;
  std::map<std::string, Range> ranges_;
  std::vector<StatementFact> facts_;
  std::map<std::string, std::set<std::string>> lanes_of_;
  // the launch
  std::vector<Axis> axes_;
  std::map<std::string, Affine, std::less<>> axis_values_;
  // where we are
  Values names_;  // of inames
  std::map<std::pair<AxisKind, int>, std::int64_t> positions_;
  Thread thread_;
  std::int64_t epoch_ = 0;
  std::size_t statement_ = 0;
  std::string atomic_array_;
  // memory
  std::map<Element, Cell> global_;
  std::map<Element, Cell> local_;
  std::map<std::pair<std::vector<std::int64_t>, Element>, Cell> private_;
  std::map<Thread, std::int64_t> groups_;
  std::map<Thread, std::int64_t> arrived_;
  std::string problem_;
  int barriers_ = 0;
  static constexpr int most_steps = 100000;
  int steps_ = 0;
};

/// The schedule of a kernel as it is described, run.
inline ScheduleRun run_schedule(const Kernel& described, const ScheduleRun::Values& parameters) {
  const Kernel kernel = preprocess(described);
  return {kernel, insert_barriers(kernel, build_loop_tree(kernel)), parameters};
}

}  // namespace rtcg::loopy
