#include "rtcg/loopy/preprocess/share_fill_loops.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "rtcg/loopy/analyze/access.h"
#include "rtcg/loopy/symbolic/traverse.h"
#include "rtcg/loopy/transform/replace_iname.h"

namespace rtcg::loopy {
namespace {

/// A statement that gives each point of its own loops a value, computed from elements of arrays.
struct Fill {
  std::size_t statement = 0;
  std::vector<std::string> own{};  ///< its loops, in the order of the tile's axes
  NameSet around{};                ///< the others
  NameSet arrays{};                ///< that it reads several elements of
};

/// The inames that index the tile, if no other statement is within them.
std::optional<std::vector<std::string>> own_loops(const Kernel& kernel, const Instruction& fill,
                                                  const Access& target) {
  std::vector<std::string> own;
  for (const Expr& index : target.indices) {
    const Name* iname = get_if<Name>(index);
    if (iname == nullptr || !is_iname(kernel, iname->name) ||
        std::find(own.begin(), own.end(), iname->name) != own.end() ||
        std::any_of(kernel.instructions.begin(), kernel.instructions.end(),
                    [&](const Instruction& each) {
                      return each.id != fill.id && each.within_inames.count(iname->name) != 0;
                    })) {
      return std::nullopt;
    }
    own.push_back(iname->name);
  }
  return own;
}

std::optional<Fill> find_fill(const Kernel& kernel, std::size_t statement) {
  const Instruction& instruction = kernel.instructions[statement];
  const Assignment* assignment = get_if<Assignment>(instruction);
  if (!instruction.is_fill || assignment == nullptr || assignment->targets.size() != 1 ||
      assignment->is_atomic || !instruction.predicates.empty()) {
    return std::nullopt;
  }
  const Access* target = get_if<Access>(assignment->targets.front());
  const Temporary* tile = target != nullptr ? find_temporary(kernel, target->array) : nullptr;
  if (tile == nullptr || tile->address_space != AddressSpace::local ||
      !reduction_inames(instruction).empty()) {
    return std::nullopt;
  }
  const auto own = own_loops(kernel, instruction, *target);
  if (!own) {
    return std::nullopt;
  }
  Fill fill{statement, *own, instruction.within_inames, {}};
  for (const std::string& each : *own) {
    fill.around.erase(each);
  }
  NameSet once;
  for (const ArrayAccess& read : accesses_of(kernel, instruction)) {
    if (!read.is_write && !read.indices.empty() && !once.insert(read.array).second) {
      fill.arrays.insert(read.array);
    }
  }
  return fill;
}

/// Whether `second` may go through the loops of `first`.
bool can_share(const Kernel& kernel, const Fill& first, const Fill& second) {
  const Instruction& one = kernel.instructions[first.statement];
  const Instruction& other = kernel.instructions[second.statement];
  // equal ones cannot be between each other
  if (first.own.size() != second.own.size() || first.around != second.around ||
      one.depends_on != other.depends_on ||
      std::none_of(second.arrays.begin(), second.arrays.end(),
                   [&](const auto& each) { return first.arrays.count(each) != 0; })) {
    return false;
  }
  NameSet of_first = first.around;
  NameSet of_second = first.around;
  for (std::size_t i = 0; i < first.own.size(); ++i) {
    if (tag_of(kernel, first.own[i]) != tag_of(kernel, second.own[i])) {
      return false;
    }
    of_first.insert(first.own[i]);
    of_second.insert(second.own[i]);
  }
  ConstraintSet points = constraints_of(kernel, of_second);
  for (std::size_t i = 0; i < first.own.size(); ++i) {
    points = points.substitute(second.own[i], Affine(first.own[i]));
  }
  const ConstraintSet wanted = constraints_of(kernel, of_first);
  const auto implies_all = [](const ConstraintSet& known, const ConstraintSet& asked) {
    return std::all_of(asked.constraints().begin(), asked.constraints().end(),
                       [&](const Constraint& each) { return known.implies(each); });
  };
  return implies_all(wanted, points) && implies_all(points, wanted);
}

/// Lets a fill go through the loops of another one in place of its own.
void move_into(Kernel& kernel, const Fill& first, const Fill& second) {
  Instruction& moved = kernel.instructions[second.statement];
  Assignment assignment = *get_if<Assignment>(moved);
  for (std::size_t i = 0; i < first.own.size(); ++i) {
    const Expr value = Name{first.own[i]};
    assignment.value = replace_iname(assignment.value, second.own[i], value, {first.own[i]});
    assignment.targets.front() =
        replace_iname(assignment.targets.front(), second.own[i], value, {first.own[i]});
    moved.within_inames.erase(second.own[i]);
    moved.within_inames.insert(first.own[i]);
  }
  moved.kind = std::move(assignment);
  const auto is_left = [&](const std::string& iname) {
    return std::find(second.own.begin(), second.own.end(), iname) != second.own.end();
  };
  std::erase_if(kernel.iname_tags, [&](const auto& tagged) { return is_left(tagged.first); });
  std::erase_if(kernel.domains, [&](const Domain& domain) {
    return std::all_of(domain.inames.begin(), domain.inames.end(), is_left);
  });
  for (std::vector<std::string>& priority : kernel.loop_priorities) {
    std::erase_if(priority, is_left);
  }
}

}  // namespace

Kernel share_fill_loops(Kernel kernel) {
  std::vector<Fill> fills;
  for (std::size_t i = 0; i < kernel.instructions.size(); ++i) {
    std::optional<Fill> fill =
        kernel.instructions[i].is_fill ? find_fill(kernel, i) : std::optional<Fill>();
    if (!fill || fill->own.empty() || fill->arrays.empty()) {
      continue;
    }
    const auto first = std::find_if(fills.begin(), fills.end(), [&](const Fill& each) {
      return can_share(kernel, each, *fill);
    });
    if (first != fills.end()) {
      move_into(kernel, *first, *fill);
    } else {
      fills.push_back(std::move(*fill));
    }
  }
  return kernel;
}

}  // namespace rtcg::loopy
