#include "rtcg/loopy/transform/iteration_order.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/analyze/access_overlap.h"
#include "rtcg/loopy/analyze/find_integer_point.h"
#include "rtcg/loopy/analyze/index_cases.h"
#include "rtcg/loopy/schedule/loop_tree.h"
#include "rtcg/loopy/symbolic/traverse.h"
#include "rtcg/loopy/transform/choose_address_spaces.h"
#include "rtcg/loopy/transform/expand_subst.h"
#include "rtcg/loopy/transform/refusal.h"

namespace rtcg::loopy {
namespace {

void add_orders(const Kernel& kernel, const LoopTree& tree, std::vector<LoopLevel>& open,
                IterationOrder& order) {
  for (const LoopTreeNode& node : tree) {
    if (const LoopNode* loop = get_if<LoopNode>(node)) {
      open.push_back({loop->iname, Affine(loop->iname)});
      add_orders(kernel, loop->body, open, order);
      open.pop_back();
    } else if (const StatementNode* statement = get_if<StatementNode>(node)) {
      order[kernel.instructions[statement->index].id] = {open, order.size()};
    }
  }
}

/// How many loops the two share from the outside.
std::size_t shared_levels(const StatementOrder& one, const StatementOrder& other) {
  std::size_t count = 0;
  while (count < one.levels.size() && count < other.levels.size() &&
         one.levels[count].loop == other.levels[count].loop) {
    ++count;
  }
  return count;
}

bool are_in_same_loops(const StatementOrder& one, const StatementOrder& other) {
  return one.levels.size() == other.levels.size() && shared_levels(one, other) == one.levels.size();
}

/// Whether two statements are ordered alike in both.
bool is_same_order(const StatementOrder& one_before, const StatementOrder& other_before,
                   const StatementOrder& one_after, const StatementOrder& other_after) {
  const std::size_t shared = shared_levels(one_before, other_before);
  if (shared != shared_levels(one_after, other_after) ||
      (one_before.place < other_before.place) != (one_after.place < other_after.place)) {
    return false;
  }
  for (std::size_t level = 0; level < shared; ++level) {
    if (one_before.levels[level].value != one_after.levels[level].value ||
        other_before.levels[level].value != other_after.levels[level].value) {
      return false;
    }
  }
  return true;
}

bool reads(const Expr& expr, const std::string& variable) {
  return accessed_arrays(expr).count(variable) != 0 || free_names(expr).count(variable) != 0;
}

/// `+` or `*` if the statement adds to its target or multiplies it; otherwise 0.
char update_kind(const Instruction& instruction) {
  const Assignment* assignment = get_if<Assignment>(instruction);
  if (assignment == nullptr || assignment->targets.size() != 1) {
    return 0;
  }
  const Expr& target = assignment->targets.front();
  const Sum* sum = get_if<Sum>(assignment->value);
  const Product* product = get_if<Product>(assignment->value);
  if (sum == nullptr && product == nullptr) {
    return 0;
  }
  const std::vector<Expr>& parts = sum != nullptr ? sum->terms : product->factors;
  const auto itself = std::count(parts.begin(), parts.end(), target);
  if (itself != 1) {
    return 0;
  }
  const auto reading = std::count_if(parts.begin(), parts.end(), [&](const Expr& part) {
    return reads(part, target_name(target));
  });
  return reading == 1 ? (sum != nullptr ? '+' : '*') : char{0};
}

/// The accesses of a statement, with those of C text at places that are not known.
std::vector<ArrayAccess> all_accesses(const Kernel& kernel, const Instruction& instruction) {
  std::vector<ArrayAccess> accesses = accesses_of(kernel, instruction);
  if (const RawCode* raw = get_if<RawCode>(instruction)) {
    const auto add = [&](const NameSet& names, bool is_write) {
      for (const std::string& each : names) {
        accesses.push_back({.array = each,
                            .is_write = is_write,
                            .is_linear = true,
                            .statement = instruction.id,
                            .inames = instruction.within_inames});
      }
    };
    add(raw->reads, false);
    add(raw->writes, true);
  }
  return accesses;
}

bool is_same_access(const ArrayAccess& one, const ArrayAccess& other) {
  return one.array == other.array && one.is_write == other.is_write &&
         one.is_linear == other.is_linear && one.indices == other.indices &&
         one.inames == other.inames && one.conditions == other.conditions;
}

/// Without what a statement repeats: pairs are asked about.
std::vector<ArrayAccess> distinct_accesses(const Kernel& kernel, const Instruction& instruction) {
  std::vector<ArrayAccess> distinct;
  for (ArrayAccess& access : all_accesses(kernel, instruction)) {
    if (std::none_of(distinct.begin(), distinct.end(),
                     [&](const ArrayAccess& each) { return is_same_access(each, access); })) {
      distinct.push_back(std::move(access));
    }
  }
  return distinct;
}

class DependenceSearch {
 public:
  DependenceSearch(const Kernel& kernel, const IterationOrder& before, const IterationOrder& after,
                   const DependenceOptions& options)
      : kernel_(kernel), before_(before), after_(after), options_(options) {
    for (const Instruction& instruction : kernel.instructions) {
      accesses_.push_back(distinct_accesses(kernel, instruction));
    }
  }

  [[nodiscard]] std::optional<std::string> find() const {
    if (options_.are_temporaries_set_first) {
      for (const std::vector<ArrayAccess>& accesses : accesses_) {
        for (const ArrayAccess& access : accesses) {
          if (auto why = find_value_in_other_copy(access)) {
            return why;
          }
        }
      }
    }
    for (std::size_t one = 0; one < accesses_.size(); ++one) {
      for (std::size_t other = 0; other < accesses_.size(); ++other) {
        if (auto why = find_between(one, other)) {
          return why;
        }
      }
    }
    return std::nullopt;
  }

 private:
  /// An instance of `one` that ran before an instance of `other`, and would run after it.
  [[nodiscard]] std::optional<std::string> find_between(std::size_t one, std::size_t other) const {
    const Instruction& first = kernel_.instructions[one];
    const Instruction& second = kernel_.instructions[other];
    if (!is_ordered(first.id) || !is_ordered(second.id) ||
        is_same_order(before_.at(first.id), before_.at(second.id), after_.at(first.id),
                      after_.at(second.id))) {
      return std::nullopt;
    }
    for (const ArrayAccess& early : accesses_[one]) {
      for (const ArrayAccess& late : accesses_[other]) {
        if (early.array != late.array || (!early.is_write && !late.is_write) ||
            is_in_any_order(first, second, early.array) || is_before_set(early, late) ||
            is_set_anew(early.array)) {
          continue;
        }
        if (options_.is_proof && (!is_affine(early) || !is_affine(late))) {
          continue;
        }
        if (auto why = find_reversed(early, late)) {
          return why;
        }
      }
    }
    return std::nullopt;
  }

  [[nodiscard]] bool is_ordered(const std::string& id) const {
    return before_.count(id) != 0 && after_.count(id) != 0;
  }
  [[nodiscard]] static bool is_in_any_order(const Instruction& one, const Instruction& other,
                                            const std::string& variable) {
    const char kind = update_kind(one);
    return kind != 0 && kind == update_kind(other) && written_variables(one).count(variable) != 0 &&
           written_variables(other).count(variable) != 0;
  }

  /// Whether `early` reads a temporary that nothing but `late`, a statement before it, sets.
  [[nodiscard]] bool is_before_set(const ArrayAccess& early, const ArrayAccess& late) const {
    if (!options_.are_temporaries_set_first || early.is_write ||
        find_temporary(kernel_, early.array) == nullptr ||
        before_.at(late.statement).place > before_.at(early.statement).place) {
      return false;
    }
    return std::none_of(
        kernel_.instructions.begin(), kernel_.instructions.end(), [&](const Instruction& each) {
          return each.id != late.statement && written_variables(each).count(early.array) != 0;
        });
  }

  /// Whether all values of the iname have a copy of the temporary of their own.
  [[nodiscard]] bool has_own_copy(const Temporary& temporary, const std::string& iname) const {
    const InameTag tag = tag_of(kernel_, iname);
    if (temporary.address_space == AddressSpace::local) {
      return tag.kind == AxisKind::grid;
    }
    if (temporary.address_space != AddressSpace::private_ || is_loop_iname(kernel_, iname)) {
      return false;
    }
    // a lane that indexes the temporary has elements of it, not all of them
    return !tag.is_lane() ||
           std::none_of(kernel_.instructions.begin(), kernel_.instructions.end(),
                        [&](const Instruction& each) {
                          const std::vector<Expr> targets = targets_of(each);
                          return std::any_of(targets.begin(), targets.end(),
                                             [&](const Expr& target) {
                                               return target_name(target) == temporary.name &&
                                                      free_names(target).count(iname) != 0;
                                             });
                        });
  }

  /// An element of a temporary that only other iterations of an axis set, each in its own copy:
  /// a[i - 1] of what statements set as a[i].
  [[nodiscard]] std::optional<std::string> find_value_in_other_copy(const ArrayAccess& read) const {
    const Temporary* temporary = find_temporary(kernel_, read.array);
    if (read.is_write || temporary == nullptr || read.indices.empty() || !is_affine(read)) {
      return std::nullopt;
    }
    NameSet own;
    for (const std::string& iname : read.inames) {
      if (!is_loop_iname(kernel_, iname) && has_own_copy(*temporary, iname)) {
        own.insert(iname);
      }
    }
    if (own.empty() || !temporary->initial_values.empty()) {
      return std::nullopt;
    }
    const ArrayAccess* elsewhere = nullptr;
    std::optional<IntegerValues> example;
    for (const std::vector<ArrayAccess>& accesses : accesses_) {
      for (const ArrayAccess& write : accesses) {
        if (write.array != read.array || !write.is_write) {
          continue;
        }
        if (!is_affine(write) || write.indices.size() != read.indices.size()) {
          return std::nullopt;
        }
        const ConstraintSet meeting = at_one_element(kernel_, write, read);
        ConstraintSet here = meeting;
        for (const std::string& iname : own) {
          if (write.inames.count(iname) != 0) {
            here.add_zero(Affine(iname + "'1") - Affine(iname + "'2"));
          }
        }
        if (!here.is_empty()) {
          return std::nullopt;
        }
        if (elsewhere == nullptr && !meeting.is_empty()) {
          example = find_example(write, read, meeting);
          elsewhere = example ? &write : nullptr;
        }
      }
    }
    return elsewhere == nullptr
               ? std::nullopt
               : std::optional(fmt::format("an element of '{}' is used in two iterations that have "
                                           "a copy of it each: {}, "
                                           "and {}",
                                           read.array, describe(*elsewhere, "'1", example),
                                           describe(read, "'2", example)));
  }

  /// Whether each iteration that reads the variable has set it before, in an element or a copy that
  /// the axes' other iterations do not touch.
  [[nodiscard]] bool is_set_anew(const std::string& variable) const {
    const Temporary* temporary = find_temporary(kernel_, variable);
    if (temporary == nullptr) {
      return false;
    }
    for (const std::vector<ArrayAccess>& accesses : accesses_) {
      for (const ArrayAccess& access : accesses) {
        if (access.array == variable &&
            std::any_of(access.inames.begin(), access.inames.end(), [&](const std::string& iname) {
              return !is_loop_iname(kernel_, iname) && !has_own_copy(*temporary, iname);
            })) {
          return false;
        }
      }
    }
    for (std::size_t reader = 0; reader < accesses_.size(); ++reader) {
      for (const ArrayAccess& access : accesses_[reader]) {
        if (access.array == variable && !access.is_write && !is_set_before(access, reader)) {
          return false;
        }
      }
    }
    return true;
  }
  [[nodiscard]] bool is_set_before(const ArrayAccess& read, std::size_t reader) const {
    const Instruction& reading = kernel_.instructions[reader];
    for (std::size_t writer = 0; writer < accesses_.size(); ++writer) {
      const Instruction& writing = kernel_.instructions[writer];
      const bool is_around = writing.within_inames == reading.within_inames &&
                             writing.predicates.empty() && is_ordered(writing.id) &&
                             is_ordered(reading.id) &&
                             before_.at(writing.id).place < before_.at(reading.id).place &&
                             are_in_same_loops(before_.at(writing.id), before_.at(reading.id));
      if (is_around && std::any_of(accesses_[writer].begin(), accesses_[writer].end(),
                                   [&](const ArrayAccess& each) {
                                     return each.is_write && !each.is_linear &&
                                            each.array == read.array &&
                                            each.indices == read.indices &&
                                            each.inames == read.inames;
                                   })) {
        return true;
      }
    }
    return false;
  }

  [[nodiscard]] std::optional<std::string> find_reversed(const ArrayAccess& early,
                                                         const ArrayAccess& late) const {
    const std::vector<ConstraintSet> earlier = sequences(before_, early, "'1", late, "'2");
    std::vector<ConstraintSet> later = sequences(after_, late, "'2", early, "'1");
    if (is_read_for_all_first(early, late)) {
      later.push_back(in_same_iteration(after_.at(late.statement)));
    }
    if (earlier.empty() || later.empty()) {
      return std::nullopt;
    }
    for (const ConstraintSet& meeting : meetings_of(early, late)) {
      for (const ConstraintSet& then : earlier) {
        ConstraintSet ran = meeting;
        ran.add(then);
        if (ran.is_empty()) {
          continue;
        }
        for (const ConstraintSet& now : later) {
          ConstraintSet set = ran;
          set.add(now);
          if (set.is_empty()) {
            continue;
          }
          const std::optional<IntegerValues> point = find_example(early, late, set);
          if (point || !options_.is_proof) {
            return describe(early, late, point);
          }
        }
      }
    }
    return std::nullopt;
  }

  /// The ways in which both accesses happen at the same element: of a statement that is stated to
  /// write different elements, only instances at which its expressions differ.
  [[nodiscard]] std::vector<ConstraintSet> meetings_of(const ArrayAccess& early,
                                                       const ArrayAccess& late) const {
    const ConstraintSet meeting = meeting_of(early, late);
    const Instruction& statement = *find_instruction(kernel_, early.statement);
    if (early.statement != late.statement || !statement.disjoint_at ||
        !is_target(statement, early) || !is_target(statement, late)) {
      return {meeting};
    }
    std::vector<ConstraintSet> result;
    for (const Expr& each : *statement.disjoint_at) {
      const std::optional<Affine> key = to_affine(each);
      if (!key) {
        return {meeting};
      }
      const Affine distance = with_suffix(kernel_, *key, "'1") - with_suffix(kernel_, *key, "'2");
      for (const int sign : {1, -1}) {
        result.push_back(meeting);
        result.back().add_nonnegative(distance * sign - 1);
      }
    }
    return result;
  }
  [[nodiscard]] static bool is_target(const Instruction& statement, const ArrayAccess& access) {
    const std::vector<Expr> targets = targets_of(statement);
    return std::any_of(targets.begin(), targets.end(), [&](const Expr& each) {
      const Access* target = get_if<Access>(each);
      return target != nullptr && target->array == access.array &&
             target->indices == access.indices;
    });
  }

  /// Whether lanes and threads that run one statement all read `late`, in a reduction, before one
  /// of them writes `early`: reductions are done before the statement that they are in.
  [[nodiscard]] bool is_read_for_all_first(const ArrayAccess& early,
                                           const ArrayAccess& late) const {
    const auto statement =
        std::find_if(kernel_.instructions.begin(), kernel_.instructions.end(),
                     [&](const Instruction& each) { return each.id == late.statement; });
    return options_.is_proof && early.statement == late.statement && early.is_write &&
           !late.is_write && late.inames != statement->within_inames;
  }
  [[nodiscard]] ConstraintSet in_same_iteration(const StatementOrder& statement) const {
    ConstraintSet equal;
    for (const LoopLevel& level : statement.levels) {
      equal.add_zero(with_suffix(kernel_, level.value, "'1") -
                     with_suffix(kernel_, level.value, "'2"));
    }
    return equal;
  }

  /// The ways in which an instance of `one` comes before an instance of `other`.
  [[nodiscard]] std::vector<ConstraintSet> sequences(const IterationOrder& order,
                                                     const ArrayAccess& one, const char* suffix,
                                                     const ArrayAccess& other,
                                                     const char* other_suffix) const {
    const StatementOrder& first = order.at(one.statement);
    const StatementOrder& second = order.at(other.statement);
    std::vector<ConstraintSet> result;
    ConstraintSet equal;
    for (std::size_t level = 0; level < shared_levels(first, second); ++level) {
      const Affine ahead = with_suffix(kernel_, second.levels[level].value, other_suffix) -
                           with_suffix(kernel_, first.levels[level].value, suffix);
      result.push_back(equal);
      result.back().add_nonnegative(ahead - 1);
      equal.add_zero(ahead);
    }
    if (first.place < second.place) {
      result.push_back(equal);
    }
    return result;
  }

  /// Both accesses happen, at the same element.
  [[nodiscard]] ConstraintSet meeting_of(const ArrayAccess& one, const ArrayAccess& other) const {
    ConstraintSet set = at_one_element(kernel_, one, other);
    // each thread, lane or block has its own
    const Temporary* temporary = find_temporary(kernel_, one.array);
    for (const std::string& iname : one.inames) {
      const bool is_apart = temporary != nullptr && has_own_copy(*temporary, iname);
      if (is_apart && other.inames.count(iname) != 0) {
        set.add_zero(Affine(iname + "'1") - Affine(iname + "'2"));
      }
    }
    return set;
  }

  /// `'S' writes it at i = 1, j = 0`.
  [[nodiscard]] std::string describe(const ArrayAccess& access, const char* suffix,
                                     const std::optional<IntegerValues>& point) const {
    std::vector<std::string> values;
    for (const std::string& iname : all_inames(kernel_)) {
      if (point && access.inames.count(iname) != 0) {
        values.push_back(fmt::format("{} = {}", iname, point->at(iname + suffix)));
      }
    }
    return fmt::format("'{}' {} it{}{}", access.statement, access.is_write ? "writes" : "reads",
                       values.empty() ? "" : " at ", fmt::join(values, ", "));
  }
  [[nodiscard]] static bool is_affine(const ArrayAccess& access) {
    return !access.is_linear &&
           std::all_of(access.indices.begin(), access.indices.end(),
                       [](const Expr& index) { return index_cases(index).size() == 1; });
  }
  [[nodiscard]] std::optional<IntegerValues> find_example(const ArrayAccess& early,
                                                          const ArrayAccess& late,
                                                          const ConstraintSet& meeting) const {
    std::vector<std::string> names;
    for (const std::string& name : meeting.names()) {
      if (find_argument(kernel_, name) != nullptr) {
        names.push_back(name);
      }
    }
    for (const std::string& iname : all_inames(kernel_)) {
      for (const auto& [access, suffix] : {std::pair(&early, "'1"), std::pair(&late, "'2")}) {
        if (access->inames.count(iname) != 0) {
          names.push_back(iname + suffix);
        }
      }
    }
    return find_integer_point(meeting, names, [](const IntegerValues&) { return true; });
  }
  [[nodiscard]] std::string describe(const ArrayAccess& early, const ArrayAccess& late,
                                     const std::optional<IntegerValues>& point) const {
    return fmt::format(
        "an element of '{}' is used in two iterations: first {}, then {}; they "
        "would change places",
        early.array, describe(early, "'1", point), describe(late, "'2", point));
  }

  const Kernel& kernel_;
  const IterationOrder& before_;
  const IterationOrder& after_;
  const DependenceOptions& options_;
  std::vector<std::vector<ArrayAccess>> accesses_;  // of each statement
};

/// The order of the kernel whose axes and lanes are loops. What priorities say of those has no
/// meaning for the kernel itself, and may leave its loops without an order: then it does not count.
std::optional<IterationOrder> order_as_loops(const Kernel& kernel, Kernel loops) {
  if (auto order = iteration_order(loops)) {
    return order;
  }
  for (std::vector<std::string>& priority : loops.loop_priorities) {
    std::erase_if(priority, [&](const std::string& iname) {
      return kernel.iname_tags.count(iname) != 0 && loops.iname_tags.count(iname) == 0;
    });
  }
  return iteration_order(loops);
}

/// Why blocks or threads cannot have the iterations of `iname`: a statement reads a temporary ahead
/// of all that set it within an iteration, so it reads what the iteration before has set.
std::optional<std::string> find_carried_temporary(const Kernel& kernel, const std::string& iname) {
  std::map<std::string, std::string> first_readers;  // of temporaries that are not yet set
  NameSet set;
  for (const Instruction& each : kernel.instructions) {
    const Assignment* assignment = get_if<Assignment>(each);
    if (each.within_inames.count(iname) == 0 || (assignment != nullptr && assignment->is_atomic)) {
      continue;  // of atomic updates one comes after the other
    }
    for (const ArrayAccess& access : accesses_of(kernel, each)) {
      const bool has_own_element =
          std::any_of(access.indices.begin(), access.indices.end(),
                      [&](const Expr& index) { return free_names(index).count(iname) != 0; });
      const Temporary* temporary = find_temporary(kernel, access.array);
      if (temporary == nullptr || has_own_element ||
          temporary->address_space == AddressSpace::global) {
        continue;
      }
      if (!access.is_write) {
        // what is read under a condition may not be read at all
        if (set.count(access.array) == 0 && access.conditions.empty()) {
          first_readers.emplace(access.array, each.id);
        }
        continue;
      }
      if (const auto reader = first_readers.find(access.array); reader != first_readers.end()) {
        return fmt::format(
            "'{0}' goes from iteration to iteration of '{1}': statement '{2}' reads "
            "what '{3}' has set in the one before, but blocks and threads have "
            "values of their own. Let '{1}' be a loop, or give '{0}' an element for "
            "each iteration",
            access.array, iname, reader->second, each.id);
      }
      set.insert(access.array);
    }
  }
  return std::nullopt;
}

/// Where threads meet the user says what they find there. Launches are ordered for loops and axes
/// alike.
bool states_order(const Instruction& instruction) {
  const BarrierInstruction* barrier = get_if<BarrierInstruction>(instruction);
  return is<CopyFence>(instruction) ||
         (barrier != nullptr && barrier->scope == BarrierScope::local);
}

}  // namespace

std::optional<IterationOrder> iteration_order(const Kernel& kernel) {
  try {
    const auto expanded = kernel.rules.empty() ? std::nullopt : std::optional(expand_subst(kernel));
    const Kernel& asked = expanded ? *expanded : kernel;
    IterationOrder order;
    std::vector<LoopLevel> open;
    add_orders(asked, build_loop_tree(asked), open, order);
    return order;
  } catch (const InvalidInput&) {
    return std::nullopt;
  }
}

Kernel as_loops(Kernel kernel) {
  std::erase_if(kernel.iname_tags,
                [&](const auto& each) { return !is_loop_iname(kernel, each.first); });
  return kernel;
}

std::optional<IterationOrders> iteration_orders(const Kernel& before, const Kernel& after) {
  std::optional<IterationOrder> first = iteration_order(as_loops(before));
  std::optional<IterationOrder> second = first ? iteration_order(as_loops(after)) : std::nullopt;
  if (!first || !second) {
    first = iteration_order(before);
    second = iteration_order(after);
  }
  return first && second ? std::optional(IterationOrders{std::move(*first), std::move(*second)})
                         : std::nullopt;
}

std::optional<std::string> find_value_carried_by_axes(const Kernel& kernel) {
  const Kernel loops = as_loops(kernel);
  if (loops.iname_tags.size() == kernel.iname_tags.size() ||
      std::any_of(kernel.instructions.begin(), kernel.instructions.end(), states_order)) {
    return std::nullopt;
  }
  for (const auto& [iname, tag] : kernel.iname_tags) {
    if (tag.kind == AxisKind::grid || tag.kind == AxisKind::block) {
      if (auto why = find_carried_temporary(kernel, iname)) {
        return why;
      }
    }
  }
  const std::optional<IterationOrder> after = iteration_order(kernel);
  if (!after) {
    return std::nullopt;
  }
  const DependenceOptions options{.are_temporaries_set_first = true, .is_proof = true};
  if (const auto before = order_as_loops(kernel, loops)) {
    return find_reversed_dependence(kernel, *before, *after, options);
  }
  // not all of them nest as loops: one by one
  for (const auto& tagged : kernel.iname_tags) {
    Kernel with_loop = kernel;
    with_loop.iname_tags.erase(tagged.first);
    const bool is_axis = loops.iname_tags.count(tagged.first) == 0;
    const auto before = is_axis ? order_as_loops(kernel, std::move(with_loop)) : std::nullopt;
    const auto why =
        before ? find_reversed_dependence(kernel, *before, *after, options) : std::nullopt;
    if (why) {
      return why;
    }
  }
  return std::nullopt;
}

IterationOrder substitute(IterationOrder order, const std::map<std::string, Affine>& values) {
  for (auto& [id, statement] : order) {
    for (LoopLevel& level : statement.levels) {
      Affine result(level.value.constant());
      for (const Affine::Term& term : level.value.terms()) {
        const auto found = values.find(term.name);
        result =
            result + (found == values.end() ? Affine(term.name) : found->second) * term.coefficient;
      }
      level.value = std::move(result);
    }
  }
  return order;
}

std::optional<std::string> find_reversed_dependence(const Kernel& kernel,
                                                    const IterationOrder& before,
                                                    const IterationOrder& after,
                                                    const DependenceOptions& options) {
  // of the statements that both orders have
  std::vector<std::pair<const StatementOrder*, const StatementOrder*>> orders;
  for (const auto& [id, order] : before) {
    if (const auto found = after.find(id); found != after.end()) {
      orders.emplace_back(&order, &found->second);
    }
  }
  bool is_any_moved = false;
  for (auto one = orders.begin(); one != orders.end() && !is_any_moved; ++one) {
    is_any_moved = std::any_of(one, orders.end(), [&](const auto& other) {
      return !is_same_order(*one->first, *other.first, *one->second, *other.second);
    });
  }
  if (!is_any_moved) {
    return std::nullopt;
  }
  const Kernel asked = choose_address_spaces(expand_subst(kernel));
  return DependenceSearch(asked, before, after, options).find();
}

namespace {
/// Whether an iteration may hand anything on: a cheap question, to spare most kernels the others.
bool may_carry(const Kernel& kernel) {
  NameSet read;
  for (const Instruction& instruction : kernel.instructions) {
    read.merge(read_variables(kernel, instruction));
  }
  for (const Instruction& instruction : kernel.instructions) {
    const NameSet own = read_variables(kernel, instruction);
    for (const Expr& target : targets_of(instruction)) {
      const std::string& name = target_name(target);
      if (find_temporary(kernel, name) != nullptr) {
        if (own.count(name) != 0) {
          return true;
        }
        continue;
      }
      NameSet indices;
      for_each_child(target, [&](const Expr& index) { indices.merge(free_names(index)); });
      if (read.count(name) != 0 ||
          !std::includes(indices.begin(), indices.end(), instruction.within_inames.begin(),
                         instruction.within_inames.end())) {
        return true;
      }
    }
  }
  return std::any_of(kernel.instructions.begin(), kernel.instructions.end(),
                     [](const Instruction& each) { return is<RawCode>(each); });
}
}  // namespace

void refuse_reordering(const Kernel& before, const Kernel& after, const char* code) {
  if (!(before.rules.empty() ? may_carry(before) : may_carry(expand_subst(before)))) {
    return;
  }
  const auto orders = iteration_orders(before, after);
  const auto why =
      orders ? find_reversed_dependence(before, orders->before, orders->after) : std::nullopt;
  if (why) {
    throw_if_refused(Refusal{
        code, fmt::format("the loops around other statements would nest otherwise: {}", *why)});
  }
}

}  // namespace rtcg::loopy
