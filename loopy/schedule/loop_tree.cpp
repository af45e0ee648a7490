#include "rtcg/loopy/schedule/loop_tree.h"

#include <algorithm>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/cgen/support/graph.h"
#include "rtcg/loopy/schedule/launches.h"
#include "rtcg/loopy/schedule/statement_ids.h"

namespace rtcg::loopy {
namespace {

/// Everything of one kernel that the tree is built from.
class TreeBuilder {
 public:
  explicit TreeBuilder(const Kernel& kernel) : kernel_(kernel), before_(statement_order(kernel)) {}

  LoopTree build() {
    collect_loops();
    order_loops();
    for (std::vector<std::size_t>& path : paths_) {
      std::sort(path.begin(), path.end(),
                [&](std::size_t l, std::size_t r) { return rank_[l] < rank_[r]; });
    }
    check_nesting();
    std::vector<std::size_t> all(kernel_.instructions.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
      all[i] = i;
    }
    return build_level(all, 0);
  }

 private:
  // loops_ are numbered in the order of the domains
  void collect_loops() {
    std::map<std::string, std::size_t, std::less<>> number;
    for (const std::string& iname : all_inames(kernel_)) {
      if (is_loop_iname(kernel_, iname)) {
        number.emplace(iname, loops_.size());
        loops_.push_back(iname);
      }
    }
    members_.resize(loops_.size());
    paths_.resize(kernel_.instructions.size());
    for (std::size_t i = 0; i < kernel_.instructions.size(); ++i) {
      for (const std::string& iname : kernel_.instructions[i].within_inames) {
        const auto found = number.find(iname);
        if (found != number.end()) {
          paths_[i].push_back(found->second);
          members_[found->second].push_back(i);
        }
      }
    }
  }

  [[nodiscard]] bool encloses(std::size_t outer, std::size_t inner) const {
    return std::includes(members_[outer].begin(), members_[outer].end(), members_[inner].begin(),
                         members_[inner].end());
  }
  [[nodiscard]] bool share_statements(std::size_t a, std::size_t b) const {
    return std::any_of(members_[a].begin(), members_[a].end(), [&](std::size_t statement) {
      return std::binary_search(members_[b].begin(), members_[b].end(), statement);
    });
  }
  [[nodiscard]] std::size_t number_of(std::string_view iname) const {
    return static_cast<std::size_t>(std::find(loops_.begin(), loops_.end(), iname) -
                                    loops_.begin());
  }

  // rank_: an order of all loops, from the outside to the inside
  void order_loops() {
    Edges outer(loops_.size());
    for (std::size_t inner = 0; inner < loops_.size(); ++inner) {
      const Domain* domain = find_home_domain(kernel_, loops_[inner]);
      for (std::size_t other = 0; other < loops_.size(); ++other) {
        if (other == inner || !share_statements(other, inner)) {
          continue;
        }
        const bool is_parent = domain->constraints.mentions(loops_[other]) &&
                               std::find(domain->inames.begin(), domain->inames.end(),
                                         loops_[other]) == domain->inames.end();
        if (is_parent || (encloses(other, inner) && !encloses(inner, other))) {
          outer[inner].push_back(other);
        }
      }
    }
    if (!sorted_topologically(outer)) {
      throw_cycle(outer);
    }
    for (const std::vector<std::string>& priority : kernel_.loop_priorities) {
      add_priority(priority, outer);
    }
    const auto order = sorted_topologically(outer);
    rank_.resize(loops_.size());
    for (std::size_t i = 0; i < order->size(); ++i) {
      rank_[(*order)[i]] = i;
    }
  }

  void add_priority(const std::vector<std::string>& priority, Edges& outer) {
    std::vector<std::size_t> numbers;
    for (const std::string& iname : priority) {
      if (const std::size_t number = number_of(iname); number < loops_.size()) {
        numbers.push_back(number);
      }
    }
    for (std::size_t i = 1; i < numbers.size(); ++i) {
      outer[numbers[i]].push_back(numbers[i - 1]);
      if (!sorted_topologically(outer)) {
        throw InvalidInput(
            "loopy.schedule.priority_conflict",
            fmt::format("loop '{}' cannot be outside '{}': other priorities, the domains or "
                        "statements that are only in '{}' ask for the opposite",
                        loops_[numbers[i - 1]], loops_[numbers[i]], loops_[numbers[i]]));
      }
    }
  }

  [[noreturn]] void throw_cycle(const Edges& outer) const {
    const std::vector<std::size_t> cycle = find_cycle(outer);
    throw_unschedulable(cycle.front(), cycle.back());
  }

  [[noreturn]] void throw_unschedulable(std::size_t a, std::size_t b) const {
    std::vector<std::size_t> only_a;
    std::vector<std::size_t> only_b;
    std::set_difference(members_[a].begin(), members_[a].end(), members_[b].begin(),
                        members_[b].end(), std::back_inserter(only_a));
    std::set_difference(members_[b].begin(), members_[b].end(), members_[a].begin(),
                        members_[a].end(), std::back_inserter(only_b));
    throw InvalidInput(
        "loopy.schedule.unschedulable",
        fmt::format("loops '{}' and '{}' cannot be nested: some statements are in both, but {} "
                    "only in '{}' and {} only in '{}'; duplicate_inames of '{}' for some of them "
                    "would help",
                    loops_[a], loops_[b], ids_of(kernel_, only_a), loops_[a],
                    ids_of(kernel_, only_b), loops_[b], loops_[b]));
  }

  // loops that share statements must enclose one another as the ranks say
  void check_nesting() const {
    for (const std::vector<std::size_t>& path : paths_) {
      for (std::size_t i = 1; i < path.size(); ++i) {
        if (!encloses(path[i - 1], path[i])) {
          throw_unschedulable(path[i - 1], path[i]);
        }
      }
    }
  }

  LoopTree build_level(const std::vector<std::size_t>& statements, std::size_t depth) {
    // siblings: a statement, or all statements of one loop
    constexpr std::size_t none = SIZE_MAX;
    std::vector<std::vector<std::size_t>> groups;
    std::vector<std::size_t> loop_of_group;
    std::map<std::size_t, std::size_t> group_of_loop;
    std::vector<std::size_t> group_of_statement(kernel_.instructions.size(), none);
    for (const std::size_t statement : statements) {
      const std::vector<std::size_t>& path = paths_[statement];
      const std::size_t loop = path.size() > depth ? path[depth] : none;
      std::size_t group = groups.size();
      if (loop != none) {
        group = group_of_loop.emplace(loop, group).first->second;
      }
      if (group == groups.size()) {
        groups.emplace_back();
        loop_of_group.push_back(loop);
      }
      groups[group].push_back(statement);
      group_of_statement[statement] = group;
    }
    Edges before(groups.size());
    for (const std::size_t statement : statements) {
      const std::size_t group = group_of_statement[statement];
      for (const std::size_t earlier : before_[statement]) {
        const std::size_t found = group_of_statement[earlier];
        if (found != none && found != group) {
          before[group].push_back(found);
        }
      }
    }
    for (std::vector<std::size_t>& each : before) {
      std::sort(each.begin(), each.end());
      each.erase(std::unique(each.begin(), each.end()), each.end());
    }
    const auto order = sorted_topologically(before);
    if (!order) {
      throw_group_cycle(find_cycle(before), groups, loop_of_group);
    }
    LoopTree tree;
    for (const std::size_t group : *order) {
      if (loop_of_group[group] != none) {
        tree.push_back(
            {LoopNode{loops_[loop_of_group[group]], build_level(groups[group], depth + 1)}});
        continue;
      }
      const std::size_t statement = groups[group].front();
      const Instruction& instruction = kernel_.instructions[statement];
      if (const BarrierInstruction* barrier = get_if<BarrierInstruction>(instruction)) {
        if (barrier->scope == BarrierScope::global) {
          tree.push_back({LaunchBoundaryNode{barrier->is_passed_by_last_block}});
        } else {
          tree.push_back({BarrierNode{fmt::format("'{}'", instruction.id)}});
        }
      } else if (!is<NoOperation>(instruction)) {
        tree.push_back({StatementNode{statement}});
      }
    }
    return tree;
  }

  [[noreturn]] void throw_group_cycle(const std::vector<std::size_t>& cycle,
                                      const std::vector<std::vector<std::size_t>>& groups,
                                      const std::vector<std::size_t>& loop_of_group) const {
    std::string text;
    for (const std::size_t group : cycle) {
      text += text.empty() ? "" : ", then ";
      text += loop_of_group[group] == SIZE_MAX
                  ? ids_of(kernel_, groups[group])
                  : fmt::format("loop '{}' with {}", loops_[loop_of_group[group]],
                                ids_of(kernel_, groups[group]));
    }
    throw InvalidInput("loopy.schedule.unschedulable",
                       fmt::format("the order of statements goes in a circle around a loop that is "
                                   "entered once only: {}; duplicate_inames for some of the "
                                   "statements would give them a loop of their own",
                                   text));
  }

  const Kernel& kernel_;
  const Edges before_;
  std::vector<std::string> loops_;
  std::vector<std::vector<std::size_t>> members_;  // of each loop, ascending
  std::vector<std::vector<std::size_t>> paths_;    // of each statement, loops outermost first
  std::vector<std::size_t> rank_;
};

}  // namespace

bool is_loop_iname(const Kernel& kernel, const std::string& iname) {
  const InameTag tag = tag_of(kernel, iname);
  return !tag.is_parallel() && !tag.is_lane() && tag.kind != AxisKind::block_auto;
}

LoopTree build_loop_tree(const Kernel& kernel) {
  return TreeBuilder(kernel).build();
}

bool contains_barrier(const LoopTreeNode& node) {
  return match(
      node,
      [](const LoopNode& loop) {
        return std::any_of(loop.body.begin(), loop.body.end(), contains_barrier);
      },
      [](const StatementNode&) { return false; }, [](const BarrierNode&) { return true; },
      [](const LaunchBoundaryNode&) { return true; });
}

std::vector<std::size_t> statements_in(const LoopTreeNode& node) {
  return match(
      node, [](const LoopNode& loop) { return statements_in(loop.body); },
      [](const StatementNode& statement) { return std::vector<std::size_t>{statement.index}; },
      [](const auto&) { return std::vector<std::size_t>{}; });
}

std::vector<std::size_t> statements_in(const LoopTree& tree) {
  std::vector<std::size_t> all;
  for (const LoopTreeNode& node : tree) {
    const std::vector<std::size_t> inner = statements_in(node);
    all.insert(all.end(), inner.begin(), inner.end());
  }
  return all;
}

namespace {
void add_listing(const Kernel& kernel, const LoopTree& tree, int depth, std::string& text) {
  const std::string indent(static_cast<std::size_t>(depth) * 2, ' ');
  for (const LoopTreeNode& node : tree) {
    match(
        node,
        [&](const LoopNode& loop) {
          const bool is_on_host = contains_launch_boundary(node);
          text += fmt::format("{}for {} ({})\n", indent, loop.iname,
                              is_on_host ? "host" : to_string(tag_of(kernel, loop.iname)));
          add_listing(kernel, loop.body, depth + 1, text);
        },
        [&](const StatementNode& statement) {
          const Instruction& instruction = kernel.instructions[statement.index];
          text += fmt::format("{}{}", indent, instruction.id);
          for (const std::string& iname : instruction.within_inames) {
            if (!is_loop_iname(kernel, iname)) {
              text += fmt::format(" {}:{}", iname, to_string(tag_of(kernel, iname)));
            }
          }
          text += '\n';
        },
        [&](const BarrierNode& barrier) {
          text += fmt::format("{}barrier for {}\n", indent, barrier.reason);
        },
        [&](const LaunchBoundaryNode& boundary) {
          text += indent + (boundary.is_passed_by_last_block ? "last block\n" : "next launch\n");
        });
  }
}
}  // namespace

std::string to_string(const Kernel& kernel, const LoopTree& tree) {
  std::string text;
  add_listing(kernel, tree, 0, text);
  return text;
}

}  // namespace rtcg::loopy
