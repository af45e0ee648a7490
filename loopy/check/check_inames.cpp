#include "rtcg/loopy/check/check_inames.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/cgen/support/gpu_limits.h"
#include "rtcg/loopy/analyze/access.h"
#include "rtcg/loopy/analyze/axis_length.h"
#include "rtcg/loopy/analyze/launch_scalars.h"
#include "rtcg/loopy/check/check_kernel.h"
#include "rtcg/loopy/symbolic/traverse.h"

namespace rtcg::loopy {
namespace {

/// @param place  gives the words for what names it
template <class Place>
void require_iname(const Kernel& kernel, const std::string& iname, const Place& place) {
  if (!is_iname(kernel, iname)) {
    throw InvalidInput(
        "loopy.check_kernel.unknown_iname",
        fmt::format("{} of kernel '{}' names the iname '{}', which is in no domain; "
                    "the inames are {}",
                    place(), kernel.name, iname, fmt::join(all_inames(kernel), ", ")));
  }
}

void check_names(const Kernel& kernel) {
  for (const auto& [iname, tag] : kernel.iname_tags) {
    const auto place = [&, &tag = tag] { return fmt::format("the tag '{}'", to_string(tag)); };
    require_iname(kernel, iname, place);
  }
  for (const std::vector<std::string>& priority : kernel.loop_priorities) {
    for (const std::string& iname : priority) {
      require_iname(kernel, iname, [] { return "a loop priority"; });
    }
  }
  for (const Instruction& instruction : kernel.instructions) {
    for (const std::string& iname : instruction.within_inames) {
      require_iname(kernel, iname, [&] { return fmt::format("statement '{}'", instruction.id); });
    }
    for (const std::string& iname : reduction_inames(instruction)) {
      require_iname(kernel, iname,
                    [&] { return fmt::format("a reduction in statement '{}'", instruction.id); });
    }
  }
}

void check_active(const Kernel& kernel, const Instruction& instruction) {
  const auto check = [&](const Expr& expr) {
    for (const std::string& each : free_names(expr)) {
      if (is_iname(kernel, each) && instruction.within_inames.count(each) == 0) {
        throw InvalidInput(
            "loopy.check_kernel.inactive_iname",
            fmt::format("statement '{}' of kernel '{}' uses '{}', but is within {{{}}}; put it "
                        "into the loop over '{}', or reduce over it",
                        instruction.id, kernel.name, each,
                        fmt::join(instruction.within_inames, ", "), each));
      }
    }
  };
  for_each_expression(instruction, check);
  if (instruction.disjoint_at) {
    std::for_each(instruction.disjoint_at->begin(), instruction.disjoint_at->end(), check);
  }
}

void check_reductions(const Kernel& kernel, const Instruction& instruction) {
  for (const std::string& iname : reduction_inames(instruction)) {
    if (instruction.within_inames.count(iname) != 0) {
      throw InvalidInput("loopy.check_kernel.reduced_twice",
                         fmt::format("statement '{}' of kernel '{}' reduces over '{}' and is "
                                     "within a loop over it; duplicate the iname for one of them",
                                     instruction.id, kernel.name, iname));
    }
  }
}

void check_parents(const Kernel& kernel, const Instruction& instruction) {
  NameSet active = instruction.within_inames;
  active.merge(reduction_inames(instruction));
  for (const std::string& iname : active) {
    for (const std::string& parent : with_parent_inames(kernel, {iname})) {
      if (active.count(parent) == 0) {
        throw InvalidInput("loopy.check_kernel.missing_outer_iname",
                           fmt::format("statement '{}' of kernel '{}' is within '{}', whose bounds "
                                       "depend on '{}', but it is not within '{}'",
                                       instruction.id, kernel.name, iname, parent, parent));
      }
    }
  }
}

void check_axes(const Kernel& kernel, const Instruction& instruction) {
  NameSet active = instruction.within_inames;
  active.merge(reduction_inames(instruction));
  std::map<std::string, std::string> user_of_axis;
  for (const std::string& iname : active) {
    const InameTag tag = tag_of(kernel, iname);
    if (!tag.is_parallel()) {
      continue;
    }
    const auto [user, is_first] = user_of_axis.emplace(to_string(tag), iname);
    if (!is_first) {
      throw InvalidInput(
          "loopy.check_kernel.axis_used_twice",
          fmt::format("statement '{}' of kernel '{}' is within '{}' and '{}', which "
                      "both are on the axis {}; give one of them another tag",
                      instruction.id, kernel.name, user->second, iname, to_string(tag)));
    }
  }
}

bool is_computed(const Kernel& kernel, const std::string& name) {
  return find_temporary(kernel, name) != nullptr ||
         std::any_of(kernel.instructions.begin(), kernel.instructions.end(),
                     [&](const Instruction& instruction) {
                       return written_variables(instruction).count(name) != 0;
                     });
}

/// A computed bound is a condition of what the threads do if other bounds are constants: part `l`
/// of `k = 32*m + l` runs from 0 to 31, for all rows `begin <= k < end`.
bool has_constant_bounds(const Kernel& kernel, const std::string& iname) {
  const ConstraintSet all = constraints_of(kernel, {iname});
  ConstraintSet fixed;
  for (const Constraint& constraint : all.constraints()) {
    if (constraint.expr.terms().size() == 1 && constraint.expr.coefficient(iname) != 0) {
      fixed.add(constraint);
    }
  }
  return fixed.minimum(Affine(iname)) && fixed.maximum(Affine(iname));
}

void check_data_dependence(const Kernel& kernel, const std::string& iname, const InameTag& tag) {
  if (tag.kind != AxisKind::grid && has_constant_bounds(kernel, iname)) {
    return;
  }
  for (const std::string& each : constraints_of(kernel, {iname}).names()) {
    if (is_computed(kernel, each) &&
        (tag.kind != AxisKind::grid || launch_scalars(kernel).count(each) == 0)) {
      throw InvalidInput("loopy.check_kernel.data_dependent_axis",
                         fmt::format("the bounds of '{}' in kernel '{}' depend on '{}', which the "
                                     "kernel computes: it cannot be on the axis {}",
                                     iname, kernel.name, each, to_string(tag)));
    }
  }
}

void check_lengths(const Kernel& kernel) {
  for (const std::string& iname : all_inames(kernel)) {
    const InameTag tag = tag_of(kernel, iname);
    const bool is_in_block = tag.kind == AxisKind::block || tag.kind == AxisKind::block_auto;
    if (is_in_block || tag.kind == AxisKind::grid) {
      check_data_dependence(kernel, iname, tag);
    }
    if (is_in_block && !constant_length(kernel, iname)) {
      throw InvalidInput(
          "loopy.check_kernel.no_constant_length",
          fmt::format("'{}' in kernel '{}' is on the axis {}, but no constant bounds its length; "
                      "split it, or assume an upper bound of its parameters",
                      iname, kernel.name, to_string(tag)));
    }
  }
}

void check_threads(const Kernel& kernel) {
  const bool has_launches =
      std::any_of(kernel.instructions.begin(), kernel.instructions.end(), [](const auto& each) {
        const BarrierInstruction* barrier = get_if<BarrierInstruction>(each);
        return barrier != nullptr && barrier->scope == BarrierScope::global;
      });
  if (has_launches) {
    return;  // each has blocks of its own, which generate() looks at
  }
  std::int64_t threads = 1;
  std::vector<std::int64_t> lengths;
  for (int axis = 0; axis < 3; ++axis) {
    lengths.push_back(block_length(kernel, axis).value_or(1));
    // a product of three 64-bit lengths might overflow
    threads = std::min(threads, most_threads_of_block + 1) *
              std::min(lengths.back(), most_threads_of_block + 1);
  }
  if (threads > most_threads_of_block) {
    throw InvalidInput("loopy.check_kernel.too_many_threads",
                       fmt::format("the blocks of kernel '{}' have {} threads, more than the {} "
                                   "that devices have; split to shorter lengths",
                                   kernel.name, fmt::join(lengths, " x "), most_threads_of_block));
  }
}

}  // namespace

void check_inames(const Kernel& kernel) {
  check_names(kernel);
  for (const Instruction& instruction : kernel.instructions) {
    check_active(kernel, instruction);
    check_reductions(kernel, instruction);
    check_parents(kernel, instruction);
    check_axes(kernel, instruction);
  }
  check_lengths(kernel);
  check_threads(kernel);
}

}  // namespace rtcg::loopy
