#include "rtcg/loopy/transform/rename_inames.h"

#include <algorithm>

#include <fmt/format.h>

#include "rtcg/loopy/schedule/loop_tree.h"
#include "rtcg/loopy/transform/iteration_order.h"
#include "rtcg/loopy/transform/record.h"
#include "rtcg/loopy/transform/refusal.h"
#include "rtcg/loopy/transform/rename_iname.h"

namespace rtcg::loopy {
namespace {

using Names = std::vector<std::string>;

Kernel renamed_to_one(Kernel kernel, const Names& inames, const std::string& new_name) {
  for (const std::string& iname : inames) {
    if (iname != new_name) {
      kernel = rename_iname(std::move(kernel), iname, new_name);
    }
  }
  return kernel;
}

/// The inames in the order in which their loops begin.
Names in_order(const Kernel& kernel, Names inames) {
  const std::optional<IterationOrder> order = iteration_order(kernel);
  const auto place = [&](const std::string& iname) {
    std::size_t first = kernel.instructions.size();
    for (const Instruction& each : kernel.instructions) {
      if (each.within_inames.count(iname) != 0 && order && order->count(each.id) != 0) {
        first = std::min(first, order->at(each.id).place);
      }
    }
    return first;
  };
  std::stable_sort(inames.begin(), inames.end(),
                   [&](const std::string& l, const std::string& r) { return place(l) < place(r); });
  return inames;
}

std::optional<Refusal> find_fusion_refusal(const Kernel& kernel, const Names& candidates) {
  for (const std::string& iname : candidates) {
    if (!is_iname(kernel, iname)) {
      return Refusal{"loopy.fuse_loops.unknown_iname", unknown_iname_text(kernel, iname)};
    }
  }
  if (find_fusion_candidates(kernel, candidates).empty()) {
    return Refusal{"loopy.fuse_loops.nothing_to_fuse",
                   fmt::format("no two of the loops of kernel '{}' can become one", kernel.name)};
  }
  return std::nullopt;
}

}  // namespace

Kernel rename_inames(Kernel kernel, const std::vector<std::string>& inames,
                     std::string_view new_name) {
  if (inames.empty()) {
    throw_if_refused(Refusal{"loopy.rename_inames.too_few", "there is no iname to rename"});
  }
  const RecordedStep step(kernel);
  kernel = renamed_to_one(std::move(kernel), inames, std::string(new_name));
  step.record(kernel, "rename_inames", {list_text(inames), std::string(new_name)});
  return kernel;
}

std::vector<std::vector<std::string>> find_fusion_candidates(
    const Kernel& kernel, const std::vector<std::string>& candidates) {
  Names open = candidates;
  if (open.empty()) {
    for (const std::string& iname : all_inames(kernel)) {
      const bool is_around_any = std::any_of(
          kernel.instructions.begin(), kernel.instructions.end(),
          [&](const Instruction& each) { return each.within_inames.count(iname) != 0; });
      if (is_loop_iname(kernel, iname) && is_around_any) {
        open.push_back(iname);
      }
    }
  }
  Kernel fused = kernel;
  const bool is_nested = iteration_order(kernel).has_value();
  std::vector<Names> groups;
  for (const std::string& iname : in_order(kernel, open)) {
    bool is_taken = false;
    for (Names& group : groups) {
      if (tag_of(kernel, iname) != tag_of(kernel, group.front()) ||
          why_not_rename_iname(fused, iname, group.front())) {
        continue;
      }
      Kernel trial = rename_iname(fused, iname, group.front());
      if (is_nested && !iteration_order(trial)) {
        continue;
      }
      fused = std::move(trial);
      group.push_back(iname);
      is_taken = true;
      break;
    }
    if (!is_taken) {
      groups.push_back({iname});
    }
  }
  std::erase_if(groups, [](const Names& group) { return group.size() < 2; });
  return groups;
}

Kernel fuse_loops(Kernel kernel, const std::vector<std::string>& candidates) {
  throw_if_refused(find_fusion_refusal(kernel, candidates));
  const RecordedStep step(kernel);
  for (const Names& group : find_fusion_candidates(kernel, candidates)) {
    kernel = renamed_to_one(std::move(kernel), {group.begin() + 1, group.end()}, group.front());
  }
  step.record(kernel, "fuse_loops", candidates);
  return kernel;
}

}  // namespace rtcg::loopy
