#include "rtcg/loopy/interpret/interpret.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/analyze/infer_types.h"
#include "rtcg/loopy/interpret/compile_expr.h"
#include "rtcg/loopy/interpret/nest.h"
#include "rtcg/loopy/interpret/run_order.h"
#include "rtcg/loopy/transform/expand_subst.h"

namespace rtcg::loopy {
namespace interpretation {
namespace {

/// A statement with its names looked up.
struct Step {
  std::string id{};
  std::vector<Evaluate> predicates{};
  std::vector<std::pair<int, FindElement>> targets{};
  EvaluateAll values{};
  int lanes = 1;
};

/// A loop or a step.
struct Part {
  std::optional<Nest> loop{};
  std::vector<Part> body{};
  std::optional<Step> step{};
  /// Where the domain of the step has inames that it is not within.
  std::optional<Nest> condition{};
};

class Interpreter {
 public:
  Interpreter(const Kernel& kernel, const InterpretArguments& arguments)
      : kernel_(kernel), machine_(kernel, arguments) {}

  Interpretation run(const InterpretOptions& options) {
    machine_.most_operations = options.most_operations;
    machine_.keep_all();
    fill_tables();
    run(parts_of(run_order(kernel_), {}));
    return results();
  }

 private:
  void fill_tables() {
    for (const Temporary& temporary : kernel_.temporaries) {
      const int variable = machine_.find_variable(temporary.name);
      const cgen::ScalarKind kind = machine_.variables[static_cast<std::size_t>(variable)].kind;
      for (std::size_t i = 0; i < temporary.initial_values.size(); ++i) {
        const Value value =
            ExprCompiler(machine_, {}).compile(temporary.initial_values[i], kind)(machine_);
        machine_.store(variable, static_cast<std::int64_t>(i), converted(value, kind));
      }
    }
  }

  std::vector<Part> parts_of(const std::vector<Turn>& turns, const NameSet& known) {
    std::vector<Part> parts;
    for (const Turn& turn : turns) {
      Part part;
      if (turn.iname.empty()) {
        const Instruction& instruction = kernel_.instructions[turn.statement];
        part.step = step_of(instruction);
        if (!part.step) {
          continue;
        }
        const Nest condition(machine_, constraints_of(kernel_, instruction.within_inames), {},
                             known);
        if (condition.has_other_inames()) {
          part.condition = condition;
        }
      } else {
        NameSet within = known;
        within.insert(turn.iname);
        part.loop = Nest(machine_, constraints_of(kernel_, within), {turn.iname}, known,
                         Nest::Others::are_inner_loops);
        part.body = parts_of(turn.body, within);
      }
      parts.push_back(std::move(part));
    }
    return parts;
  }

  std::optional<Step> step_of(const Instruction& instruction) {
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
    step.id = instruction.id;
    ExprCompiler compiler(machine_, instruction.within_inames);
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
    step.values = compiler.compile_all(assignment->value, assignment->targets.size(), around);
    return step;
  }

  void run(const std::vector<Part>& parts) {
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

  void run(const Step& step) {
    machine_.statement = step.id;
    Value holds = integer_value(1);
    for (const Evaluate& predicate : step.predicates) {
      const Value value = truth(predicate(machine_));
      if (value.is_certain() && value.integer == 0) {
        return;
      }
      holds = value.is_certain() ? holds : value;
    }
    for (int lane = 0; lane < step.lanes; ++lane) {
      machine_.lane = lane;
      const std::vector<Value> values = step.values(machine_);
      for (std::size_t i = 0; i < step.targets.size(); ++i) {
        const auto& [variable, place] = step.targets[i];
        const std::int64_t element = place(machine_);
        if (element < 0) {
          forget(variable);
          continue;
        }
        const cgen::ScalarKind kind = machine_.variables[static_cast<std::size_t>(variable)].kind;
        const Value value = converted(values.at(i), kind);
        machine_.store(
            variable, element,
            holds.is_certain() ? value : either(value, machine_.load(variable, element)));
      }
    }
    machine_.lane = 0;
  }

  /// Any element may have been set to anything.
  void forget(int variable) {
    for (Stored& each : machine_.variables[static_cast<std::size_t>(variable)].stored) {
      each = {0, std::numeric_limits<long double>::infinity(), true};
    }
  }

  Interpretation results() {
    NameSet written;
    for (const Instruction& instruction : kernel_.instructions) {
      written.merge(written_variables(instruction));
    }
    Interpretation result;
    for (const Argument& argument : kernel_.arguments) {
      if (!argument.is_array || written.count(argument.name) == 0) {
        continue;
      }
      const Variable& variable =
          machine_.variables[static_cast<std::size_t>(machine_.find_variable(argument.name))];
      ExpectedArray array{variable.kind, {}, {}};
      array.numbers.reserve(variable.count);
      for (std::size_t i = 0; i < variable.count; ++i) {
        const Stored& stored = variable.stored[i];
        const long double initial = variable.initial != nullptr ? variable.initial->number(i) : 0;
        array.numbers.push_back(stored.is_written ? ExpectedNumber{stored.value, stored.error}
                                                  : ExpectedNumber{initial, 0});
      }
      result.arrays.emplace(argument.name, std::move(array));
    }
    result.operations = machine_.operations;
    return result;
  }

  const Kernel& kernel_;
  Machine machine_;
};

}  // namespace
}  // namespace interpretation

Interpretation interpret(const Kernel& kernel, const InterpretArguments& arguments,
                         const InterpretOptions& options) {
  const Kernel typed = infer_types(expand_subst(kernel));
  return interpretation::Interpreter(typed, arguments).run(options);
}

namespace {

/// Of an error that counts each rounding with twice what rounding to nearest makes.
constexpr long double slack = 4;

long double largest_of_kind(cgen::ScalarKind kind) {
  return kind == cgen::ScalarKind::f32 ? std::numeric_limits<float>::max()
                                       : std::numeric_limits<double>::max();
}

}  // namespace

Mismatch find_mismatch(const ArgumentData& found, const Interpretation& expected) {
  Mismatch worst;
  std::size_t compared = 0;
  std::size_t undecided = 0;
  for (const auto& [name, array] : expected.arrays) {
    const ArrayData& data = found.at(name);
    for (std::size_t i = 0; i < array.numbers.size(); ++i) {
      const std::size_t place = array.places.empty() ? i : array.places[i];
      const ExpectedNumber& number = array.numbers[i];
      if (std::isinf(number.error)) {
        ++undecided;
        continue;
      }
      ++compared;
      const long double value = data.number(place);
      const bool is_same = value == number.value || (std::isnan(value) && std::isnan(number.value));
      const bool is_both_infinite =
          std::isinf(value) && std::isfinite(number.value) &&
          std::fabs(number.value) + slack * number.error >= largest_of_kind(array.kind);
      if (is_same || is_both_infinite) {
        continue;
      }
      const long double allowed = slack * number.error;
      const long double distance = std::fabs(value - number.value);
      const long double excess = std::isfinite(distance) && allowed > 0
                                     ? distance / allowed
                                     : std::numeric_limits<long double>::infinity();
      if (excess > static_cast<long double>(worst.excess)) {
        worst = {name,
                 place,
                 static_cast<double>(value),
                 static_cast<double>(number.value),
                 static_cast<double>(allowed),
                 static_cast<double>(excess)};
      }
    }
  }
  worst.compared = compared;
  worst.undecided = undecided;
  return worst;
}

}  // namespace rtcg::loopy
