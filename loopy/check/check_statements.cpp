#include "rtcg/loopy/check/check_statements.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rtcg/cgen/ast/describe.h"
#include "rtcg/cgen/support/close_names.h"
#include "rtcg/cgen/support/error.h"
#include "rtcg/cgen/support/graph.h"
#include "rtcg/loopy/analyze/access.h"
#include "rtcg/loopy/analyze/type_of.h"
#include "rtcg/loopy/kernel/variable_index.h"
#include "rtcg/loopy/symbolic/print_expr.h"
#include "rtcg/loopy/symbolic/traverse.h"

namespace rtcg::loopy {
namespace {

void check_ids(const Kernel& kernel) {
  NameSet ids;
  for (const Instruction& instruction : kernel.instructions) {
    if (!ids.insert(instruction.id).second) {
      throw InvalidInput("loopy.check_kernel.duplicate_id",
                         fmt::format("two statements of kernel '{}' have the id '{}'", kernel.name,
                                     instruction.id));
    }
  }
  for (const Instruction& instruction : kernel.instructions) {
    for (const std::string& each : instruction.depends_on) {
      if (ids.count(each) == 0) {
        throw InvalidInput("loopy.check_kernel.unknown_dependency",
                           fmt::format("statement '{}' of kernel '{}' depends on '{}', which is "
                                       "not a statement; the ids are {}",
                                       instruction.id, kernel.name, each, fmt::join(ids, ", ")));
      }
    }
  }
}

void check_dependencies_have_no_cycle(const Kernel& kernel) {
  const std::vector<Instruction>& statements = kernel.instructions;
  std::map<std::string_view, std::size_t> number;
  for (std::size_t i = 0; i < statements.size(); ++i) {
    number.emplace(statements[i].id, i);
  }
  Edges before(statements.size());
  for (std::size_t i = 0; i < statements.size(); ++i) {
    for (const std::string& id : statements[i].depends_on) {
      before[i].push_back(number.at(id));
    }
  }
  const std::vector<std::size_t> cycle = find_cycle(before);
  if (!cycle.empty()) {
    std::string text = statements[cycle.back()].id;
    for (auto each = cycle.rbegin() + 1; each != cycle.rend(); ++each) {
      text += " -> " + statements[*each].id;
    }
    text += " -> " + statements[cycle.back()].id;
    throw InvalidInput("loopy.check_kernel.dependency_cycle",
                       fmt::format("statements of kernel '{}' wait for each other: {}; "
                                   "each '->' reads \"depends on\"",
                                   kernel.name, text));
  }
}

/// Why nothing can be assigned to `name`; empty where it can.
std::string why_not_assignable(const Kernel& kernel, const std::string& name) {
  if (is_iname(kernel, name)) {
    return "an iname";
  }
  if (find_rule(kernel, name) != nullptr) {
    return "a substitution rule";
  }
  if (const Argument* argument = find_argument(kernel, name)) {
    return !argument->is_array                                 ? "a scalar argument"
           : argument->address_space == AddressSpace::constant ? "a constant array"
                                                               : "";
  }
  if (const Temporary* temporary = find_temporary(kernel, name)) {
    return temporary->initial_values.empty() ? "" : "a table with initial values";
  }
  return parameters(kernel).count(name) != 0 ? "a parameter" : "";
}

void check_targets(const Kernel& kernel, const Instruction& instruction) {
  for (const std::string& target : written_variables(instruction)) {
    const std::string reason = why_not_assignable(kernel, target);
    if (!reason.empty()) {
      throw InvalidInput("loopy.check_kernel.bad_target",
                         fmt::format("statement '{}' of kernel '{}' assigns to '{}', which is {}; "
                                     "targets are arrays and temporaries",
                                     instruction.id, kernel.name, target, reason));
    }
  }
}

void check_names_used(const Kernel& kernel, const Instruction& instruction, const NameSet& known) {
  NameSet used = read_variables(kernel, instruction);
  used.merge(written_variables(instruction));
  for (const std::string& each : used) {
    if (known.count(each) == 0) {
      const auto close = close_names(each, {known.begin(), known.end()});
      throw InvalidInput(
          "loopy.check_kernel.unknown_name",
          fmt::format(
              "statement '{}' of kernel '{}' uses '{}', which is neither an argument nor a "
              "temporary, parameter or iname{}",
              instruction.id, kernel.name, each,
              close.empty() ? "" : fmt::format("; close names are {}", fmt::join(close, ", "))));
    }
  }
}

/// Refuses temporaries that have no value when they are read for the first time. Where conditions
/// or empty loops may keep a statement from reading, it is taken not to read.
class UndefinedTemporaries {
 public:
  explicit UndefinedTemporaries(const Kernel& kernel)
      : kernel_(kernel), in_bounds_(parameters(kernel)) {
    std::erase_if(in_bounds_,
                  [&](const auto& each) { return find_temporary(kernel, each) == nullptr; });
    for (const Instruction& instruction : kernel.instructions) {
      by_id_.emplace(instruction.id, &instruction);
      for (const std::string& each : written_variables(instruction)) {
        writers_[each].push_back(&instruction);
      }
      for (const std::string& each : read_variables(kernel, instruction)) {
        readers_[each].push_back(&instruction);
      }
    }
  }

  void check() const {
    for (const auto& [name, readers] : readers_) {
      const Temporary* temporary = find_temporary(kernel_, name);
      if (temporary != nullptr && temporary->initial_values.empty()) {
        check(name, readers);
      }
    }
  }

 private:
  using Instructions = std::vector<const Instruction*>;

  void check(const std::string& name, const Instructions& readers) const {
    const auto writers = writers_.find(name);
    if (writers == writers_.end()) {
      throw InvalidInput("loopy.check_kernel.undefined_temporary",
                         fmt::format("statement '{}' of kernel '{}' reads '{}', which no "
                                     "statement writes; assign to it, or make it an argument",
                                     readers.front()->id, kernel_.name, name));
    }
    // a statement that reads the variable to write it needs another one before it
    Instructions setters;
    for (const Instruction* each : writers->second) {
      if (std::find(readers.begin(), readers.end(), each) == readers.end() ||
          !always_reads(*each, name)) {
        setters.push_back(each);
      }
    }
    if (setters.empty()) {
      throw InvalidInput(
          "loopy.check_kernel.undefined_temporary",
          fmt::format("statement '{}' of kernel '{}' computes '{}' from '{}', which no statement "
                      "sets before; write a statement that sets it to a first value, and let '{}' "
                      "depend on that",
                      writers->second.front()->id, kernel_.name, name, name,
                      writers->second.front()->id));
    }
    const NameSet before = all_before(*setters.front());
    for (const Instruction* reader : readers) {
      const auto comes_later = [&](const Instruction* setter) {
        return std::includes(setter->within_inames.begin(), setter->within_inames.end(),
                             reader->within_inames.begin(), reader->within_inames.end()) &&
               (setter == setters.front() ? before : all_before(*setter)).count(reader->id) != 0;
      };
      if (std::all_of(setters.begin(), setters.end(), comes_later) && reader->predicates.empty() &&
          always_reads(*reader, name)) {
        throw InvalidInput(
            "loopy.check_kernel.undefined_temporary",
            fmt::format("statement '{}' of kernel '{}' reads '{}' before any statement sets it: "
                        "'{}' runs after it; set '{}' before, or turn the dependency around",
                        reader->id, kernel_.name, name, setters.front()->id, name));
      }
    }
  }

  /// Whether the statement reads the variable whenever it writes.
  [[nodiscard]] bool always_reads(const Instruction& instruction, const std::string& name) const {
    if (in_bounds_.count(name) != 0 &&
        constraints_of(kernel_, instruction.within_inames).mentions(name)) {
      return true;
    }
    const std::vector<Expr>& predicates = instruction.predicates;
    const std::vector<ArrayAccess> accesses = accesses_of(kernel_, instruction);
    return !is<RawCode>(instruction) &&
           std::any_of(accesses.begin(), accesses.end(), [&](const ArrayAccess& access) {
             return !access.is_write && access.array == name &&
                    access.inames == instruction.within_inames &&
                    access.conditions.size() <= predicates.size() &&
                    std::equal(access.conditions.begin(), access.conditions.end(),
                               predicates.begin());
           });
  }

  /// The ids of the statements that the instruction depends on, directly or through others.
  [[nodiscard]] NameSet all_before(const Instruction& instruction) const {
    NameSet found;
    Instructions open = {&instruction};
    while (!open.empty()) {
      const Instruction* next = open.back();
      open.pop_back();
      for (const std::string& each : next->depends_on) {
        if (found.insert(each).second) {
          open.push_back(by_id_.at(each));
        }
      }
    }
    return found;
  }

  const Kernel& kernel_;
  NameSet in_bounds_;  // temporaries that bounds of loops read
  std::map<std::string, const Instruction*, std::less<>> by_id_;
  std::map<std::string, Instructions, std::less<>> writers_;
  std::map<std::string, Instructions, std::less<>> readers_;
};

void check_calls(const Kernel& kernel) {
  const auto check = [&](const Expr& expr) {
    walk(expr, [&](const Expr& part) {
      if (const Call* call = get_if<Call>(part)) {
        require_callable(kernel, *call);
      }
      return true;
    });
  };
  for (const Instruction& instruction : kernel.instructions) {
    for_each_expression(instruction, check);
  }
  for (const SubstitutionRule& rule : kernel.rules) {
    const Call* tuple = get_if<Call>(rule.body);
    if (tuple != nullptr && tuple->function == "make_tuple") {  // what operations of several give
      std::for_each(tuple->arguments.begin(), tuple->arguments.end(), check);
    } else {
      check(rule.body);
    }
    std::for_each(rule.neutral.begin(), rule.neutral.end(), check);
  }
}

/// Refuses names that no target's text could have: transformations and parsers make none, kernels
/// that are put together by hand may.
void check_spelling(const Kernel& kernel) {
  const auto check = [&](const char* what, const std::string& name) {
    if (!is_identifier(name)) {
      throw InvalidInput("loopy.check_kernel.bad_name",
                         fmt::format("the {} '{}' of kernel '{}' is not spelt like a name: use "
                                     "letters, digits and underscores, no digit first",
                                     what, name, kernel.name));
    }
  };
  check("name", kernel.name);
  for (const std::string& iname : all_inames(kernel)) {
    check("iname", iname);
  }
  for (const std::string& parameter : parameters(kernel)) {
    check("parameter", parameter);
  }
  for (const Argument& argument : kernel.arguments) {
    check("argument", argument.name);
  }
  for (const Temporary& temporary : kernel.temporaries) {
    check("temporary", temporary.name);
  }
}

/// Bounds of loops, lengths, strides and offsets are integers.
class LengthCheck {
 public:
  LengthCheck(const Kernel& kernel, const NameSet& known) : kernel_(kernel), known_(known) {}

  void run() const {
    for (const std::string& each : parameters(kernel_)) {
      check_name(each, "a bound of a loop");
    }
    for (const Argument& argument : kernel_.arguments) {
      check_axes(argument.name, argument.shape, argument.strides_elements);
      check(argument.offset_elements, "the offset", argument.name);
    }
    for (const Temporary& temporary : kernel_.temporaries) {
      check_axes(temporary.name, temporary.shape, temporary.strides_elements);
    }
  }

 private:
  void check_axes(const std::string& array, const std::vector<Expr>& shape,
                  const std::vector<Expr>& strides) const {
    for (const Expr& each : shape) {
      check(each, "a length", array);
    }
    for (const Expr& each : strides) {
      check(each, "a stride", array);
    }
  }

  void check(const Expr& expr, const char* what, const std::string& array) const {
    if (is<Integer>(expr)) {
      return;
    }
    const std::string place = fmt::format("{} of '{}'", what, array);
    for_each_free_name(expr, [&](const std::string& each) { check_name(each, place); });
    const cgen::Type type = type_of(kernel_, expr);
    const auto kind = cgen::scalar_kind(type);
    if (is_known(type) && !(kind && cgen::is_integral(*kind))) {
      throw InvalidInput("loopy.check_kernel.bad_length",
                         fmt::format("{} in kernel '{}' is '{}', of type '{}'; it must be an "
                                     "integer: a // b divides integers",
                                     place, kernel_.name, to_string(expr), cgen::describe(type)));
    }
  }

  void check_name(const std::string& name, const std::string& place) const {
    const Argument* argument = find_argument(kernel_, name);
    const Temporary* temporary = find_temporary(kernel_, name);
    const std::optional<cgen::Type> type = argument != nullptr    ? argument->type
                                           : temporary != nullptr ? temporary->type
                                                                  : std::nullopt;
    const auto kind = type ? cgen::scalar_kind(*type) : std::nullopt;
    std::string found;
    if ((argument != nullptr && argument->is_array) ||
        (temporary != nullptr && !temporary->shape.empty())) {
      found = "an array";
    } else if (type && is_known(*type) && !(kind && cgen::is_integral(*kind))) {
      found = fmt::format("of type '{}'", cgen::describe(*type));
    } else if (known_.count(name) == 0) {
      found = "neither an argument nor a temporary or parameter";
    }
    if (!found.empty()) {
      throw InvalidInput("loopy.check_kernel.bad_length",
                         fmt::format("{} in kernel '{}' is made of '{}', which is {}; it must be a "
                                     "scalar of an integer type",
                                     place, kernel_.name, name, found));
    }
  }

  const Kernel& kernel_;
  const NameSet& known_;
};

/// How many indices the variable takes; nothing where its shape is not known yet.
std::optional<std::size_t> axis_count(const Kernel& kernel, const std::string& name) {
  if (const Argument* argument = find_argument(kernel, name)) {
    return argument->is_array && argument->shape.empty() ? std::nullopt
                                                         : std::optional(argument->shape.size());
  }
  const Temporary* temporary = find_temporary(kernel, name);
  return temporary == nullptr ? std::nullopt : std::optional(temporary->shape.size());
}

void check_indices(const Kernel& kernel, const ArrayAccess& access) {
  const auto wanted = axis_count(kernel, access.array);
  if (wanted && !access.is_linear && *wanted != access.indices.size()) {
    throw InvalidInput(
        "loopy.check_kernel.index_count",
        fmt::format("statement '{}' of kernel '{}' uses '{}' with {} indices; it "
                    "has {} axes",
                    access.statement, kernel.name, access.array, access.indices.size(), *wanted));
  }
  for (const Expr& index : access.indices) {
    const cgen::Type type = type_of(kernel, index);
    const auto kind = cgen::scalar_kind(type);
    if (is_known(type) && !(kind && cgen::is_integral(*kind))) {
      throw InvalidInput("loopy.check_kernel.index_type",
                         fmt::format("statement '{}' of kernel '{}' uses '{}' as an index of '{}'; "
                                     "it must be an integer, not '{}'",
                                     access.statement, kernel.name, to_string(index), access.array,
                                     cgen::describe(type)));
    }
  }
}

}  // namespace

void check_statements(const Kernel& kernel) {
  check_spelling(kernel);
  check_ids(kernel);
  check_dependencies_have_no_cycle(kernel);
  const NameSet known = known_names(kernel);
  LengthCheck(kernel, known).run();
  check_calls(kernel);
  for (const Instruction& instruction : kernel.instructions) {
    check_targets(kernel, instruction);
    check_names_used(kernel, instruction, known);
  }
  UndefinedTemporaries(kernel).check();
  for (const ArrayAccess& access : accesses_of(kernel)) {
    check_indices(kernel, access);
  }
}

}  // namespace rtcg::loopy
