#include "rtcg/loopy/transform/hardware_axes.h"

#include <algorithm>

#include <fmt/format.h>

#include "rtcg/loopy/analyze/axis_length.h"
#include "rtcg/loopy/transform/iname_use.h"
#include "rtcg/loopy/transform/map_kernel.h"
#include "rtcg/loopy/transform/record.h"
#include "rtcg/loopy/transform/refusal.h"

namespace rtcg::loopy {
namespace {

/// The inames that each matching statement lacks, by its id.
std::map<std::string, NameSet> find_missing(const Kernel& kernel, std::string_view within,
                                            std::optional<Refusal>& refusal) {
  std::map<std::string, NameSet> missing;
  const NameSet ids = matching_ids(kernel, within, refusal);
  for (const Instruction& instruction : kernel.instructions) {
    if (ids.count(instruction.id) == 0) {
      continue;
    }
    const NameSet used = used_inames(instruction);
    for (const auto& [iname, tag] : kernel.iname_tags) {
      const std::vector<std::string> on_axis = inames_on_axis(kernel, tag);
      if (!tag.is_parallel() || std::any_of(on_axis.begin(), on_axis.end(), [&](const auto& each) {
            return used.count(each) != 0;
          })) {
        continue;
      }
      if (on_axis.size() > 1) {
        refusal =
            Refusal{"loopy.add_inames_for_unused_hardware_axes.several_inames",
                    fmt::format("statement '{}' is not on any of {}, which share the axis {}: "
                                "add one of them by add_inames_to_instructions",
                                instruction.id, list_text(on_axis), to_string(tag))};
        return {};
      }
      missing[instruction.id].insert(iname);
    }
  }
  if (missing.empty() && !refusal) {
    refusal = Refusal{"loopy.add_inames_for_unused_hardware_axes.nothing_to_add",
                      fmt::format("all statements that fit '{}' are on all axes", within)};
  }
  return missing;
}

}  // namespace

Kernel add_inames_for_unused_hardware_axes(Kernel kernel, std::string_view within) {
  std::optional<Refusal> refusal;
  const auto missing = find_missing(kernel, within, refusal);
  throw_if_refused(refusal);
  for (Instruction& instruction : kernel.instructions) {
    if (const auto found = missing.find(instruction.id); found != missing.end()) {
      NameSet inames = instruction.within_inames;
      inames.insert(found->second.begin(), found->second.end());
      instruction.within_inames = with_parent_inames(kernel, inames);
    }
  }
  record(kernel, "add_inames_for_unused_hardware_axes",
         within.empty() ? std::vector<std::string>{} : std::vector{std::string(within)});
  return kernel;
}

}  // namespace rtcg::loopy
