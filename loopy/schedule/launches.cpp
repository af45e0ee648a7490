#include "rtcg/loopy/schedule/launches.h"

#include <algorithm>
#include <iterator>

#include "rtcg/loopy/analyze/access.h"
#include "rtcg/loopy/symbolic/traverse.h"

namespace rtcg::loopy {
namespace {

class LaunchCutter {
 public:
  std::vector<LaunchTree> cut(const LoopTree& tree) {
    add(tree);
    end_launch();
    return std::move(launches_);
  }

 private:
  void add(const LoopTree& tree) {
    for (const LoopTreeNode& node : tree) {
      if (is<LaunchBoundaryNode>(node)) {
        end_launch();
      } else if (contains_launch_boundary(node)) {
        end_launch();
        const LoopNode& loop = *get_if<LoopNode>(node);
        host_loops_.push_back(loop.iname);
        add(loop.body);
        end_launch();
        host_loops_.pop_back();
      } else {
        open_.push_back(node);
      }
    }
  }

  void end_launch() {
    if (!statements_in(open_).empty()) {
      launches_.push_back({host_loops_, std::move(open_)});
    }
    open_.clear();
  }

  std::vector<std::string> host_loops_;
  LoopTree open_;
  std::vector<LaunchTree> launches_;
};

/// How a temporary is used within one launch.
class LifeInLaunch {
 public:
  LifeInLaunch(const Kernel& kernel, const std::string& temporary,
               const std::vector<std::size_t>& statements, const NameSet& host_loops)
      : kernel_(kernel), host_loops_(host_loops) {
    for (const std::size_t statement : statements) {
      add_accesses(kernel.instructions[statement], temporary);
    }
  }

  /// Values come from an earlier iteration if the first one finds none. If all iterations are
  /// alike, that is a mistake; otherwise it has to be ruled out.
  [[nodiscard]] bool outlives_iteration() const {
    if (accesses_.empty()) {
      return false;
    }
    const ArrayAccess& first = accesses_.front();
    if (!first.is_write) {
      return true;
    }
    const auto is_alike = [&](const ArrayAccess& each) { return is_in_all_iterations(each); };
    return !std::all_of(accesses_.begin(), accesses_.end(), is_alike) &&
           !std::all_of(accesses_.begin(), accesses_.end(), [&](const ArrayAccess& each) {
             return each.is_write || covers(first, each);
           });
  }

 private:
  void add_accesses(const Instruction& instruction, const std::string& temporary) {
    const std::size_t before = accesses_.size();
    for (ArrayAccess& access : accesses_of(kernel_, instruction)) {
      if (access.array == temporary) {
        accesses_.push_back(std::move(access));
      }
    }
    // C text declares its variables, but not the elements
    if (const RawCode* raw = get_if<RawCode>(instruction);
        raw != nullptr && accesses_.size() == before) {
      const bool is_array = !find_temporary(kernel_, temporary)->shape.empty();
      if (raw->reads.count(temporary) != 0 || raw->writes.count(temporary) != 0) {
        accesses_.push_back({.array = temporary,
                             .is_write = raw->reads.count(temporary) == 0,
                             .is_linear = is_array,
                             .statement = instruction.id,
                             .inames = instruction.within_inames,
                             .conditions = instruction.predicates});
      }
    }
  }

  /// Whether the access takes place at the same points in all iterations of the host's loops.
  [[nodiscard]] bool is_in_all_iterations(const ArrayAccess& access) const {
    const auto may_differ = [&](const Expr& condition) {
      const NameSet names = free_names(condition);
      return !accessed_arrays(condition).empty() ||
             std::any_of(names.begin(), names.end(), [&](const std::string& name) {
               return host_loops_.count(name) != 0 || find_temporary(kernel_, name) != nullptr;
             });
    };
    if (std::any_of(access.conditions.begin(), access.conditions.end(), may_differ)) {
      return false;
    }
    const ConstraintSet points = constraints_of(kernel_, access.inames);
    const auto speaks_of_others = [&](const Affine& expr) {
      const auto is_host_loop = [&](const Affine::Term& term) {
        return host_loops_.count(term.name) != 0;
      };
      const auto is_iname_of_launch = [&](const Affine::Term& term) {
        return host_loops_.count(term.name) == 0 && is_iname(kernel_, term.name);
      };
      const auto is_computed = [&](const Affine::Term& term) {
        return find_temporary(kernel_, term.name) != nullptr;
      };
      const auto& terms = expr.terms();
      return std::any_of(terms.begin(), terms.end(), is_computed) ||
             (std::any_of(terms.begin(), terms.end(), is_host_loop) &&
              std::any_of(terms.begin(), terms.end(), is_iname_of_launch));
    };
    return std::none_of(points.constraints().begin(), points.constraints().end(),
                        [&](const Constraint& each) { return speaks_of_others(each.expr); }) &&
           std::none_of(points.congruences().begin(), points.congruences().end(),
                        [&](const Congruence& each) { return speaks_of_others(each.expr); });
  }

  /// Whether each element that `read` takes is one that `write` sets, in the same iteration of the
  /// loops around both.
  [[nodiscard]] bool covers(const ArrayAccess& write, const ArrayAccess& read) const {
    const bool is_as_frequent =
        std::all_of(write.conditions.begin(), write.conditions.end(), [&](const Expr& condition) {
          return std::find(read.conditions.begin(), read.conditions.end(), condition) !=
                 read.conditions.end();
        });
    const auto written = elements_of(write, read);
    const auto taken = elements_of(read, write);
    return is_as_frequent && written && taken &&
           std::all_of(written->constraints().begin(), written->constraints().end(),
                       [&](const Constraint& each) { return taken->implies(each); }) &&
           std::all_of(written->congruences().begin(), written->congruences().end(),
                       [&](const Congruence& each) { return taken->implies(each); });
  }

  /// In terms of the inames that both are in.
  [[nodiscard]] std::optional<ConstraintSet> elements_of(const ArrayAccess& access,
                                                         const ArrayAccess& other) const {
    if (access.is_linear) {
      return std::nullopt;
    }
    ConstraintSet elements = constraints_of(kernel_, access.inames);
    for (std::size_t axis = 0; axis < access.indices.size(); ++axis) {
      const auto index = to_affine(access.indices[axis]);
      if (!index) {
        return std::nullopt;
      }
      elements.add_zero(*index - Affine("element'" + std::to_string(axis)));
    }
    std::vector<std::string> own;
    for (const std::string& name : elements.names()) {
      const bool is_common = access.inames.count(name) != 0 && other.inames.count(name) != 0;
      if (is_iname(kernel_, name) && !is_common) {
        own.push_back(name);
      }
    }
    return elements.project_out(own);
  }

  const Kernel& kernel_;
  const NameSet& host_loops_;
  std::vector<ArrayAccess> accesses_;
};

}  // namespace

std::vector<LaunchTree> launches_of(const LoopTree& tree) {
  return LaunchCutter().cut(tree);
}

bool contains_launch_boundary(const LoopTreeNode& node) {
  return match(
      node,
      [](const LoopNode& loop) {
        return std::any_of(loop.body.begin(), loop.body.end(), contains_launch_boundary);
      },
      [](const LaunchBoundaryNode&) { return true; }, [](const auto&) { return false; });
}

NameSet host_loops_of(const Kernel& kernel) {
  NameSet loops;
  for (const Instruction& instruction : kernel.instructions) {
    const BarrierInstruction* barrier = get_if<BarrierInstruction>(instruction);
    if (barrier != nullptr && barrier->scope == BarrierScope::global) {
      std::copy_if(instruction.within_inames.begin(), instruction.within_inames.end(),
                   std::inserter(loops, loops.end()),
                   [&](const std::string& iname) { return is_loop_iname(kernel, iname); });
    }
  }
  return loops;
}

bool launch_ends_between(const Kernel& kernel, std::size_t one, std::size_t other) {
  for (std::size_t i = std::min(one, other); i < std::max(one, other); ++i) {
    const BarrierInstruction* barrier = get_if<BarrierInstruction>(kernel.instructions[i]);
    if (barrier != nullptr && barrier->scope == BarrierScope::global) {
      return true;
    }
  }
  return false;
}

NameSet host_loops_around(const Kernel& kernel, const std::vector<std::size_t>& statements) {
  NameSet loops = host_loops_of(kernel);
  for (const std::size_t each : statements) {
    const NameSet& around = kernel.instructions[each].within_inames;
    std::erase_if(loops, [&](const std::string& iname) { return around.count(iname) == 0; });
  }
  return loops;
}

bool outlives_iteration(const Kernel& kernel, const std::string& temporary,
                        const std::vector<std::size_t>& statements, const NameSet& host_loops) {
  return LifeInLaunch(kernel, temporary, statements, host_loops).outlives_iteration();
}

}  // namespace rtcg::loopy
