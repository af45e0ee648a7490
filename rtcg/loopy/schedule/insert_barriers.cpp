#include "rtcg/loopy/schedule/insert_barriers.h"

#include <algorithm>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/symbolic/traverse.h"

namespace rtcg::loopy {
namespace {

/// One access to memory that several threads see.
struct SharedAccess {
  std::size_t statement = 0;
  std::string variable;
  /// Nothing for an index that is not affine.
  std::vector<std::optional<Affine>> indices;
  bool is_write = false;
  bool is_global = false;
};

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
      access.indices.push_back(to_affine(index));
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
  }
  if (const Assignment* assignment = get_if<Assignment>(instruction)) {
    add_accesses(kernel, statement, assignment->value, accesses);
    for (const Expr& target : assignment->targets) {
      for_each_child(target,
                     [&](const Expr& index) { add_accesses(kernel, statement, index, accesses); });
      const Access* element = get_if<Access>(target);
      // atomic updates of one element by many threads are in order
      if (!assignment->is_atomic) {
        add_access(kernel, statement, target_name(target),
                   element != nullptr ? &element->indices : nullptr, true, accesses);
      }
    }
  }
  return accesses;
}

/// Which threads and iterations of two accesses are compared.
struct Relation {
  /// Loops around both, in the same iteration.
  std::vector<std::string> same_iteration;
  /// A loop whose later iteration the second access belongs to.
  std::optional<std::string> carried_by;
  bool same_block = true;
};

class RaceTest {
 public:
  explicit RaceTest(const Kernel& kernel) : kernel_(kernel) {}

  /// Whether two different threads may touch the same element.
  [[nodiscard]] bool may_race(const SharedAccess& first, const SharedAccess& second,
                              const Relation& relation) const {
    const Instruction& a = kernel_.instructions[first.statement];
    const Instruction& b = kernel_.instructions[second.statement];
    ConstraintSet both = instances(a, "'1");
    both.add(instances(b, "'2"));
    for (std::size_t axis = 0; axis < std::min(first.indices.size(), second.indices.size());
         ++axis) {
      if (first.indices[axis] && second.indices[axis]) {
        both.add_zero(renamed(*first.indices[axis], "'1") - renamed(*second.indices[axis], "'2"));
      }
    }
    for (const std::string& loop : relation.same_iteration) {
      if (is_in(a, loop) && is_in(b, loop)) {
        both.add_zero(Affine(loop + "'1") - Affine(loop + "'2"));
      }
    }
    if (relation.carried_by) {
      both.add_nonnegative(Affine(*relation.carried_by + "'2") -
                           Affine(*relation.carried_by + "'1") - 1);
    }
    const AxisKind kind = relation.same_block ? AxisKind::block : AxisKind::grid;
    if (relation.same_block) {
      for (int axis = 0; axis < 3; ++axis) {
        const auto one = position_on_axis(a, AxisKind::grid, axis, "'1");
        const auto other = position_on_axis(b, AxisKind::grid, axis, "'2");
        if (one && other) {
          both.add_zero(*one - *other);
        }
      }
    }
    for (int axis = 0; axis < 3; ++axis) {
      if (differs_on_axis(a, b, kind, axis, both)) {
        return true;
      }
    }
    return false;
  }

 private:
  [[nodiscard]] static bool is_in(const Instruction& instruction, const std::string& iname) {
    return instruction.within_inames.count(iname) != 0;
  }
  [[nodiscard]] Affine renamed(const Affine& expr, std::string_view suffix) const {
    return expr.rename([&](const std::string& name) { return instance_name(name, suffix); });
  }
  // inames differ between the two instances; parameters do not; scalars that statements assign may
  [[nodiscard]] std::string instance_name(const std::string& name, std::string_view suffix) const {
    return is_iname(kernel_, name) || find_temporary(kernel_, name) != nullptr
               ? fmt::format("{}{}", name, suffix)
               : name;
  }
  [[nodiscard]] ConstraintSet instances(const Instruction& instruction,
                                        std::string_view suffix) const {
    return constraints_of(kernel_, instruction.within_inames).rename([&](const std::string& name) {
      return instance_name(name, suffix);
    });
  }
  /// The iname that stands for the axis in the statement.
  [[nodiscard]] std::optional<Affine> position_on_axis(const Instruction& instruction,
                                                       AxisKind kind, int axis,
                                                       std::string_view suffix) const {
    for (const std::string& iname : instruction.within_inames) {
      if (tag_of(kernel_, iname) == InameTag{kind, axis}) {
        return Affine(fmt::format("{}{}", iname, suffix));
      }
    }
    return std::nullopt;
  }
  [[nodiscard]] bool runs_in_first_thread(const Instruction& instruction) const {
    for (const std::string& each : written_variables(instruction)) {
      const Temporary* temporary = find_temporary(kernel_, each);
      if (temporary == nullptr || temporary->address_space == AddressSpace::local ||
          temporary->address_space == AddressSpace::global) {
        return true;
      }
    }
    return false;
  }
  [[nodiscard]] bool is_axis_used(AxisKind kind, int axis) const {
    return std::any_of(kernel_.iname_tags.begin(), kernel_.iname_tags.end(), [&](const auto& each) {
      return each.second == InameTag{kind, axis} && is_iname(kernel_, each.first);
    });
  }
  [[nodiscard]] bool differs_on_axis(const Instruction& a, const Instruction& b, AxisKind kind,
                                     int axis, const ConstraintSet& both) const {
    if (!is_axis_used(kind, axis)) {
      return false;
    }
    // A statement without the axis runs in the axis' first thread where it writes to memory that
    // others see, else in all threads.
    const bool first_only_a = runs_in_first_thread(a);
    const bool first_only_b = runs_in_first_thread(b);
    const auto one = position_on_axis(a, kind, axis, "'1");
    const auto other = position_on_axis(b, kind, axis, "'2");
    if (!one && !other && first_only_a && first_only_b) {
      return false;
    }
    const Affine any_one = first_only_a ? Affine(0) : Affine("thread'1");
    const Affine any_other = first_only_b ? Affine(0) : Affine("thread'2");
    const Affine difference = one.value_or(any_one) - other.value_or(any_other);
    for (const int sign : {1, -1}) {
      ConstraintSet apart = both;
      apart.add_nonnegative(Affine("thread'1"));
      apart.add_nonnegative(Affine("thread'2"));
      apart.add_nonnegative(difference * sign - 1);
      if (!apart.is_empty()) {
        return true;
      }
    }
    return false;
  }

  const Kernel& kernel_;
};

/// Walks the tree and adds barriers.
class BarrierPass {
 public:
  explicit BarrierPass(const Kernel& kernel) : kernel_(kernel), test_(kernel) {
    accesses_.reserve(kernel.instructions.size());
    for (std::size_t i = 0; i < kernel.instructions.size(); ++i) {
      accesses_.push_back(shared_accesses(kernel, i));
    }
    for (const auto& [iname, tag] : kernel.iname_tags) {
      has_block_axes_ = has_block_axes_ || tag.kind == AxisKind::block;
      has_grid_axes_ = has_grid_axes_ || tag.kind == AxisKind::grid;
    }
  }

  LoopTree run(LoopTree tree) {
    if (!has_block_axes_ && !has_grid_axes_) {
      return tree;
    }
    std::vector<SharedAccess> pending;
    std::vector<std::string> loops;
    return level(std::move(tree), loops, pending);
  }

 private:
  using Accesses = std::vector<SharedAccess>;

  [[nodiscard]] Accesses accesses_in(const LoopTree& tree) const {
    Accesses all;
    for (const std::size_t statement : statements_in(tree)) {
      all.insert(all.end(), accesses_[statement].begin(), accesses_[statement].end());
    }
    return all;
  }

  /// The reason for a barrier between accesses done and accesses to come, or nothing.
  [[nodiscard]] std::optional<std::string> conflict(const Accesses& earlier, const Accesses& later,
                                                    Relation relation) const {
    for (const SharedAccess& second : later) {
      for (const SharedAccess& first : earlier) {
        if (first.variable != second.variable || (!first.is_write && !second.is_write)) {
          continue;
        }
        if (first.is_global && has_grid_axes_) {
          relation.same_block = false;
          if (test_.may_race(first, second, relation)) {
            throw_needs_global_barrier(first, second);
          }
          relation.same_block = true;
        }
        if (has_block_axes_ && test_.may_race(first, second, relation)) {
          return fmt::format("'{}', which '{}' and '{}' share", first.variable,
                             kernel_.instructions[first.statement].id,
                             kernel_.instructions[second.statement].id);
        }
      }
    }
    return std::nullopt;
  }

  [[noreturn]] void throw_needs_global_barrier(const SharedAccess& first,
                                               const SharedAccess& second) const {
    throw InvalidInput(
        "loopy.insert_barriers.needs_global_barrier",
        fmt::format("blocks share '{}': '{}' {} what '{}' {} in another block, and blocks cannot "
                    "wait for each other; put '... gbarrier' between the two, which makes two "
                    "launches, or keep the elements of one block to itself",
                    first.variable, kernel_.instructions[second.statement].id,
                    second.is_write ? "writes" : "reads", kernel_.instructions[first.statement].id,
                    first.is_write ? "writes" : "reads"));
  }

  /// @param loops    around this level
  /// @param pending  accesses since the last barrier; brought up to date
  LoopTree level(LoopTree tree, std::vector<std::string>& loops, Accesses& pending) {
    LoopTree result;
    const auto fence = [&](const std::optional<std::string>& reason) {
      if (reason) {
        check_uniform(loops, *reason);
        result.push_back({BarrierNode{*reason}});
        pending.clear();
      }
    };
    for (LoopTreeNode& node : tree) {
      if (is<BarrierNode>(node) || is<LaunchBoundaryNode>(node)) {
        pending.clear();
        result.push_back(std::move(node));
        continue;
      }
      if (const StatementNode* statement = get_if<StatementNode>(node)) {
        const Accesses& own = accesses_[statement->index];
        // a statement's own reads and writes are those of one instance: other threads' instances
        // are compared by conflict(pending)
        fence(conflict(pending, own, {loops, std::nullopt, true}));
        check_within_statement(*statement, loops);
        pending.insert(pending.end(), own.begin(), own.end());
        result.push_back(std::move(node));
        continue;
      }
      LoopNode loop = *get_if<LoopNode>(node);
      // before the loop rather than in it: there it would be passed in every iteration
      fence(conflict(pending, accesses_in(loop.body), {loops, std::nullopt, true}));
      loop.body = loop_body(std::move(loop), loops, pending);
      result.push_back({LoopNode{get_if<LoopNode>(node)->iname, std::move(loop.body)}});
    }
    return result;
  }

  LoopTree loop_body(LoopNode loop, std::vector<std::string>& loops, Accesses& pending) {
    loops.push_back(loop.iname);
    Accesses inner;
    LoopTree body = level(std::move(loop.body), loops, inner);
    // what the end of an iteration leaves pending meets the beginning of the next ones
    const Accesses head = accesses_before_barrier(body);
    std::vector<std::string> outer(loops.begin(), loops.end() - 1);
    if (const auto reason = conflict(inner, head, {outer, loop.iname, true})) {
      check_uniform(loops, *reason);
      body = with_barrier_at_top(std::move(body), *reason);
    }
    loops.pop_back();
    // the loop may run not at all, so what was pending before stays so
    pending.insert(pending.end(), inner.begin(), inner.end());
    return body;
  }

  /// As late as possible: behind statements that touch no shared memory.
  LoopTree with_barrier_at_top(LoopTree body, const std::string& reason) {
    const auto touches_shared = [&](const LoopTreeNode& node) {
      const std::vector<std::size_t> inside = statements_in(node);
      return contains_barrier(node) ||
             std::any_of(inside.begin(), inside.end(),
                         [&](std::size_t statement) { return !accesses_[statement].empty(); });
    };
    body.insert(std::find_if(body.begin(), body.end(), touches_shared),
                LoopTreeNode{BarrierNode{reason}});
    return body;
  }

  [[nodiscard]] Accesses accesses_before_barrier(const LoopTree& tree) const {
    Accesses head;
    for (const LoopTreeNode& node : tree) {
      if (is<BarrierNode>(node) || is<LaunchBoundaryNode>(node)) {
        break;
      }
      const Accesses own = accesses_in({node});
      head.insert(head.end(), own.begin(), own.end());
    }
    return head;
  }

  /// One statement may read what another thread's instance of it writes: `a[i] = a[i + 1]`.
  void check_within_statement(const StatementNode& statement,
                              const std::vector<std::string>& loops) const {
    const Accesses& own = accesses_[statement.index];
    for (const SharedAccess& read : own) {
      for (const SharedAccess& write : own) {
        if (read.is_write || !write.is_write || read.variable != write.variable) {
          continue;
        }
        if (has_block_axes_ && test_.may_race(read, write, {loops, std::nullopt, true})) {
          throw InvalidInput(
              "loopy.insert_barriers.race_within_statement",
              fmt::format("'{}' reads elements of '{}' that other threads write in the same "
                          "statement, and no barrier fits between: read into a temporary first",
                          kernel_.instructions[statement.index].id, read.variable));
        }
        if (read.is_global && has_grid_axes_ &&
            test_.may_race(read, write, {loops, std::nullopt, false})) {
          throw_needs_global_barrier(read, write);
        }
      }
    }
  }

  void check_uniform(const std::vector<std::string>& loops, const std::string& reason) const {
    for (const std::string& loop : loops) {
      const ConstraintSet constraints = constraints_of(kernel_, {loop});
      for (const std::string& name : constraints.names()) {
        const Temporary* temporary = find_temporary(kernel_, name);
        if (temporary != nullptr && constraints.mentions(loop)) {
          throw InvalidInput(
              "loopy.insert_barriers.divergent",
              fmt::format("a barrier is needed within loop '{}' because of {}, but its bounds "
                          "depend on '{}', which differs from thread to thread",
                          loop, reason, name));
        }
      }
    }
  }

  const Kernel& kernel_;
  RaceTest test_;
  std::vector<Accesses> accesses_;  // of each statement
  bool has_block_axes_ = false;
  bool has_grid_axes_ = false;
};

}  // namespace

namespace {

/// A temporary of a thread or a block cannot carry values to where its writer does not run.
void check_reach(const Kernel& kernel) {
  const auto lies_on_axis = [&](const Instruction& each, const InameTag& tag) {
    return std::any_of(each.within_inames.begin(), each.within_inames.end(),
                       [&](const std::string& iname) { return tag_of(kernel, iname) == tag; });
  };
  for (const Instruction& writer : kernel.instructions) {
    for (const std::string& name : written_variables(writer)) {
      const Temporary* temporary = find_temporary(kernel, name);
      if (temporary == nullptr || temporary->address_space == AddressSpace::global) {
        continue;
      }
      for (const Instruction& reader : kernel.instructions) {
        if (read_variables(kernel, reader).count(name) == 0) {
          continue;
        }
        for (const std::string& iname : writer.within_inames) {
          const InameTag tag = tag_of(kernel, iname);
          const bool is_lost =
              (tag.kind == AxisKind::grid && reader.within_inames.count(iname) == 0) ||
              (tag.kind == AxisKind::block && temporary->address_space == AddressSpace::private_ &&
               !lies_on_axis(reader, tag));
          if (is_lost) {
            throw InvalidInput(
                "loopy.insert_barriers.out_of_reach",
                fmt::format("'{}' computes '{}' within '{}', which lies on {}, but '{}' reads it "
                            "outside of that iname, where the values of other {} are out of reach",
                            writer.id, name, iname, to_string(tag), reader.id,
                            tag.kind == AxisKind::grid ? "blocks" : "threads"));
          }
        }
      }
    }
  }
}

}  // namespace

LoopTree insert_barriers(const Kernel& kernel, LoopTree tree) {
  check_reach(kernel);
  return BarrierPass(kernel).run(std::move(tree));
}

}  // namespace rtcg::loopy
