#include "rtcg/loopy/schedule/launches.h"

#include <algorithm>
#include <iterator>

#include "rtcg/loopy/analyze/access.h"
#include "rtcg/loopy/analyze/type_of.h"
#include "rtcg/loopy/schedule/launch_axes.h"
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
      if (const LaunchBoundaryNode* boundary = get_if<LaunchBoundaryNode>(node)) {
        end_launch();
        is_for_last_blocks_ = boundary->is_passed_by_last_block && !launches_.empty();
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
      launches_.push_back({host_loops_, std::move(open_), is_for_last_blocks_});
    }
    is_for_last_blocks_ = false;
    open_.clear();
  }

  std::vector<std::string> host_loops_;
  bool is_for_last_blocks_ = false;
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
      const Affine::Terms terms = expr.terms();
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

namespace {

constexpr std::int64_t most_bytes_of_last_block = 16 * 1024;  // in shared memory, besides others

/// Whether the last blocks of a launch can run what would be the next one.
class LastBlockTest {
 public:
  LastBlockTest(const Kernel& kernel, const LaunchTree& launch, const LaunchTree& next)
      : kernel_(kernel),
        launch_(launch),
        next_(next),
        first_(statements_in(launch.tree)),
        last_(statements_in(next.tree)) {}

  [[nodiscard]] bool can_go_on() {
    return kernel_.swizzle_blocks == 0 && kernel_.walking_blocks.empty() &&
           launch_.host_loops == next_.host_loops && launch_.after_last_block.empty() &&
           are_assignments(last_) && has_axes() && has_little_memory() && is_of_group() &&
           has_blocks();
  }

 private:
  [[nodiscard]] bool are_assignments(const std::vector<std::size_t>& statements) const {
    return std::all_of(statements.begin(), statements.end(), [&](std::size_t each) {
      return is<Assignment>(kernel_.instructions[each]) &&
             kernel_.instructions[each].call_site == nullptr;
    });
  }

  /// Whether the launch has the blocks and the threads, and more blocks.
  [[nodiscard]] bool has_axes() {
    axes_ = launch_axes(kernel_, first_, launch_.host_loops);
    const LaunchAxes needed = launch_axes(kernel_, last_, next_.host_loops);
    for (const HardwareAxis& each : needed.axes) {
      const HardwareAxis* axis = axes_.find(each.kind, each.number);
      const bool is_grid = each.kind == AxisKind::grid;
      if (axis == nullptr || !(axis->first == each.first) ||
          (is_grid && !(axis->extent == each.extent)) ||
          (!is_grid && *as_integer(axis->extent) < *as_integer(each.extent))) {
        return false;
      }
      if (is_grid) {
        common_.push_back(each.number);
      }
    }
    return std::any_of(axes_.axes.begin(), axes_.axes.end(), [&](const HardwareAxis& each) {
      return each.kind == AxisKind::grid && needed.find(each.kind, each.number) == nullptr;
    });
  }

  /// Whether there are blocks for any lengths: without one, no last block gives results. Axes that
  /// both have lack blocks only where there are no results.
  [[nodiscard]] bool has_blocks() const {
    const ConstraintSet known = constraints_of(kernel_, host_loops());
    return std::all_of(axes_.axes.begin(), axes_.axes.end(), [&](const HardwareAxis& each) {
      return each.kind != AxisKind::grid ||
             std::find(common_.begin(), common_.end(), each.number) != common_.end() ||
             is_positive(each.extent, known);
    });
  }
  [[nodiscard]] NameSet host_loops() const {
    return {launch_.host_loops.begin(), launch_.host_loops.end()};
  }
  static bool is_positive(const Expr& extent, const ConstraintSet& known) {
    if (const auto affine = to_affine(extent)) {
      return known.implies_nonnegative(*affine - Affine(1));
    }
    if (const auto* division = get_if<FloorDiv>(extent)) {
      const auto whole = to_affine(division->numerator);
      const auto divisor = as_integer(division->denominator);
      return whole && divisor && *divisor > 0 &&
             known.implies_nonnegative(*whole - Affine(*divisor));
    }
    if (const auto* call = get_if<Call>(extent); call != nullptr && call->function == "min") {
      return std::all_of(call->arguments.begin(), call->arguments.end(),
                         [&](const Expr& each) { return is_positive(each, known); });
    }
    return false;
  }

  [[nodiscard]] bool has_little_memory() const {
    NameSet touched;
    for (const std::size_t each : last_) {
      touched.merge(read_variables(kernel_, kernel_.instructions[each]));
      touched.merge(written_variables(kernel_.instructions[each]));
    }
    std::int64_t bytes = 0;
    for (const std::string& each : touched) {
      const Temporary* temporary = find_temporary(kernel_, each);
      if (temporary != nullptr && temporary->address_space == AddressSpace::local) {
        std::int64_t elements = 1;
        for (const Expr& length : temporary->shape) {
          elements *= std::min(as_integer(length).value_or(most_bytes_of_last_block),
                               most_bytes_of_last_block);
          elements = std::min(elements, most_bytes_of_last_block);
        }
        bytes += elements * size_bytes(*temporary->type);
      }
    }
    return bytes <= most_bytes_of_last_block;
  }

  /// Whether all that blocks write and the last block reads, and the other way round, is of one
  /// group of blocks: other groups may not have come so far.
  [[nodiscard]] bool is_of_group() const {
    const std::vector<ArrayAccess> after = accesses_of_all(last_);
    std::vector<std::size_t> assignments;
    for (const std::size_t first : first_) {
      const Instruction& instruction = kernel_.instructions[first];
      if (is<Assignment>(instruction)) {
        assignments.push_back(first);
      } else if (std::any_of(after.begin(), after.end(), [&](const ArrayAccess& each) {
                   return touches(kernel_, instruction, each.array);
                 })) {
        return false;
      }
    }
    const std::vector<ArrayAccess> before = accesses_of_all(assignments);
    return std::all_of(after.begin(), after.end(), [&](const ArrayAccess& one) {
      return !is_global(one.array) ||
             std::all_of(before.begin(), before.end(), [&](const ArrayAccess& other) {
               const bool is_shared = other.array == one.array && (other.is_write || one.is_write);
               return !is_shared || are_of_group(other, one);
             });
    });
  }
  [[nodiscard]] std::vector<ArrayAccess> accesses_of_all(
      const std::vector<std::size_t>& statements) const {
    std::vector<ArrayAccess> result;
    for (const std::size_t each : statements) {
      std::vector<ArrayAccess> own = accesses_of(kernel_, kernel_.instructions[each]);
      std::move(own.begin(), own.end(), std::back_inserter(result));
    }
    return result;
  }
  [[nodiscard]] bool is_global(const std::string& array) const {
    const Temporary* temporary = find_temporary(kernel_, array);
    return temporary == nullptr || temporary->address_space == AddressSpace::global;
  }
  [[nodiscard]] bool are_of_group(const ArrayAccess& before, const ArrayAccess& after) const {
    if (before.is_linear || after.is_linear || find_temporary(kernel_, after.array) == nullptr ||
        before.indices.size() != after.indices.size()) {
      return false;
    }
    return std::all_of(common_.begin(), common_.end(), [&](int number) {
      for (std::size_t i = 0; i < before.indices.size(); ++i) {
        const Name* iname = get_if<Name>(before.indices[i]);
        if (iname != nullptr && before.indices[i] == after.indices[i] &&
            is_iname(kernel_, iname->name) &&
            tag_of(kernel_, iname->name) == InameTag{AxisKind::grid, number}) {
          return true;
        }
      }
      return false;
    });
  }

  const Kernel& kernel_;
  const LaunchTree& launch_;
  const LaunchTree& next_;
  const std::vector<std::size_t> first_;
  const std::vector<std::size_t> last_;
  LaunchAxes axes_{};          // of the launch
  std::vector<int> common_{};  // axes of the grid
};

}  // namespace

std::vector<LaunchTree> joined_launches_of(const Kernel& kernel, const LoopTree& tree) {
  std::vector<LaunchTree> joined;
  for (LaunchTree& each : launches_of(tree)) {
    if (each.is_for_last_blocks && !joined.empty() &&
        LastBlockTest(kernel, joined.back(), each).can_go_on()) {
      joined.back().after_last_block = std::move(each.tree);
    } else {
      joined.push_back(std::move(each));
    }
  }
  return joined;
}

std::vector<int> axes_of_groups(const Kernel& kernel, const LaunchTree& launch,
                                const LaunchAxes& all) {
  const LaunchAxes kept =
      launch_axes(kernel, statements_in(launch.after_last_block), launch.host_loops);
  std::vector<int> axes;
  for (const HardwareAxis& each : all.axes) {
    if (each.kind == AxisKind::grid && kept.find(each.kind, each.number) == nullptr) {
      axes.push_back(each.number);
    }
  }
  return axes;
}

NameSet parts_of_blocks(const Kernel& kernel, const LaunchTree& launch) {
  NameSet written;
  for (const std::size_t each : statements_in(launch.tree)) {
    written.merge(written_variables(kernel.instructions[each]));
  }
  NameSet parts;
  for (const std::size_t each : statements_in(launch.after_last_block)) {
    for (const std::string& name : read_variables(kernel, kernel.instructions[each])) {
      const Temporary* temporary = find_temporary(kernel, name);
      if (written.count(name) != 0 && temporary != nullptr &&
          temporary->address_space == AddressSpace::global) {
        parts.insert(name);
      }
    }
  }
  return parts;
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
