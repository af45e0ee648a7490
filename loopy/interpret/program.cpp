#include "rtcg/loopy/interpret/program.h"

#include <algorithm>
#include <limits>
#include <set>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/symbolic/traverse.h"

namespace rtcg::loopy::interpretation {

Program::Program(const Kernel& kernel, const InterpretArguments& arguments)
    : kernel_(kernel), machine_(kernel, arguments) {
  fill_tables();
  const std::vector<Turn> turns = run_order(kernel_);
  keep_apart(turns);
  parts_ = parts_of(turns, {});
}

void Program::run() {
  machine_.keep_all();
  run(parts_);
}

Value Program::holds(const Step& step) {
  machine_.statement = step.instruction->id;
  Value all = integer_value(1);
  for (const Evaluate& predicate : step.predicates) {
    const Value value = truth(predicate(machine_));
    if (value.is_certain() && value.integer == 0) {
      return value;
    }
    all = value.is_certain() ? all : value;
  }
  return all;
}

std::vector<int> Program::results() const {
  NameSet written;
  for (const Instruction& instruction : kernel_.instructions) {
    written.merge(written_variables(instruction));
  }
  std::vector<int> all;
  for (const Argument& argument : kernel_.arguments) {
    if (argument.is_array && written.count(argument.name) != 0) {
      all.push_back(machine_.find_variable(argument.name));
    }
  }
  return all;
}

double Program::length_of(const std::string& iname) const {
  ConstraintSet set = constraints_of(kernel_, {iname});
  for (const auto& [name, value] : machine_.parameters()) {
    if (set.mentions(name) && !is_iname(kernel_, name)) {
      set = set.substitute(name, value);
    }
  }
  constexpr double of_unknown_length = 64;
  if (set.is_empty()) {
    return 0;
  }
  const auto low = set.minimum(Affine(iname));
  const auto high = set.maximum(Affine(iname));
  return low && high ? static_cast<double>(*high - *low + 1) : of_unknown_length;
}

double Program::cost_of(const Expr& expr) const {
  double cost = 1;
  for_each_child(expr, [&](const Expr& child) { cost += cost_of(child); });
  if (const Reduction* reduction = get_if<Reduction>(expr)) {
    for (const std::string& iname : reduction->inames) {
      cost *= length_of(iname);
    }
  }
  return cost;
}

double Program::estimated_operations() const {
  double all = 0;
  for (const Instruction& instruction : kernel_.instructions) {
    double cost = 1;
    for_each_expression(instruction, [&](const Expr& expr) { cost += cost_of(expr); });
    for (const std::string& iname : instruction.within_inames) {
      cost *= length_of(iname);
    }
    all += cost;
  }
  return all;
}

/// A scalar temporary that is used in several loops over one iname has a value for each iteration:
/// a barrier has cut the loop.
void Program::keep_apart(const std::vector<Turn>& turns) {
  std::map<std::string, std::map<std::string, std::set<const Turn*>>> loops;  // by name and iname
  std::vector<const Turn*> open;
  const std::function<void(const std::vector<Turn>&)> visit = [&](const std::vector<Turn>& all) {
    for (const Turn& turn : all) {
      if (!turn.iname.empty()) {
        open.push_back(&turn);
        visit(turn.body);
        open.pop_back();
        continue;
      }
      const Instruction& instruction = kernel_.instructions[turn.statement];
      NameSet touched = read_variables(kernel_, instruction);
      touched.merge(written_variables(instruction));
      for (const std::string& name : touched) {
        const Temporary* temporary = find_temporary(kernel_, name);
        for (const Turn* loop : open) {
          if (temporary != nullptr && temporary->shape.empty()) {
            loops[name][loop->iname].insert(loop);
          }
        }
      }
    }
  };
  visit(turns);
  for (const auto& [name, of_name] : loops) {
    for (const auto& [iname, entered] : of_name) {
      if (entered.size() > 1) {
        machine_.variables[static_cast<std::size_t>(machine_.find_variable(name))]
            .private_slots.push_back(machine_.find_slot(iname));
      }
    }
  }
}

void Program::fill_tables() {
  for (const Temporary& temporary : kernel_.temporaries) {
    const int variable = machine_.find_variable(temporary.name);
    Variable& table = machine_.variables[static_cast<std::size_t>(variable)];
    const cgen::ScalarKind kind = table.kind;
    if (!temporary.initial_values.empty()) {
      table.stored.resize(table.count);
    }
    for (std::size_t i = 0; i < temporary.initial_values.size(); ++i) {
      const Value value =
          ExprCompiler(machine_, {}).compile(temporary.initial_values[i], kind)(machine_);
      machine_.store(variable, static_cast<std::int64_t>(i), converted(value, kind));
    }
  }
}

std::vector<Part> Program::parts_of(const std::vector<Turn>& turns, const NameSet& known) {
  std::vector<Part> parts;
  for (const Turn& turn : turns) {
    Part part;
    if (turn.iname.empty()) {
      const Instruction& instruction = kernel_.instructions[turn.statement];
      part.step = step_of(instruction);
      if (!part.step) {
        continue;
      }
      const Nest condition(machine_, constraints_of(kernel_, instruction.within_inames), {}, known);
      if (condition.has_other_inames()) {
        part.condition = condition;
      }
    } else {
      NameSet within = known;
      within.insert(turn.iname);
      part.iname = turn.iname;
      part.loop = Nest(machine_, constraints_of(kernel_, within), {turn.iname}, known,
                       Nest::Others::are_inner_loops);
      part.body = parts_of(turn.body, within);
    }
    parts.push_back(std::move(part));
  }
  return parts;
}

std::optional<Step> Program::step_of(const Instruction& instruction) {
  if (is<RawCode>(instruction)) {
    throw Unsupported("loopy.interpret.raw_code",
                      fmt::format("statement '{}' of kernel '{}' is C text, which the "
                                  "interpreter does not read",
                                  instruction.id, kernel_.name));
  }
  const Assignment* assignment = get_if<Assignment>(instruction);
  if (assignment == nullptr) {
    return std::nullopt;
  }
  Step step;
  step.instruction = &instruction;
  ExprCompiler compiler(machine_, instruction.within_inames, assignment->targets);
  for (const Expr& predicate : instruction.predicates) {
    step.predicates.push_back(compiler.compile(predicate, cgen::ScalarKind::f64));
  }
  cgen::ScalarKind around = cgen::ScalarKind::f64;
  for (const Expr& target : assignment->targets) {
    step.targets.push_back(compiler.compile_place(target));
    const Variable& variable =
        machine_.variables[static_cast<std::size_t>(step.targets.back().first)];
    step.lanes = std::max(step.lanes, variable.lanes);
    if (cgen::is_floating(variable.kind) && step.targets.size() == 1) {
      around = variable.kind;
    }
  }
  step.is_in_any_order = assignment->is_atomic;
  for (const Expr& each : instruction.disjoint_at.value_or(std::vector<Expr>{})) {
    step.disjoint_at.push_back(compiler.compile(each, cgen::ScalarKind::i64));
  }
  step.values = compiler.compile_all(assignment->value, assignment->targets.size(), around);
  return step;
}

void Program::run(const std::vector<Part>& parts) {
  for (const Part& part : parts) {
    if (part.loop) {
      part.loop->run(machine_, [&] {
        run(part.body);
        return true;
      });
    } else if (part.condition) {
      part.condition->run(machine_, [&] {
        run(*part.step);
        return true;
      });
    } else {
      run(*part.step);
    }
  }
}

void Program::run(const Step& step) {
  const Value is_on = holds(step);
  if (is_on.is_certain() && is_on.integer == 0) {
    return;
  }
  for (int lane = 0; lane < step.lanes; ++lane) {
    machine_.lane = lane;
    const std::vector<Value> values = step.values(machine_);
    for (std::size_t i = 0; i < step.targets.size(); ++i) {
      const auto& [variable, place] = step.targets[i];
      const std::string& name = machine_.variables[static_cast<std::size_t>(variable)].name;
      const Elements elements = place(machine_);
      if (!elements.is_certain()) {
        write_one_of(step, i, elements.possible);
        continue;
      }
      const std::int64_t element = elements.first;
      if (!is_on.is_certain()) {
        machine_.note_open(*step.instruction, fmt::format("whether '{}' is written", name));
      }
      if (step.instruction->disjoint_at && is_on.is_certain() && lane == 0) {
        check_is_disjoint(step, i, element);
      }
      const Value value = stored_value(step, values.at(i), variable, element);
      if (is_open(value)) {
        machine_.note_open(*step.instruction, fmt::format("the value of '{}'", name));
      }
      machine_.store(variable, element,
                     is_on.is_certain() ? value : either(value, machine_.load(variable, element)));
    }
  }
  machine_.lane = 0;
}

Value Program::stored_value(const Step& step, const Value& computed, int variable,
                            std::int64_t element) {
  const cgen::ScalarKind kind = machine_.variables[static_cast<std::size_t>(variable)].kind;
  Value value = converted(computed, kind);
  if (step.is_in_any_order && !value.is_integer()) {
    // a sum that is exact in this order is rounded in others
    value.error +=
        unit_of(kind) * (magnitude(value) + magnitude(in_reals(machine_.load(variable, element))));
  }
  return value;
}

/// Each of them may have the new value or keep its own; all elements if none are named.
void Program::write_one_of(const Step& step, std::size_t target,
                           const std::vector<std::int64_t>& possible) {
  const int variable = step.targets[target].first;
  if (possible.empty()) {
    machine_.note_open(*step.instruction,
                       fmt::format("which element of '{}' is written",
                                   machine_.variables[static_cast<std::size_t>(variable)].name));
    forget(variable);
  }
  for (const std::int64_t element : possible) {
    machine_.written_element = element;
    const Value value = stored_value(step, step.values(machine_).at(target), variable, element);
    machine_.written_element = -1;
    machine_.store(variable, element, either(value, machine_.load(variable, element)));
  }
}

void Program::check_is_disjoint(const Step& step, std::size_t target, std::int64_t element) {
  std::vector<std::int64_t> key = {step.instruction - kernel_.instructions.data(),
                                   static_cast<std::int64_t>(target), element};
  for (const Evaluate& each : step.disjoint_at) {
    key.push_back(static_cast<std::int64_t>(each(machine_).integer));
  }
  if (!written_.insert(std::move(key)).second) {
    throw InvalidInput(
        "loopy.interpret.not_disjoint",
        fmt::format("statement '{}' of kernel '{}' is stated to be disjoint, and writes element {} "
                    "of '{}' twice with the arguments given",
                    step.instruction->id, kernel_.name, element,
                    target_name(targets_of(*step.instruction).at(target))));
  }
}

/// Any element may have been set to anything.
void Program::forget(int variable) {
  for (Stored& each : machine_.variables[static_cast<std::size_t>(variable)].stored) {
    each = {0, std::numeric_limits<long double>::infinity(), true};
  }
}

}  // namespace rtcg::loopy::interpretation
