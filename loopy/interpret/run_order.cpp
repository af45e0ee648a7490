#include "rtcg/loopy/interpret/run_order.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/cgen/support/graph.h"

namespace rtcg::loopy::interpretation {
namespace {

class TurnBuilder {
 public:
  explicit TurnBuilder(const Kernel& kernel) : kernel_(kernel) {}

  std::vector<Turn> build() {
    find_order();
    rank_inames();
    std::vector<std::size_t> all(kernel_.instructions.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
      all[i] = i;
    }
    return turns_of(all, 0);
  }

 private:
  struct Touched {
    NameSet read;
    NameSet written;
  };

  static bool meet(const NameSet& left, const NameSet& right) {
    return std::any_of(left.begin(), left.end(),
                       [&](const std::string& each) { return right.count(each) != 0; });
  }

  /// is_before_[i][j]: statement i has to run before statement j.
  void find_order() {
    const std::vector<Instruction>& statements = kernel_.instructions;
    const std::size_t count = statements.size();
    Edges stated(count);
    is_before_.assign(count, std::vector<bool>(count));
    std::map<std::string, std::size_t> number;
    for (std::size_t i = 0; i < count; ++i) {
      number.emplace(statements[i].id, i);
    }
    for (std::size_t i = 0; i < count; ++i) {
      for (const std::string& id : statements[i].depends_on) {
        const auto found = number.find(id);
        if (found != number.end() && found->second != i) {
          stated[found->second].push_back(i);
          is_before_[found->second][i] = true;
        }
      }
    }
    const Edges stated_after = transitive_closure(stated);
    const auto is_stated = [&](std::size_t earlier, std::size_t later) {
      return std::binary_search(stated_after[earlier].begin(), stated_after[earlier].end(), later);
    };
    std::vector<Touched> touched;
    for (const Instruction& each : statements) {
      touched.push_back({read_variables(kernel_, each), written_variables(each)});
    }
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t j = i + 1; j < count; ++j) {
        const bool is_fence =
            is<BarrierInstruction>(statements[i]) || is<BarrierInstruction>(statements[j]);
        const bool is_met = meet(touched[i].written, touched[j].read) ||
                            meet(touched[i].written, touched[j].written);
        const bool is_read_first = meet(touched[i].read, touched[j].written);
        if (!is_fence && !is_met && !is_read_first) {
          continue;
        }
        const bool is_early = !is_fence && !is_met && reads_too_early(touched, i, j);
        const bool is_turned = is_stated(j, i) || (is_early && !is_stated(i, j));
        is_before_[is_turned ? j : i][is_turned ? i : j] = true;
      }
    }
  }

  /// Whether all that statement i reads of what j writes are temporaries that nothing has set.
  bool reads_too_early(const std::vector<Touched>& touched, std::size_t i, std::size_t j) const {
    return std::all_of(
        touched[j].written.begin(), touched[j].written.end(), [&](const std::string& name) {
          const bool is_set_before =
              std::any_of(touched.begin(), touched.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                          [&](const Touched& each) { return each.written.count(name) != 0; });
          return touched[i].read.count(name) == 0 ||
                 (find_temporary(kernel_, name) != nullptr && !is_set_before);
        });
  }

  /// Loops around more statements are further out; those whose inames bound others as well.
  void rank_inames() {
    const std::vector<std::string> inames = all_inames(kernel_);
    std::map<std::string, std::size_t> members;
    std::map<std::string, NameSet> outer;
    for (const std::string& iname : inames) {
      members[iname] = static_cast<std::size_t>(
          std::count_if(kernel_.instructions.begin(), kernel_.instructions.end(),
                        [&](const Instruction& each) { return each.within_inames.count(iname); }));
      const Domain& domain = *find_home_domain(kernel_, iname);
      for (const std::string& name : domain.constraints.names()) {
        const bool is_own =
            std::find(domain.inames.begin(), domain.inames.end(), name) != domain.inames.end();
        if (!is_own && is_iname(kernel_, name)) {
          outer[iname].insert(name);
        }
      }
    }
    for (const std::vector<std::string>& priority : kernel_.loop_priorities) {
      for (std::size_t i = 1; i < priority.size(); ++i) {
        outer[priority[i]].insert(priority[i - 1]);
      }
    }
    std::vector<std::string> open = inames;
    while (!open.empty()) {
      auto best = open.end();
      for (auto each = open.begin(); each != open.end(); ++each) {
        const bool is_free = std::none_of(open.begin(), open.end(), [&](const std::string& other) {
          return outer[*each].count(other) != 0;
        });
        if (is_free && (best == open.end() || members[*each] > members[*best])) {
          best = each;
        }
      }
      if (best == open.end()) {
        refuse("the loops ask for each other");
      }
      ranked_.push_back(*best);
      open.erase(best);
    }
  }

  [[nodiscard]] std::string iname_at(std::size_t statement, std::size_t depth) const {
    for (const std::string& iname : ranked_) {
      if (kernel_.instructions[statement].within_inames.count(iname) != 0 && depth-- == 0) {
        return iname;
      }
    }
    return {};
  }

  struct Group {
    std::string iname;
    std::vector<std::size_t> members;
  };

  /// Runs the loops around a barrier up to it, and the barrier; the rest of the loops stays open.
  bool cut_at_barrier(std::vector<Group>& open, std::vector<Turn>& turns, std::size_t depth) {
    const auto barrier = std::find_if(open.begin(), open.end(), [&](const Group& each) {
      return each.iname.empty() &&
             is<BarrierInstruction>(kernel_.instructions[each.members.front()]);
    });
    if (barrier == open.end()) {
      return false;
    }
    const std::size_t fence = barrier->members.front();
    open.erase(barrier);
    std::vector<std::size_t> before;
    for (Group& group : open) {
      const auto rest =
          std::stable_partition(group.members.begin(), group.members.end(),
                                [&](std::size_t member) { return is_before_[member][fence]; });
      before.insert(before.end(), group.members.begin(), rest);
      group.members.erase(group.members.begin(), rest);
    }
    std::erase_if(open, [](const Group& group) { return group.members.empty(); });
    std::sort(before.begin(), before.end());
    for (Turn& turn : turns_of(before, depth)) {
      turns.push_back(std::move(turn));
    }
    return true;
  }

  std::vector<Turn> turns_of(const std::vector<std::size_t>& statements, std::size_t depth) {
    std::vector<Group> open;
    for (const std::size_t statement : statements) {
      const std::string iname = iname_at(statement, depth);
      const auto found = std::find_if(open.begin(), open.end(), [&](const Group& each) {
        return !iname.empty() && each.iname == iname;
      });
      if (found != open.end()) {
        found->members.push_back(statement);
      } else {
        open.push_back({iname, {statement}});
      }
    }
    const auto has_to_wait = [&](const Group& group, const Group& other) {
      return std::any_of(group.members.begin(), group.members.end(), [&](std::size_t member) {
        return std::any_of(other.members.begin(), other.members.end(),
                           [&](std::size_t each) { return is_before_[each][member]; });
      });
    };
    std::vector<Turn> turns;
    while (!open.empty()) {
      const auto next = std::find_if(open.begin(), open.end(), [&](const Group& group) {
        return std::none_of(open.begin(), open.end(), [&](const Group& other) {
          return &other != &group && has_to_wait(group, other);
        });
      });
      if (next == open.end()) {
        if (!cut_at_barrier(open, turns, depth)) {
          refuse("statements depend on each other in a circle");
        }
        continue;
      }
      Turn turn{next->iname, {}, next->members.front()};
      if (!next->iname.empty()) {
        turn.body = turns_of(next->members, depth + 1);
      }
      turns.push_back(std::move(turn));
      open.erase(next);
    }
    return turns;
  }

  [[noreturn]] void refuse(const std::string& reason) const {
    throw Unsupported("loopy.interpret.order",
                      fmt::format("kernel '{}' has no order in which it can be interpreted: {}",
                                  kernel_.name, reason));
  }

  const Kernel& kernel_;
  std::vector<std::vector<bool>> is_before_;
  std::vector<std::string> ranked_;
};

}  // namespace

std::vector<Turn> run_order(const Kernel& kernel) {
  return TurnBuilder(kernel).build();
}

}  // namespace rtcg::loopy::interpretation
