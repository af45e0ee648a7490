#include "rtcg/loopy/schedule/race_test.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rtcg/loopy/analyze/find_point.h"
#include "rtcg/loopy/codegen/launch_axes.h"
#include "rtcg/loopy/symbolic/traverse.h"

namespace rtcg::loopy {
namespace {

void add_access(const Kernel& kernel, std::size_t statement, const std::string& variable,
                const std::vector<Expr>* indices, bool is_write,
                std::vector<SharedAccess>& accesses) {
  const Temporary* temporary = find_temporary(kernel, variable);
  const bool is_private =
      temporary != nullptr && (temporary->address_space == AddressSpace::private_ ||
                               temporary->address_space == AddressSpace::automatic);
  const Argument* argument = find_argument(kernel, variable);
  if (is_private || (temporary == nullptr && (argument == nullptr || !argument->is_array))) {
    return;
  }
  SharedAccess access{statement, variable, {}, is_write, false};
  access.is_global = temporary == nullptr || temporary->address_space == AddressSpace::global;
  if (indices != nullptr) {
    for (const Expr& index : *indices) {
      const std::vector<IndexCase> cases = index_cases(index);
      access.indices.push_back(cases.size() == 1 ? std::optional(cases.front()) : std::nullopt);
    }
  }
  accesses.push_back(std::move(access));
}

void add_accesses(const Kernel& kernel, std::size_t statement, const Expr& expr,
                  std::vector<SharedAccess>& accesses) {
  walk(expr, [&](const Expr& part) {
    if (const Access* element = get_if<Access>(part)) {
      add_access(kernel, statement, element->array, &element->indices, false, accesses);
    } else if (const LinearAccess* linear = get_if<LinearAccess>(part)) {
      add_access(kernel, statement, linear->array, nullptr, false, accesses);
    } else if (const Name* scalar = get_if<Name>(part)) {
      add_access(kernel, statement, scalar->name, nullptr, false, accesses);
    }
    return true;
  });
}

bool is_in(const Instruction& instruction, const std::string& iname) {
  return instruction.within_inames.count(iname) != 0;
}

}  // namespace

std::vector<SharedAccess> shared_accesses(const Kernel& kernel, std::size_t statement) {
  const Instruction& instruction = kernel.instructions[statement];
  std::vector<SharedAccess> accesses;
  for (const Expr& predicate : instruction.predicates) {
    add_accesses(kernel, statement, predicate, accesses);
  }
  if (const RawCode* raw = get_if<RawCode>(instruction)) {
    for (const std::string& each : raw->reads) {
      add_access(kernel, statement, each, nullptr, false, accesses);
    }
    for (const std::string& each : raw->writes) {
      add_access(kernel, statement, each, nullptr, true, accesses);
    }
    for (const RawPart& part : raw->parts) {
      if (part.is_read) {
        add_accesses(kernel, statement, part.expr, accesses);
      }
      const Access* element = get_if<Access>(part.expr);
      if (part.is_written) {
        add_access(kernel, statement, target_name(part.expr),
                   element != nullptr ? &element->indices : nullptr, true, accesses);
      }
    }
  }
  if (const Assignment* assignment = get_if<Assignment>(instruction)) {
    add_accesses(kernel, statement, assignment->value, accesses);
    for (const Expr& target : assignment->targets) {
      for_each_child(target,
                     [&](const Expr& index) { add_accesses(kernel, statement, index, accesses); });
      const Access* element = get_if<Access>(target);
      add_access(kernel, statement, target_name(target),
                 element != nullptr ? &element->indices : nullptr, true, accesses);
    }
    for (SharedAccess& access : accesses) {
      access.is_atomic =
          assignment->is_atomic && access.variable == target_name(assignment->targets.front());
    }
  }
  return accesses;
}

bool need_order(const SharedAccess& first, const SharedAccess& second) {
  return (first.is_write || second.is_write) && first.variable == second.variable &&
         !(first.is_atomic && second.is_atomic);
}

Affine RaceTest::renamed(const Affine& expr, std::string_view suffix) const {
  return expr.rename([&](const std::string& name) { return instance_name(name, suffix); });
}

ConstraintSet RaceTest::renamed(const ConstraintSet& set, std::string_view suffix) const {
  return set.rename([&](const std::string& name) { return instance_name(name, suffix); });
}

// inames differ between the two instances; parameters do not; scalars that statements assign may,
// and so may quotients, which have names of their own
std::string RaceTest::instance_name(const std::string& name, std::string_view suffix) const {
  return is_iname(kernel_, name) || find_argument(kernel_, name) == nullptr
             ? fmt::format("{}{}", name, suffix)
             : name;
}

const ConstraintSet& RaceTest::instances(std::size_t statement, std::string_view suffix) const {
  const auto key = std::pair(statement, std::string(suffix));
  const auto known = instances_.find(key);
  return known != instances_.end()
             ? known->second
             : instances_
                   .emplace(key,
                            renamed(constraints_of(kernel_,
                                                   kernel_.instructions[statement].within_inames),
                                    suffix))
                   .first->second;
}

/// The iname that stands for the axis in the statement.
std::optional<std::string> RaceTest::iname_on_axis(const Instruction& instruction, AxisKind kind,
                                                   int axis) const {
  for (const std::string& iname : instruction.within_inames) {
    if (tag_of(kernel_, iname) == InameTag{kind, axis}) {
      return iname;
    }
  }
  return std::nullopt;
}

/// The number of the block or thread, from 0.
Affine RaceTest::position(const std::string& iname, std::string_view suffix) const {
  auto found = starts_.find(iname);
  if (found == starts_.end()) {
    found = starts_.emplace(iname, axis_start(kernel_, iname)).first;
  }
  return Affine(fmt::format("{}{}", iname, suffix)) - found->second;
}

/// Whether a statement that does not lie on an axis runs in its first thread or block only: where
/// it writes to memory that others along the axis see. Each block has shared memory of its own.
bool RaceTest::runs_in_first(const Instruction& instruction, AxisKind kind) const {
  for (const std::string& each : written_variables(instruction)) {
    const Temporary* temporary = find_temporary(kernel_, each);
    if (temporary == nullptr || temporary->address_space == AddressSpace::global ||
        (kind == AxisKind::block && temporary->address_space == AddressSpace::local)) {
      return true;
    }
  }
  return false;
}

bool RaceTest::is_axis_used(AxisKind kind, int axis) const {
  return std::any_of(kernel_.iname_tags.begin(), kernel_.iname_tags.end(), [&](const auto& each) {
    return each.second == InameTag{kind, axis} && is_iname(kernel_, each.first);
  });
}

/// Where the two touch the same element.
ConstraintSet RaceTest::meeting(const SharedAccess& first, const SharedAccess& second,
                                const Relation& relation) const {
  const Instruction& a = kernel_.instructions[first.statement];
  const Instruction& b = kernel_.instructions[second.statement];
  ConstraintSet both = instances(first.statement, "'1");
  both.add(instances(second.statement, "'2"));
  for (std::size_t axis = 0; axis < std::min(first.indices.size(), second.indices.size()); ++axis) {
    if (first.indices[axis] && second.indices[axis]) {
      both.add_zero(renamed(first.indices[axis]->value, "'1") -
                    renamed(second.indices[axis]->value, "'2"));
      both.add(renamed(first.indices[axis]->facts, "'1"));
      both.add(renamed(second.indices[axis]->facts, "'2"));
    }
  }
  for (const std::string& loop : relation.same_iteration) {
    if (is_in(a, loop) && is_in(b, loop)) {
      both.add_zero(Affine(loop + "'1") - Affine(loop + "'2"));
    }
  }
  if (relation.carried_by) {
    both.add_nonnegative(Affine(*relation.carried_by + "'2") - Affine(*relation.carried_by + "'1") -
                         1);
  }
  for (int axis = 0; axis < 3 && relation.same_block; ++axis) {
    const auto one = iname_on_axis(a, AxisKind::grid, axis);
    const auto other = iname_on_axis(b, AxisKind::grid, axis);
    if (one && other) {
      both.add_zero(position(*one, "'1") - position(*other, "'2"));
    }
  }
  return both;
}

std::optional<ConstraintSet> RaceTest::find_race(const SharedAccess& first,
                                                 const SharedAccess& second,
                                                 const Relation& relation) const {
  const ConstraintSet both = meeting(first, second, relation);
  const AxisKind kind = relation.same_block ? AxisKind::block : AxisKind::grid;
  for (int axis = 0; axis < 3; ++axis) {
    if (auto race = apart_on_axis(kernel_.instructions[first.statement],
                                  kernel_.instructions[second.statement], kind, axis, both)) {
      return race;
    }
  }
  return std::nullopt;
}

/// Where both lie at different places of the axis, if they may.
std::optional<ConstraintSet> RaceTest::apart_on_axis(const Instruction& a, const Instruction& b,
                                                     AxisKind kind, int axis,
                                                     const ConstraintSet& both) const {
  if (!is_axis_used(kind, axis)) {
    return std::nullopt;
  }
  const bool first_only_a = runs_in_first(a, kind);
  const bool first_only_b = runs_in_first(b, kind);
  const auto one = iname_on_axis(a, kind, axis);
  const auto other = iname_on_axis(b, kind, axis);
  if (!one && !other && first_only_a && first_only_b) {
    return std::nullopt;
  }
  const Affine any_one = first_only_a ? Affine(0) : Affine("thread'1");
  const Affine any_other = first_only_b ? Affine(0) : Affine("thread'2");
  const Affine difference =
      one && one == other  // counted from the same start, whatever it is
          ? Affine(fmt::format("{}'1", *one)) - Affine(fmt::format("{}'2", *one))
          : (one ? position(*one, "'1") : any_one) - (other ? position(*other, "'2") : any_other);
  for (const int sign : {1, -1}) {
    ConstraintSet apart = both;
    apart.add_nonnegative(Affine("thread'1"));
    apart.add_nonnegative(Affine("thread'2"));
    apart.add_nonnegative(difference * sign - 1);
    if (!apart.is_empty()) {
      return apart;
    }
  }
  return std::nullopt;
}

std::string RaceTest::example(const SharedAccess& first, const SharedAccess& second,
                              const Relation& relation) const {
  const auto race = find_race(first, second, relation);
  if (!race) {
    return {};
  }
  std::vector<std::string> names;
  for (const std::string& name : race->names()) {
    if (find_argument(kernel_, name) != nullptr) {
      names.push_back(name);  // parameters first: small ones make small examples
    }
  }
  const std::size_t parameter_count = names.size();
  for (const char* suffix : {"'1", "'2"}) {
    const std::size_t statement = suffix[1] == '1' ? first.statement : second.statement;
    for (const std::string& iname : all_inames(kernel_)) {
      if (is_in(kernel_.instructions[statement], iname)) {
        names.push_back(iname + suffix);
      }
    }
  }
  const auto point = find_point(*race, names, [](const IntegerValues&) { return true; });
  if (!point) {
    return {};
  }
  std::vector<std::string> values[3];  // parameters, first, second
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string& name = names[i];
    const bool is_parameter = i < parameter_count;
    const std::size_t place = is_parameter ? 0 : name.back() == '1' ? 1 : 2;
    values[place].push_back(fmt::format(
        "{} = {}", is_parameter ? name : name.substr(0, name.size() - 2), point->at(name)));
  }
  std::vector<std::string> element;
  for (const auto& index : first.indices) {
    const auto value = index ? evaluate_integer(renamed(index->value, "'1"), *point) : std::nullopt;
    element.push_back(value ? std::to_string(*value) : "?");
  }
  const auto at = [&](std::size_t statement, const std::vector<std::string>& where) {
    return fmt::format("by '{}'{}{}", kernel_.instructions[statement].id,
                       where.empty() ? "" : " at ", fmt::join(where, ", "));
  };
  return fmt::format("; for example element [{}], {} and {}{}{}", fmt::join(element, ", "),
                     at(first.statement, values[1]), at(second.statement, values[2]),
                     values[0].empty() ? "" : " where ", fmt::join(values[0], ", "));
}

}  // namespace rtcg::loopy
