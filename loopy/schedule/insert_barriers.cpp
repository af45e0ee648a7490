#include "rtcg/loopy/schedule/insert_barriers.h"

#include <algorithm>
#include <unordered_map>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/schedule/check_blocks.h"
#include "rtcg/loopy/schedule/launches.h"
#include "rtcg/loopy/schedule/race_test.h"

namespace rtcg::loopy {
namespace {

/// Walks the tree of one launch and adds barriers.
class BarrierPass {
 public:
  BarrierPass(const Kernel& kernel, const VariableIndex& variables,
              const std::vector<std::vector<SharedAccess>>& accesses,
              const std::vector<std::size_t>& statements)
      : kernel_(kernel), test_(kernel, variables, statements), accesses_(accesses) {}

  /// @param host_loops  around the launch
  LoopTree run(LoopTree tree, std::vector<std::string> host_loops) {
    if (!test_.has_axes(AxisKind::block)) {
      return tree;
    }
    Pending pending;
    return level(std::move(tree), host_loops, pending);
  }

 private:
  /// In the order of the statements.
  using Accesses = std::vector<const SharedAccess*>;
  /// Those to one variable.
  struct Touched {
    Accesses all;
    bool is_written = false;
  };
  using Pending = std::unordered_map<std::string_view, Touched>;

  [[nodiscard]] Accesses accesses_in(const LoopTreeNode& node) const {
    Accesses all;
    for (const std::size_t statement : statements_in(node)) {
      for (const SharedAccess& access : accesses_[statement]) {
        all.push_back(&access);
      }
    }
    return all;
  }

  static void add(Pending& pending, const Accesses& accesses) {
    for (const SharedAccess* access : accesses) {
      Touched& touched = pending[access->variable];
      touched.all.push_back(access);
      touched.is_written = touched.is_written || access->is_write;
    }
  }

  /// The reason for a barrier between accesses done and accesses to come, or nothing.
  [[nodiscard]] std::optional<std::string> conflict(const Pending& earlier, const Accesses& later,
                                                    const Relation& relation) const {
    for (const SharedAccess* second : later) {
      const auto found = earlier.find(second->variable);
      if (found == earlier.end() || !(second->is_write || found->second.is_written)) {
        continue;  // many statements may read the same
      }
      for (const SharedAccess* first : found->second.all) {
        if (need_order(*first, *second) && test_.may_race(*first, *second, relation)) {
          return fmt::format("'{}', which '{}' and '{}' share", first->variable,
                             kernel_.instructions[first->statement].id,
                             kernel_.instructions[second->statement].id);
        }
      }
    }
    return std::nullopt;
  }

  /// @param loops    around this level
  /// @param pending  accesses since the last barrier; brought up to date
  LoopTree level(LoopTree tree, std::vector<std::string>& loops, Pending& pending) {
    LoopTree result;
    const auto fence = [&](const std::optional<std::string>& reason) {
      if (reason) {
        check_uniform(loops, *reason);
        const LoopTreeNode barrier{BarrierNode{*reason}};
        result.push_back(barrier);
        pending.clear();
      }
    };
    for (LoopTreeNode& node : tree) {
      if (is<BarrierNode>(node)) {
        pending.clear();
        result.push_back(std::move(node));
        continue;
      }
      if (const StatementNode* statement = get_if<StatementNode>(node)) {
        const Accesses own = accesses_in(node);
        // a statement's own reads and writes are those of one instance: other threads' instances
        // are compared by conflict(pending)
        fence(conflict(pending, own, {loops, std::nullopt, true}));
        check_within_statement(*statement, loops);
        add(pending, own);
        result.push_back(std::move(node));
        continue;
      }
      LoopNode loop = *get_if<LoopNode>(node);
      Pending inner;
      loop.body = loop_body(std::move(loop), loops, inner);
      // before the loop, because one inside would be passed in every iteration. After the first
      // barrier of the body nothing is pending.
      fence(conflict(pending, accesses_before_barrier(loop.body), {loops, std::nullopt, true}));
      // the loop may run not at all, so what was pending before stays so
      for (const auto& [variable, touched] : inner) {
        add(pending, touched.all);
      }
      node.kind = LoopNode{get_if<LoopNode>(node)->iname, std::move(loop.body)};
      result.push_back(std::move(node));
    }
    return result;
  }

  /// @param inner  receives the accesses since the last barrier of an iteration
  LoopTree loop_body(LoopNode loop, std::vector<std::string>& loops, Pending& inner) {
    loops.push_back(loop.iname);
    LoopTree body = level(std::move(loop.body), loops, inner);
    // what the end of an iteration leaves pending meets the beginning of the next ones
    const Accesses head = accesses_before_barrier(body);
    std::vector<std::string> outer(loops.begin(), loops.end() - 1);
    if (const auto reason = conflict(inner, head, {outer, loop.iname, true})) {
      check_uniform(loops, *reason);
      body = with_barrier_at_top(std::move(body), *reason);
    }
    loops.pop_back();
    return body;
  }

  /// As late as possible: after statements that access no shared memory.
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
      if (is<BarrierNode>(node)) {
        break;
      }
      const Accesses own = accesses_in(node);
      head.insert(head.end(), own.begin(), own.end());
    }
    return head;
  }

  /// One statement may read what another thread's instance of it writes: `a[i] = a[i + 1]`.
  void check_within_statement(const StatementNode& statement,
                              const std::vector<std::string>& loops) const {
    const std::vector<SharedAccess>& own = accesses_[statement.index];
    for (const SharedAccess& read : own) {
      for (const SharedAccess& write : own) {
        if (read.is_write || !write.is_write || !need_order(read, write)) {
          continue;
        }
        const Relation relation{loops, std::nullopt, true};
        if (!write.is_atomic && test_.may_race(read, write, relation)) {
          throw InvalidInput(
              "loopy.insert_barriers.race_within_statement",
              fmt::format("'{}' reads elements of '{}' that other threads write in the same "
                          "statement, and no barrier fits between: read into a temporary first{}",
                          kernel_.instructions[statement.index].id, read.variable,
                          test_.example(read, write, relation)));
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
  const std::vector<std::vector<SharedAccess>>& accesses_;  // of each statement
};

/// Goes through the tree as the host does, and adds barriers launch by launch.
class LaunchWalk {
 public:
  LaunchWalk(const Kernel& kernel, const VariableIndex& variables,
             const std::vector<std::vector<SharedAccess>>& accesses)
      : kernel_(kernel), variables_(variables), accesses_(accesses) {}

  LoopTree run(LoopTree tree) {
    LoopTree result;
    LoopTree launch;
    const auto end_launch = [&] {
      BarrierPass pass(kernel_, variables_, accesses_, statements_in(launch));
      for (LoopTreeNode& node : pass.run(std::move(launch), host_loops_)) {
        result.push_back(std::move(node));
      }
      launch.clear();
    };
    for (LoopTreeNode& node : tree) {
      if (!contains_launch_boundary(node)) {
        launch.push_back(std::move(node));
        continue;
      }
      end_launch();
      if (const LoopNode* loop = get_if<LoopNode>(node)) {
        host_loops_.push_back(loop->iname);
        LoopTree body = run(loop->body);
        host_loops_.pop_back();
        node.kind = LoopNode{loop->iname, std::move(body)};
      }
      result.push_back(std::move(node));
    }
    end_launch();
    return result;
  }

 private:
  const Kernel& kernel_;
  const VariableIndex& variables_;
  const std::vector<std::vector<SharedAccess>>& accesses_;
  std::vector<std::string> host_loops_;  // around where it is
};

/// A temporary of a thread or a block cannot carry values to where its writer does not run.
void check_reach(const Kernel& kernel) {
  if (kernel.temporaries.empty()) {
    return;
  }
  const auto lies_on_axis = [&](const Instruction& each, const InameTag& tag) {
    return std::any_of(each.within_inames.begin(), each.within_inames.end(),
                       [&](const std::string& iname) { return tag_of(kernel, iname) == tag; });
  };
  std::vector<NameSet> reads;
  reads.reserve(kernel.instructions.size());
  for (const Instruction& reader : kernel.instructions) {
    reads.push_back(read_variables(kernel, reader));
  }
  for (const Instruction& writer : kernel.instructions) {
    for (const std::string& name : written_variables(writer)) {
      const Temporary* temporary = find_temporary(kernel, name);
      if (temporary == nullptr || temporary->address_space == AddressSpace::global) {
        continue;
      }
      for (std::size_t i = 0; i < reads.size(); ++i) {
        if (reads[i].count(name) == 0) {
          continue;
        }
        const Instruction& reader = kernel.instructions[i];
        for (const std::string& iname : writer.within_inames) {
          const InameTag tag = tag_of(kernel, iname);
          const bool is_lost =
              (tag.kind == AxisKind::grid && reader.within_inames.count(iname) == 0) ||
              (tag.kind == AxisKind::block && temporary->address_space == AddressSpace::private_ &&
               !writer.is_same_in_all_threads && !lies_on_axis(reader, tag));
          if (is_lost) {
            throw InvalidInput(
                "loopy.insert_barriers.out_of_reach",
                fmt::format("'{}' computes '{}' within '{}', which is on {}, but '{}' reads it "
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
  const VariableIndex variables(kernel);
  const std::vector<std::vector<SharedAccess>> accesses = shared_accesses(kernel, variables);
  check_blocks(kernel, variables, tree, accesses);
  return LaunchWalk(kernel, variables, accesses).run(std::move(tree));
}

}  // namespace rtcg::loopy
