#include "rtcg/loopy/transform/choose_address_spaces.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/symbolic/traverse.h"

namespace rtcg::loopy {
namespace {

NameSet names_in_indices(const Expr& target) {
  NameSet names;
  for_each_child(target, [&](const Expr& index) { names.merge(free_names(index)); });
  return names;
}

/// Of an array of a thread or a block: 512 KiB of doubles, which is all that a thread has in CUDA.
constexpr std::int64_t most_elements = 65536;

/// Whether threads or blocks can have an array: its length is known, and no larger.
bool fits_thread_or_block(const Temporary& temporary) {
  std::int64_t elements = 1;
  for (const Expr& each : temporary.shape) {
    const std::optional<Affine> length = to_affine(each);
    if (!length || !length->is_constant() || length->constant() > most_elements) {
      return false;
    }
    elements *= std::max<std::int64_t>(length->constant(), 1);
    if (elements > most_elements) {
      return false;
    }
  }
  return true;
}

AddressSpace chosen_space(const Kernel& kernel, const Temporary& temporary) {
  const auto is_of_block = [](const auto& tagged) { return tagged.second.kind == AxisKind::block; };
  // l.auto becomes an axis where there is one
  const bool has_block =
      std::any_of(kernel.iname_tags.begin(), kernel.iname_tags.end(), is_of_block);
  const auto is_axis = [&](const InameTag& tag) {
    return tag.kind == AxisKind::block || (has_block && tag.kind == AxisKind::block_auto);
  };
  bool is_local = false;
  bool is_assigned = false;
  bool has_one_writer = true;  // each element, whichever loops become axes
  for (const Instruction& instruction : kernel.instructions) {
    const Assignment* assignment = get_if<Assignment>(instruction);
    if (assignment == nullptr) {
      has_one_writer = has_one_writer && written_variables(instruction).count(temporary.name) == 0;
      continue;
    }
    for (const Expr& target : assignment->targets) {
      if (target_name(target) != temporary.name) {
        continue;
      }
      const NameSet indexed = names_in_indices(target);
      std::vector<std::string> in_index;
      std::vector<std::string> not_in_index;
      for (const std::string& iname : instruction.within_inames) {
        if (is_axis(tag_of(kernel, iname))) {
          (indexed.count(iname) != 0 ? in_index : not_in_index).push_back(iname);
        }
      }
      if (!in_index.empty() && !not_in_index.empty()) {
        throw InvalidInput(
            "loopy.choose_address_spaces.ambiguous",
            fmt::format("'{}' writes '{}' with index {} but is spread over '{}' as well: state the "
                        "address space of '{}', or give it an axis for that iname",
                        instruction.id, temporary.name, in_index.front(), not_in_index.front(),
                        temporary.name));
      }
      is_local = is_local || !in_index.empty();
      is_assigned = true;
      has_one_writer =
          has_one_writer &&
          std::all_of(instruction.within_inames.begin(), instruction.within_inames.end(),
                      [&](const auto& iname) { return indexed.count(iname) != 0; });
    }
  }
  if (is_assigned && has_one_writer && !fits_thread_or_block(temporary)) {
    return AddressSpace::global;
  }
  return is_local ? AddressSpace::local : AddressSpace::private_;
}

}  // namespace

Kernel choose_address_spaces(Kernel kernel) {
  for (Temporary& temporary : kernel.temporaries) {
    if (temporary.address_space == AddressSpace::automatic) {
      temporary.address_space = chosen_space(kernel, temporary);
    }
  }
  return kernel;
}

}  // namespace rtcg::loopy
