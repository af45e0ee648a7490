#include "rtcg/loopy/transform/assignment_to_subst.h"

#include <algorithm>

#include <fmt/format.h>

#include "rtcg/loopy/analyze/type_of.h"
#include "rtcg/loopy/kernel/expand_rules.h"
#include "rtcg/loopy/symbolic/traverse.h"
#include "rtcg/loopy/transform/iname_use.h"
#include "rtcg/loopy/transform/iteration_order.h"
#include "rtcg/loopy/transform/record.h"
#include "rtcg/loopy/transform/refusal.h"

namespace rtcg::loopy {
namespace {

/// The only statement that writes the variable.
const Instruction* find_only_writer(const Kernel& kernel, std::string_view variable) {
  const Instruction* writer = nullptr;
  for (const Instruction& instruction : kernel.instructions) {
    if (written_variables(instruction).count(variable) != 0) {
      if (writer != nullptr) {
        return nullptr;
      }
      writer = &instruction;
    }
  }
  return writer;
}

/// The indices of a target, where they are different inames.
std::optional<std::vector<std::string>> find_parameters(const Kernel& kernel, const Expr& target) {
  std::vector<std::string> inames;
  if (is<Name>(target)) {
    return inames;
  }
  const Access* element = get_if<Access>(target);
  if (element == nullptr) {
    return std::nullopt;
  }
  for (const Expr& index : element->indices) {
    const Name* iname = get_if<Name>(index);
    if (iname == nullptr || !is_iname(kernel, iname->name) ||
        std::find(inames.begin(), inames.end(), iname->name) != inames.end()) {
      return std::nullopt;
    }
    inames.push_back(iname->name);
  }
  return inames;
}

/// Whether each element is written once, before `reader`: its value then never changes.
bool is_settled_before(const Instruction& writer, const Instruction& reader, const Kernel& kernel,
                       std::string_view variable) {
  const Instruction* first = kernel.instructions.data();
  const Assignment* assignment = get_if<Assignment>(writer);
  if (assignment == nullptr || &writer - first > &reader - first) {
    return false;
  }
  for (const Expr& target : assignment->targets) {
    if (target_name(target) != variable) {
      continue;
    }
    const NameSet names = free_names(target);
    for (const std::string& iname : writer.within_inames) {
      if (names.count(iname) == 0) {
        return false;
      }
    }
  }
  return true;
}

std::optional<Refusal> find_input_refusal(const Kernel& kernel, const Instruction& definition,
                                          std::string_view temporary) {
  Instruction expanded =
      map_expressions(definition, [&](const Expr& expr) { return expand_rules(kernel, expr); });
  for (const std::string& variable : read_variables(kernel, expanded)) {
    for (const Instruction& writer : kernel.instructions) {
      if (written_variables(writer).count(variable) != 0 &&
          (&writer == &definition || !is_settled_before(writer, definition, kernel, variable))) {
        return Refusal{"loopy.assignment_to_subst.input_changes",
                       fmt::format("'{}' reads '{}', which statement '{}' changes", temporary,
                                   variable, writer.id)};
      }
    }
  }
  return std::nullopt;
}

bool reads(const Expr& expr, std::string_view temporary) {
  return free_names(expr).count(temporary) != 0 || accessed_arrays(expr).count(temporary) != 0;
}

/// The reads of an element of the array.
std::vector<std::vector<Expr>> reads_of(const Kernel& kernel, const Instruction& instruction,
                                        std::string_view array) {
  std::vector<std::vector<Expr>> found;
  const auto look = [&](const Expr& expr) {
    walk(expand_rules(kernel, expr), [&](const Expr& part) {
      const Access* element = get_if<Access>(part);
      if (element != nullptr && element->array == array) {
        found.push_back(element->indices);
      }
      return true;
    });
  };
  if (const Assignment* assignment = get_if<Assignment>(instruction)) {
    look(assignment->value);
    for (const Expr& target : assignment->targets) {
      for_each_child(target, look);
    }
  }
  for (const Expr& predicate : instruction.predicates) {
    look(predicate);
  }
  return found;
}

/// Whether a statement reads the element of the same iteration only.
bool reads_own_element(const Kernel& kernel, const Instruction& definition,
                       const Instruction& reader, const std::vector<std::string>& parameters,
                       std::string_view temporary) {
  const bool is_within =
      std::all_of(definition.within_inames.begin(), definition.within_inames.end(),
                  [&](const auto& iname) { return reader.within_inames.count(iname) != 0; });
  const std::vector<std::vector<Expr>> reads = reads_of(kernel, reader, temporary);
  return is_within &&
         std::all_of(reads.begin(), reads.end(), [&](const std::vector<Expr>& indices) {
           bool is_own = indices.size() == parameters.size();
           for (std::size_t i = 0; is_own && i < indices.size(); ++i) {
             const Name* name = get_if<Name>(indices[i]);
             is_own = name != nullptr && name->name == parameters[i];
           }
           return is_own;
         });
}

/// Inames that the value mentions besides the parameters have to be those of all readers.
std::optional<Refusal> find_iname_refusal(const Kernel& kernel, const Instruction& definition,
                                          const Expr& value,
                                          const std::vector<std::string>& parameters,
                                          std::string_view temporary) {
  // a rule replaces its parameters in its body, not in the bounds of sums
  const NameSet bounding = names_in_bounds(kernel, reduction_inames(expand_rules(kernel, value)));
  NameSet needed = free_names(value);
  std::erase_if(needed, [&](const std::string& each) {
    return !is_iname(kernel, each) ||
           std::find(parameters.begin(), parameters.end(), each) != parameters.end();
  });
  for (const Instruction& each : kernel.instructions) {
    // rules read the temporary for the statements that call them
    const Instruction instruction =
        map_expressions(each, [&](const Expr& expr) { return expand_rules(kernel, expr); });
    if (read_variables(kernel, instruction).count(temporary) == 0) {
      continue;
    }
    for (const std::string& iname : reduction_inames(value)) {
      if (used_inames(instruction).count(iname) != 0) {
        return Refusal{"loopy.assignment_to_subst.reduced_twice",
                       fmt::format("'{}' is a reduction over '{}', which statement '{}' uses: give "
                                   "one of them another iname with duplicate_inames",
                                   temporary, iname, instruction.id)};
      }
    }
    if (!bounding.empty() &&
        !reads_own_element(kernel, definition, instruction, parameters, temporary)) {
      return Refusal{"loopy.assignment_to_subst.inactive_iname",
                     fmt::format("bounds of a sum in '{}' depend on '{}', and statement '{}' reads "
                                 "elements of other iterations",
                                 temporary, *bounding.begin(), instruction.id)};
    }
    for (const std::string& iname : needed) {
      if (instruction.within_inames.count(iname) == 0) {
        return Refusal{"loopy.assignment_to_subst.inactive_iname",
                       fmt::format("the value of '{}' depends on '{}', and statement '{}' is not "
                                   "within it",
                                   temporary, iname, instruction.id)};
      }
    }
  }
  return std::nullopt;
}

/// Whether the element that `inames` number was written, in this iteration of the loops that both
/// share or, if they share none, in some iteration before.
bool is_written_before(const Kernel& kernel, const std::vector<std::string>& inames,
                       const Instruction& reader, const std::vector<Expr>& indices) {
  if (indices.size() != inames.size()) {
    return false;
  }
  ConstraintSet written = constraints_of(kernel, {inames.begin(), inames.end()});
  std::vector<std::pair<std::string, Affine>> values;
  for (std::size_t axis = 0; axis < indices.size(); ++axis) {
    const std::optional<Affine> index = to_affine(indices[axis]);
    const bool is_shared = reader.within_inames.count(inames[axis]) != 0;
    if (!index || (is_shared && *index != Affine(inames[axis]))) {
      return false;
    }
    values.emplace_back(inames[axis], *index);
  }
  const auto hidden = [&](const std::string& name) {
    return std::find(inames.begin(), inames.end(), name) == inames.end() ? name : "." + name;
  };
  written = written.rename(hidden);
  for (const auto& [iname, index] : values) {
    written = written.substitute(hidden(iname), index);
  }
  const ConstraintSet read = constraints_of(kernel, used_inames(reader));
  return std::all_of(written.constraints().begin(), written.constraints().end(),
                     [&](const Constraint& each) { return read.implies(each); }) &&
         std::all_of(written.congruences().begin(), written.congruences().end(),
                     [&](const Congruence& each) { return read.implies(each); });
}

/// An argument holds values before the kernel: reads have to see what was assigned.
std::optional<Refusal> find_argument_refusal(const Kernel& kernel, const Instruction& writer,
                                             const std::vector<std::string>& inames,
                                             std::string_view argument) {
  const auto refusal = [&](const std::string& why) {
    return Refusal{"loopy.assignment_to_subst.argument_value",
                   fmt::format("'{}' is an argument: {}", argument, why)};
  };
  if (writer.within_inames != NameSet(inames.begin(), inames.end())) {
    return refusal(fmt::format("statement '{}' writes its elements several times", writer.id));
  }
  for (const Instruction& each : kernel.instructions) {
    const Instruction reader =
        map_expressions(each, [&](const Expr& expr) { return expand_rules(kernel, expr); });
    if (is<RawCode>(each) && read_variables(kernel, each).count(argument) != 0) {
      return refusal(fmt::format("the C text of statement '{}' reads it", each.id));
    }
    for (const std::vector<Expr>& indices : reads_of(kernel, each, argument)) {
      if (&each < &writer || !is_written_before(kernel, inames, reader, indices)) {
        return refusal(fmt::format("statement '{}' may read what it held before '{}' writes it",
                                   each.id, writer.id));
      }
    }
  }
  return std::nullopt;
}

std::optional<Refusal> find_refusal(const Kernel& kernel, std::string_view temporary,
                                    std::string_view rule) {
  const Argument* argument = find_argument(kernel, temporary);
  if (find_temporary(kernel, temporary) == nullptr &&
      (argument == nullptr || !argument->is_array)) {
    return Refusal{
        "loopy.assignment_to_subst.unknown_temporary",
        fmt::format("kernel '{}' has no temporary or array '{}'", kernel.name, temporary)};
  }
  const Instruction* writer = find_only_writer(kernel, temporary);
  const Assignment* assignment = writer == nullptr ? nullptr : get_if<Assignment>(*writer);
  if (assignment == nullptr || assignment->targets.size() != 1 || !writer->predicates.empty()) {
    return Refusal{
        "loopy.assignment_to_subst.not_one_assignment",
        fmt::format("'{}' is not written by exactly one assignment without conditions", temporary)};
  }
  const auto indices = find_parameters(kernel, assignment->targets.front());
  if (!indices) {
    return Refusal{"loopy.assignment_to_subst.bad_target",
                   fmt::format("the indices of '{}' in statement '{}' are not different inames",
                               temporary, writer->id)};
  }
  if (parameters(kernel).count(temporary) != 0) {
    return Refusal{"loopy.assignment_to_subst.bad_target",
                   fmt::format("'{}' bounds a loop, which needs it as a variable", temporary)};
  }
  if (std::optional<Refusal> refusal = find_input_refusal(kernel, *writer, temporary)) {
    return refusal;
  }
  if (std::optional<Refusal> refusal =
          find_iname_refusal(kernel, *writer, assignment->value, *indices, temporary)) {
    return refusal;
  }
  if (argument != nullptr) {
    if (auto refusal = find_argument_refusal(kernel, *writer, *indices, temporary)) {
      return refusal;
    }
  }
  if (std::optional<std::string> why_not = why_not_new_name(kernel, rule)) {
    return Refusal{"loopy.assignment_to_subst.name_taken", std::move(*why_not)};
  }
  return std::nullopt;
}

Expr with_calls(const Expr& expr, std::string_view temporary, const std::string& rule) {
  return rewrite_bottom_up(expr, [&](const Expr& part) -> std::optional<Expr> {
    if (const Name* name = get_if<Name>(part); name != nullptr && name->name == temporary) {
      return call(rule, {});
    }
    if (const Access* element = get_if<Access>(part);
        element != nullptr && element->array == temporary) {
      return call(rule, element->indices);
    }
    return std::nullopt;
  });
}

/// What the variable held: the value in the type that was stated for it.
Expr stored_value(const Kernel& kernel, const std::optional<cgen::Type>& stated,
                  const Expr& value) {
  if (!stated) {
    return value;
  }
  const cgen::Type found = type_of(kernel, value);
  const auto is_integer = [](const cgen::Type& type) {
    const auto kind = cgen::scalar_kind(type);
    return kind && cgen::is_integral(*kind);
  };
  const bool is_same = found == *stated;
  return is_same || (is_integer(found) && is_integer(*stated)) ? value : Expr(Cast{*stated, value});
}

}  // namespace

Kernel assignment_to_subst(Kernel kernel, std::string_view temporary, std::string_view rule) {
  throw_if_refused(find_refusal(kernel, temporary, rule));
  const Kernel before = kernel;
  const std::string old(temporary);
  const Instruction definition = *find_only_writer(kernel, old);
  const Assignment& assignment = *get_if<Assignment>(definition);
  const std::string rule_name =
      rule.empty() ? make_name_generator(kernel).make(old + "_subst") : std::string(rule);
  const Argument* argument = find_argument(kernel, old);
  const Expr value =
      stored_value(kernel, argument != nullptr ? argument->type : find_temporary(kernel, old)->type,
                   assignment.value);
  const auto with_rule = [&](const Expr& expr) {
    return reads(expr, old) ? with_calls(expr, old, rule_name) : expr;
  };
  if (argument != nullptr) {  // its elements are results, too
    for (Instruction& instruction : kernel.instructions) {
      if (instruction.id != definition.id) {
        instruction = map_expressions(std::move(instruction), with_rule);
      }
    }
    for (SubstitutionRule& each : kernel.rules) {
      each.body = with_rule(each.body);
    }
  } else {
    std::erase_if(kernel.instructions,
                  [&](const Instruction& each) { return each.id == definition.id; });
    for (Instruction& instruction : kernel.instructions) {
      // what waited for the definition now waits for what that waited for
      if (instruction.depends_on.erase(definition.id) != 0) {
        instruction.depends_on.insert(definition.depends_on.begin(), definition.depends_on.end());
      }
    }
    kernel = map_expressions(std::move(kernel), with_rule);
  }
  const std::vector<std::string> parameters = *find_parameters(kernel, assignment.targets.front());
  kernel.rules.push_back({rule_name, parameters, value});
  std::erase_if(kernel.temporaries, [&](const Temporary& each) { return each.name == old; });
  refuse_reordering(before, kernel, "loopy.assignment_to_subst.reorders_loops");
  record(kernel, "assignment_to_subst", {old}, {{"rule", std::string(rule)}});
  return kernel;
}

}  // namespace rtcg::loopy
