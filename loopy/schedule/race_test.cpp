#include "rtcg/loopy/schedule/race_test.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rtcg/loopy/analyze/find_integer_point.h"
#include "rtcg/loopy/analyze/joined_indices.h"
#include "rtcg/loopy/polyhedral/digits_apart.h"
#include "rtcg/loopy/schedule/launch_axes.h"
#include "rtcg/loopy/symbolic/traverse.h"

namespace rtcg::loopy {
namespace {

AtomicUpdate update_of(const Expr& value) {
  const Call* call = get_if<Call>(value);
  return is<Sum>(value)                               ? AtomicUpdate::sum
         : call != nullptr && call->function == "min" ? AtomicUpdate::least
         : call != nullptr && call->function == "max" ? AtomicUpdate::greatest
                                                      : AtomicUpdate::other;
}

class AccessFinder {
 public:
  AccessFinder(const Kernel& kernel, const VariableIndex& variables)
      : kernel_(kernel), variables_(variables) {}

  std::vector<SharedAccess> find(std::size_t statement);

 private:
  /// @param element  the access; null for whole variables
  void add(const std::string& variable, const std::vector<Expr>* indices, bool is_write,
           const Expr* element = nullptr);
  void add_reads(const Expr& expr);
  /// The index in one affine form, if it has one.
  const std::shared_ptr<const IndexCase>& case_of(const Expr& index);

  struct Hash {
    std::size_t operator()(const Expr& expr) const noexcept { return expr.hash(); }
  };
  const Kernel& kernel_;
  const VariableIndex& variables_;
  std::unordered_map<Expr, std::shared_ptr<const IndexCase>, Hash> cases_;
  std::size_t statement_ = 0;
  std::vector<SharedAccess> accesses_;
};

const std::shared_ptr<const IndexCase>& AccessFinder::case_of(const Expr& index) {
  const auto known = cases_.find(index);
  if (known != cases_.end()) {
    return known->second;
  }
  std::vector<IndexCase> cases = index_cases(index);
  return cases_
      .emplace(index, cases.size() == 1
                          ? std::make_shared<const IndexCase>(std::move(cases.front()))
                          : nullptr)
      .first->second;
}

void AccessFinder::add(const std::string& variable, const std::vector<Expr>* indices, bool is_write,
                       const Expr* element) {
  const Temporary* temporary = variables_.find_temporary(variable);
  const bool is_private =
      temporary != nullptr && (temporary->address_space == AddressSpace::private_ ||
                               temporary->address_space == AddressSpace::automatic);
  const Argument* argument = temporary == nullptr ? variables_.find_argument(variable) : nullptr;
  if (is_private || (temporary == nullptr && (argument == nullptr || !argument->is_array))) {
    return;
  }
  SharedAccess access;
  access.statement = statement_;
  access.variable = variable;
  access.is_write = is_write;
  access.is_global = temporary == nullptr || temporary->address_space == AddressSpace::global;
  const Instruction& instruction = kernel_.instructions[statement_];
  if (instruction.disjoint_at && element != nullptr) {
    const std::vector<Expr> targets = targets_of(instruction);
    access.is_disjoint = std::find(targets.begin(), targets.end(), *element) != targets.end();
  }
  if (indices != nullptr) {
    access.indices.reserve(indices->size());
    for (const Expr& index : *indices) {
      access.indices.push_back(case_of(index));
    }
    for (const JoinedIndex& each : joined_indices(kernel_, *indices)) {
      access.joined.emplace(each.key, case_of(each.value));
    }
  }
  accesses_.push_back(std::move(access));
}

void AccessFinder::add_reads(const Expr& expr) {
  walk(expr, [&](const Expr& part) {
    if (const Access* element = get_if<Access>(part)) {
      add(element->array, &element->indices, false, &part);
    } else if (const LinearAccess* linear = get_if<LinearAccess>(part)) {
      add(linear->array, nullptr, false, &part);
    } else if (const Name* scalar = get_if<Name>(part)) {
      add(scalar->name, nullptr, false);
    }
    return true;
  });
}

std::vector<SharedAccess> AccessFinder::find(std::size_t statement) {
  const Instruction& instruction = kernel_.instructions[statement];
  statement_ = statement;
  for (const Expr& predicate : instruction.predicates) {
    add_reads(predicate);
  }
  if (const RawCode* raw = get_if<RawCode>(instruction)) {
    for (const std::string& each : raw->reads) {
      add(each, nullptr, false);
    }
    for (const std::string& each : raw->writes) {
      add(each, nullptr, true);
    }
  }
  for_each_part(instruction, [&](const Expr& part, bool is_read, bool is_written) {
    if (is_written && is<LookBack>(instruction)) {
      return;  // blocks wait for each other's elements
    }
    if (is_read) {
      add_reads(part);
    }
    const Access* element = get_if<Access>(part);
    if (is_written) {
      add(target_name(part), element != nullptr ? &element->indices : nullptr, true);
    }
  });
  if (const Assignment* assignment = get_if<Assignment>(instruction)) {
    add_reads(assignment->value);
    for (const Expr& target : assignment->targets) {
      for_each_child(target, [&](const Expr& index) { add_reads(index); });
      const Access* element = get_if<Access>(target);
      add(target_name(target), element != nullptr ? &element->indices : nullptr, true, &target);
    }
    for (SharedAccess& access : accesses_) {
      access.is_atomic =
          assignment->is_atomic && access.variable == target_name(assignment->targets.front());
      access.update = update_of(assignment->value);
    }
  }
  return std::exchange(accesses_, {});
}

bool is_in(const Instruction& instruction, const std::string& iname) {
  return instruction.within_inames.count(iname) != 0;
}

}  // namespace

std::vector<std::vector<SharedAccess>> shared_accesses(const Kernel& kernel,
                                                       const VariableIndex& variables) {
  AccessFinder finder(kernel, variables);
  std::vector<std::vector<SharedAccess>> accesses;
  accesses.reserve(kernel.instructions.size());
  for (std::size_t i = 0; i < kernel.instructions.size(); ++i) {
    accesses.push_back(finder.find(i));
  }
  return accesses;
}

bool need_order(const SharedAccess& first, const SharedAccess& second) {
  const bool is_same_update =
      first.is_atomic && second.is_atomic && first.update == second.update &&
      (first.update != AtomicUpdate::other || first.statement == second.statement);
  return (first.is_write || second.is_write) && first.variable == second.variable &&
         !is_same_update;
}

RaceTest::RaceTest(const Kernel& kernel, const VariableIndex& variables,
                   const std::vector<std::size_t>& statements)
    : kernel_(kernel), variables_(variables) {
  for (const std::size_t statement : statements) {
    for (const std::string& iname : kernel.instructions[statement].within_inames) {
      const InameTag tag = tag_of(kernel, iname);
      if (tag.is_parallel() && !is_axis_used(tag.kind, tag.number)) {
        axes_.emplace(tag.kind, tag.number);
      }
    }
  }
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
  const bool differs = variables_.find_argument(name) == nullptr || is_iname(kernel_, name);
  return differs ? std::string(name).append(suffix) : name;
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

/// The statement's iname on the axis.
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
  return Affine(std::string(iname).append(suffix)) - found->second;
}

/// Whether a statement that is not on an axis runs in its first thread or block only: if it writes
/// to memory that others along the axis see. Each block has shared memory of its own.
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
  return axes_.count({kind, axis}) != 0;
}

bool RaceTest::has_axes(AxisKind kind) const {
  return std::any_of(axes_.begin(), axes_.end(),
                     [&](const auto& each) { return each.first == kind; });
}

/// The pairs of instances that touch the same element.
ConstraintSet RaceTest::overlap(const SharedAccess& first, const SharedAccess& second,
                                const Relation& relation) const {
  const Instruction& a = kernel_.instructions[first.statement];
  const Instruction& b = kernel_.instructions[second.statement];
  ConstraintSet both = instances(first.statement, "'1");
  both.add(instances(second.statement, "'2"));
  const auto add_equal = [&](const std::shared_ptr<const IndexCase>& one,
                             const std::shared_ptr<const IndexCase>& other) {
    if (one && other) {
      both.add_zero(renamed(one->value, "'1") - renamed(other->value, "'2"));
      both.add(renamed(one->context, "'1"));
      both.add(renamed(other->context, "'2"));
    }
  };
  for (std::size_t axis = 0; axis < std::min(first.indices.size(), second.indices.size()); ++axis) {
    add_equal(first.indices[axis], second.indices[axis]);
  }
  for (const auto& [key, value] : first.joined) {
    if (const auto same = second.joined.find(key); same != second.joined.end()) {
      add_equal(value, same->second);
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
  // loops that are cut several times: most questions are answered by it at once
  return with_digits_apart(std::move(both));
}

std::optional<ConstraintSet> RaceTest::find_race(const SharedAccess& first,
                                                 const SharedAccess& second,
                                                 const Relation& relation) const {
  if (first.statement == second.statement && first.is_disjoint && second.is_disjoint) {
    return find_race_of_disjoint(first, second, relation);
  }
  return find_race_in(first, second, relation, overlap(first, second, relation));
}

/// Instances of one statement that write different elements where its expressions agree.
std::optional<ConstraintSet> RaceTest::find_race_of_disjoint(const SharedAccess& first,
                                                             const SharedAccess& second,
                                                             const Relation& relation) const {
  const ConstraintSet both = overlap(first, second, relation);
  for (const Expr& each : *kernel_.instructions[first.statement].disjoint_at) {
    const std::optional<Affine> key = to_affine(each);
    if (!key) {
      return find_race_in(first, second, relation, both);
    }
    const Affine distance = renamed(*key, "'1") - renamed(*key, "'2");
    for (const int sign : {1, -1}) {
      ConstraintSet apart = both;
      apart.add_nonnegative(distance * sign - 1);
      if (apart.is_empty()) {
        continue;
      }
      if (auto race = find_race_in(first, second, relation, apart)) {
        return race;
      }
    }
  }
  return std::nullopt;
}

std::optional<ConstraintSet> RaceTest::find_race_in(const SharedAccess& first,
                                                    const SharedAccess& second,
                                                    const Relation& relation,
                                                    const ConstraintSet& both) const {
  const AxisKind kind = relation.same_block ? AxisKind::block : AxisKind::grid;
  for (int axis = 0; axis < 3; ++axis) {
    if (auto race = apart_on_axis(kernel_.instructions[first.statement],
                                  kernel_.instructions[second.statement], kind, axis, both)) {
      return race;
    }
  }
  return std::nullopt;
}

/// The pairs at different positions of the axis, if there may be any.
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
      one && one == other  // counted from the same start
          ? Affine(*one + "'1") - Affine(*one + "'2")
          : (one ? position(*one, "'1") : any_one) - (other ? position(*other, "'2") : any_other);
  std::optional<ConstraintSet> with_any;
  if ((!one && !first_only_a) || (!other && !first_only_b)) {
    with_any = both;
    with_any->add_nonnegative(Affine("thread'1"));
    with_any->add_nonnegative(Affine("thread'2"));
  }
  const ConstraintSet& threads = with_any ? *with_any : both;
  for (const int sign : {1, -1}) {
    // asked of what concerns the difference; of all only where that leaves a race
    if (threads.implies_nonnegative(difference * -sign)) {
      continue;
    }
    ConstraintSet apart = threads;
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
  const auto point = find_integer_point(*race, names, [](const IntegerValues&) { return true; });
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
