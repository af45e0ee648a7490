#include "rtcg/loopy/check/check_statements.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rtcg/cgen/ast/describe.h"
#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/analyze/access.h"
#include "rtcg/loopy/analyze/functions.h"
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
                           fmt::format("statement '{}' of kernel '{}' depends on '{}', which is no "
                                       "statement; the ids are {}",
                                       instruction.id, kernel.name, each, fmt::join(ids, ", ")));
      }
    }
  }
}

/// Follows dependencies from statement to statement, looking for one that comes again.
class CycleSearch {
 public:
  explicit CycleSearch(const Kernel& kernel) : kernel_(kernel) {
    for (const Instruction& instruction : kernel.instructions) {
      by_id_.emplace(instruction.id, &instruction);
    }
  }

  void run() {
    for (const Instruction& instruction : kernel_.instructions) {
      visit(instruction);
    }
  }

 private:
  void visit(const Instruction& instruction) {
    const auto start = std::find(path_.begin(), path_.end(), instruction.id);
    if (start != path_.end()) {
      const std::vector<std::string> cycle(start, path_.end());
      throw InvalidInput("loopy.check_kernel.dependency_cycle",
                         fmt::format("statements of kernel '{}' wait for each other: {} -> {}; "
                                     "each '->' reads \"depends on\"",
                                     kernel_.name, fmt::join(cycle, " -> "), instruction.id));
    }
    if (!done_.insert(instruction.id).second) {
      return;
    }
    path_.push_back(instruction.id);
    for (const std::string& each : instruction.depends_on) {
      visit(*by_id_.at(each));
    }
    path_.pop_back();
  }

  const Kernel& kernel_;
  std::map<std::string, const Instruction*, std::less<>> by_id_;
  std::vector<std::string> path_;
  NameSet done_;
};

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

void check_temporaries(const Kernel& kernel) {
  NameSet written;
  for (const Instruction& instruction : kernel.instructions) {
    written.merge(written_variables(instruction));
  }
  for (const Instruction& instruction : kernel.instructions) {
    for (const std::string& each : read_variables(kernel, instruction)) {
      const Temporary* temporary = find_temporary(kernel, each);
      if (temporary != nullptr && temporary->initial_values.empty() && written.count(each) == 0) {
        throw InvalidInput("loopy.check_kernel.undefined_temporary",
                           fmt::format("statement '{}' of kernel '{}' reads '{}', which no "
                                       "statement writes; assign to it, or make it an argument",
                                       instruction.id, kernel.name, each));
      }
    }
  }
}

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
                                     "it has to be an integer, not '{}'",
                                     access.statement, kernel.name, to_string(index), access.array,
                                     cgen::describe(type)));
    }
  }
}

}  // namespace

void check_statements(const Kernel& kernel) {
  check_ids(kernel);
  CycleSearch(kernel).run();
  const NameSet known = known_names(kernel);
  for (const Instruction& instruction : kernel.instructions) {
    check_targets(kernel, instruction);
    check_names_used(kernel, instruction, known);
  }
  check_temporaries(kernel);
  for (const ArrayAccess& access : accesses_of(kernel)) {
    check_indices(kernel, access);
  }
}

}  // namespace rtcg::loopy
