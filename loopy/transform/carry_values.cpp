#include "rtcg/loopy/transform/carry_values.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/analyze/access.h"
#include "rtcg/loopy/symbolic/traverse.h"
#include "rtcg/loopy/transform/expand_subst.h"
#include "rtcg/loopy/transform/iname_use.h"
#include "rtcg/loopy/transform/iteration_order.h"
#include "rtcg/loopy/transform/loop_beginning.h"
#include "rtcg/loopy/transform/record.h"

namespace rtcg::loopy {
namespace {

constexpr std::int64_t most_kept = 4;

/// The statement that carries values on, and how far back it reads.
struct Carry {
  std::size_t statement = 0;
  std::vector<Expr> target{};
  std::size_t axis = 0;     ///< along which the loop goes
  std::int64_t step = 1;    ///< of the index with the loop, 1 or -1
  std::int64_t oldest = 0;  ///< iterations
  Affine first{};           ///< of the loop
  ConstraintSet begins{};   ///< that the loop has an iteration, as far as it may have none
  bool reads_more = false;  ///< of the array than what it carries on
};

/// How many iterations before this one wrote what is read; nothing if none is known to have.
std::optional<std::int64_t> age_of(const Carry& carry, const std::vector<Expr>& read) {
  for (std::size_t i = 0; i < carry.target.size(); ++i) {
    if (i != carry.axis && simplify_index(read[i]) != simplify_index(carry.target[i])) {
      return std::nullopt;
    }
  }
  const std::optional<Affine> age = to_affine(carry.target[carry.axis] - read[carry.axis]);
  return age && age->is_constant() ? std::optional(carry.step * age->constant()) : std::nullopt;
}

class CarryFinder {
 public:
  CarryFinder(const Kernel& kernel, const std::string& array, const std::string& iname)
      : kernel_(kernel), array_(array), iname_(iname) {}

  /// What is carried, or why nothing is.
  std::optional<std::string> find(Carry& carry) {
    const Argument* argument = find_argument(kernel_, array_);
    if (argument == nullptr || !argument->is_array) {
      return fmt::format("kernel '{}' has no array argument '{}'", kernel_.name, array_);
    }
    if (!is_iname(kernel_, iname_) || tag_of(kernel_, iname_).kind != AxisKind::sequential) {
      return fmt::format("'{}' is no loop that runs one iteration after the other", iname_);
    }
    if (auto why = find_statement(carry)) {
      return why;
    }
    if (auto why = read_target(carry)) {
      return why;
    }
    if (auto why = read_ages(carry)) {
      return why;
    }
    const ConstraintSet bounds = constraints_of(kernel_, {iname_});
    const NameSet& around = kernel_.instructions[carry.statement].within_inames;
    const std::optional<Affine> first =
        bounds.congruences().empty() ? beginning_of(kernel_, iname_, around) : std::nullopt;
    if (!first) {
      return fmt::format("the first iteration of '{}' is not known", iname_);
    }
    carry.first = *first;
    NameSet outer = around;
    outer.erase(iname_);
    carry.begins = in_loop(bounds_of_loop(kernel_, iname_, around), iname_, *first,
                           constraints_of(kernel_, with_parent_inames(kernel_, outer)));
    return std::nullopt;
  }

 private:
  std::optional<std::string> find_statement(Carry& carry) const {
    bool is_found = false;
    for (std::size_t i = 0; i < kernel_.instructions.size(); ++i) {
      const Instruction& each = kernel_.instructions[i];
      if (each.within_inames.count(iname_) == 0) {
        continue;
      }
      const NameSet written = written_variables(each);
      const bool may_write =
          is<RawCode>(each) ? touches(kernel_, each, array_) : written.count(array_) != 0;
      if (may_write && is_found) {
        return fmt::format("several statements within '{}' write '{}'", iname_, array_);
      }
      for (const std::string& name : written) {
        const Argument* other = find_argument(kernel_, name);
        if (name != array_ && other != nullptr &&
            may_be_same(*find_argument(kernel_, array_), *other)) {
          return fmt::format("'{}', which may be the same memory, is written within '{}'", name,
                             iname_);
        }
      }
      if (may_write) {
        is_found = true;
        carry.statement = i;
      }
    }
    if (!is_found) {
      return fmt::format("no statement within '{}' writes '{}'", iname_, array_);
    }
    const Instruction& statement = kernel_.instructions[carry.statement];
    const Assignment* assignment = get_if<Assignment>(statement);
    if (assignment == nullptr || assignment->is_atomic || assignment->is_async_copy ||
        assignment->targets.size() != 1 || !statement.predicates.empty() ||
        statement.exchanges_items || statement.disjoint_at) {
      return fmt::format("statement '{}' is no plain assignment without a condition", statement.id);
    }
    return std::nullopt;
  }

  std::optional<std::string> read_target(Carry& carry) const {
    const Instruction& statement = kernel_.instructions[carry.statement];
    const Access* target = get_if<Access>(get_if<Assignment>(statement)->targets.front());
    std::size_t axes = 0;
    for (std::size_t i = 0; target != nullptr && i < target->indices.size(); ++i) {
      if (free_names(target->indices[i]).count(iname_) != 0) {
        ++axes;
        carry.axis = i;
      }
    }
    const std::optional<Affine> along =
        axes == 1 ? to_affine(target->indices[carry.axis]) : std::nullopt;
    if (!along || std::abs(along->coefficient(iname_)) != 1) {
      return fmt::format("the elements that statement '{}' writes do not go on by one with '{}'",
                         statement.id, iname_);
    }
    carry.step = along->coefficient(iname_);
    carry.target = target->indices;
    return std::nullopt;
  }

  std::optional<std::string> read_ages(Carry& carry) const {
    const Instruction& statement = kernel_.instructions[carry.statement];
    for (const ArrayAccess& access : accesses_of(kernel_, statement)) {
      if (access.array != array_ || access.is_write) {
        continue;
      }
      const std::optional<std::int64_t> age =
          access.is_linear ? std::nullopt : age_of(carry, access.indices);
      const bool is_carried = age && *age >= 1 && *age <= most_kept && access.conditions.empty();
      carry.reads_more = carry.reads_more || !is_carried;
      // otherwise the first iterations might read what is not there
      if (age && *age >= 1 && !access.conditions.empty()) {
        return fmt::format("statement '{}' reads '{}' under a condition", statement.id, array_);
      }
      carry.oldest = is_carried ? std::max(carry.oldest, *age) : carry.oldest;
    }
    return carry.oldest != 0
               ? std::nullopt
               : std::optional(fmt::format("statement '{}' reads nothing of '{}' that it wrote 1 "
                                           "to {} iterations of '{}' before",
                                           statement.id, array_, most_kept, iname_));
  }

  const Kernel& kernel_;
  const std::string& array_;
  const std::string& iname_;
};

class Carrying {
 public:
  Carrying(Kernel kernel, std::string array, std::string iname, Carry carry)
      : kernel_(std::move(kernel)),
        array_(std::move(array)),
        iname_(std::move(iname)),
        carry_(std::move(carry)),
        names_(make_name_generator(kernel_)) {}

  Kernel run() {
    for (std::int64_t age = 1; age <= carry_.oldest; ++age) {
      kept_.push_back(
          add_temporary(age == 1 ? array_ + "_last" : fmt::format("{}_last{}", array_, age)));
    }
    const Instruction statement = kernel_.instructions[carry_.statement];
    const Assignment& old = *get_if<Assignment>(statement);
    const Expr value = with_kept(old.value);
    // the oldest value makes room for the next one
    const std::string now = carry_.oldest == 1 ? kept_.front() : add_temporary(array_ + "_now");
    std::vector<Instruction> made;
    for (std::int64_t age = carry_.oldest; age >= 1; --age) {
      made.push_back(load(statement, age));
    }
    Instruction compute = statement;
    compute.id = names_.make("set_" + now);
    Assignment computed = old;
    computed.targets = {name(now)};
    computed.value = value;
    compute.kind = computed;
    const std::string computed_id = compute.id;
    made.push_back(std::move(compute));
    Instruction store = statement;
    Assignment stored = old;
    stored.value = name(now);
    store.kind = stored;
    store.depends_on.insert(computed_id);
    made.push_back(std::move(store));
    for (std::int64_t age = carry_.oldest; carry_.oldest > 1 && age >= 1; --age) {
      Instruction shift;
      shift.id = names_.make(fmt::format("keep_{}", kept(age)));
      shift.kind = Assignment{{name(kept(age))}, name(age == 1 ? now : kept(age - 1))};
      shift.within_inames = statement.within_inames;
      made.push_back(std::move(shift));
    }
    const auto place = kernel_.instructions.begin() + static_cast<std::ptrdiff_t>(carry_.statement);
    kernel_.instructions.insert(kernel_.instructions.erase(place), made.begin(), made.end());
    return std::move(kernel_);
  }

 private:
  [[nodiscard]] const std::string& kept(std::int64_t age) const {
    return kept_[static_cast<std::size_t>(age - 1)];
  }

  std::string add_temporary(const std::string& wanted) {
    Temporary temporary;
    temporary.name = names_.make(wanted);
    temporary.type = find_argument(kernel_, array_)->type;
    kernel_.temporaries.push_back(temporary);
    return temporary.name;
  }

  [[nodiscard]] Expr with_kept(const Expr& value) const {
    return rewrite_bottom_up(value, [&](const Expr& part) -> std::optional<Expr> {
      const Access* element = get_if<Access>(part);
      if (element == nullptr || element->array != array_) {
        return std::nullopt;
      }
      const auto age = age_of(carry_, element->indices);
      return age && *age >= 1 && *age <= carry_.oldest ? std::optional(name(kept(*age)))
                                                       : std::nullopt;
    });
  }

  /// Before the loop, what the iterations before it would have written.
  Instruction load(const Instruction& statement, std::int64_t age) {
    std::vector<Expr> indices;
    for (const Expr& index : carry_.target) {
      indices.push_back(
          simplify_index(substitute(index, {{iname_, to_expr(carry_.first - Affine(age))}})));
    }
    Instruction instruction;
    instruction.id = names_.make("load_" + kept(age));
    instruction.kind = Assignment{{name(kept(age))}, access(array_, std::move(indices))};
    instruction.within_inames = statement.within_inames;
    instruction.within_inames.erase(iname_);
    for (const Constraint& each : carry_.begins.constraints()) {
      const ComparisonOp op = each.is_equality ? ComparisonOp::equal : ComparisonOp::greater_equal;
      instruction.predicates.push_back(Comparison{op, to_expr(each.expr), 0});
    }
    for (const Instruction& each : kernel_.instructions) {
      if (statement.depends_on.count(each.id) != 0 && each.within_inames.count(iname_) == 0) {
        instruction.depends_on.insert(each.id);
      }
    }
    return instruction;
  }

  Kernel kernel_;
  const std::string array_;
  const std::string iname_;
  const Carry carry_;
  NameGenerator names_;
  std::vector<std::string> kept_{};
};

}  // namespace

Kernel carry_values(Kernel kernel, std::string_view array, std::string_view iname) {
  const std::string array_name(array);
  const std::string loop(iname);
  const Kernel before = kernel;
  const RecordedStep step(kernel);
  kernel = expand_if_in_rules(std::move(kernel), array_name);
  Carry carry;
  if (const auto why_not = CarryFinder(kernel, array_name, loop).find(carry)) {
    throw InvalidInput("loopy.carry_values.not_possible",
                       fmt::format("carry_values({}, {}): {}", array_name, loop, *why_not));
  }
  kernel = Carrying(std::move(kernel), array_name, loop, std::move(carry)).run();
  refuse_reordering(before, kernel, "loopy.carry_values.reorders_loops");
  step.record(kernel, "carry_values", {array_name, loop});
  return kernel;
}

std::vector<detail::CarriedValues> detail::find_carried_values(const Kernel& kernel) {
  std::vector<CarriedValues> found;
  const Kernel expanded = expand_subst(kernel);
  for (const Instruction& each : expanded.instructions) {
    const NameSet read = read_variables(expanded, each);
    for (const std::string& array : written_variables(each)) {
      for (const std::string& iname : read.count(array) != 0 ? each.within_inames : NameSet()) {
        Carry carry;
        if (CarryFinder(expanded, array, iname).find(carry) || carry.reads_more) {
          continue;
        }
        try {
          if (iteration_order(carry_values(kernel, array, iname))) {
            found.push_back({array, iname});
            break;
          }
        } catch (const InvalidInput&) {
          // its statements cannot be ordered so
        }
      }
    }
  }
  return found;
}

}  // namespace rtcg::loopy
