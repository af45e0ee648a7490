#include "rtcg/loopy/create/infer_inames.h"

#include <algorithm>

#include "rtcg/loopy/symbolic/traverse.h"
#include "rtcg/loopy/transform/expand_subst.h"

namespace rtcg::loopy {
namespace {

/// The reads of a statement, and the inames that index its writes.
struct Traffic {
  NameSet reads;
  std::map<std::string, NameSet, std::less<>> writes;
};

Traffic traffic_of(const Kernel& kernel, const Instruction& instruction) {
  Traffic traffic;
  traffic.reads = read_variables(kernel, instruction);
  NameSet looped = reduction_inames(instruction);
  looped.insert(instruction.within_inames.begin(), instruction.within_inames.end());
  for (const std::string& each : constraints_of(kernel, looped).names()) {
    traffic.reads.insert(each);  // bounds may be temporaries
  }
  for (const Expr& target : targets_of(instruction)) {
    NameSet indices;
    for_each_child(target, [&](const Expr& index) { indices.merge(free_names(index)); });
    traffic.writes.emplace(target_name(target), std::move(indices));
  }
  return traffic;
}

/// The statements whose values `reader` may see in `variable`: those before it, or of these only
/// the ones that overwrite it, if such exist.
std::vector<std::size_t> sources(const std::vector<Traffic>& traffic, std::size_t reader,
                                 const std::string& variable) {
  std::vector<std::size_t> setting;
  std::vector<std::size_t> updating;
  std::vector<std::size_t> later;
  for (std::size_t each = 0; each < traffic.size(); ++each) {
    if (each == reader || traffic[each].writes.count(variable) == 0) {
      continue;
    }
    const bool updates = traffic[each].reads.count(variable) != 0;
    (each > reader ? later : updates ? updating : setting).push_back(each);
  }
  return !setting.empty() ? setting : !updating.empty() ? updating : later;
}

}  // namespace

Kernel infer_inames(Kernel kernel, const NameSet& settled) {
  if (kernel.temporaries.empty()) {
    return kernel;
  }
  const Kernel expanded = expand_subst(kernel);
  std::vector<Traffic> traffic;
  for (const Instruction& each : expanded.instructions) {
    traffic.push_back(traffic_of(expanded, each));
  }
  // the inames of a writer may come from its own reads
  for (bool has_changed = true; has_changed;) {
    has_changed = false;
    for (std::size_t reader = 0; reader < traffic.size(); ++reader) {
      Instruction& instruction = kernel.instructions[reader];
      if (settled.count(instruction.id) != 0) {
        continue;
      }
      NameSet inames = instruction.within_inames;
      for (const Temporary& temporary : kernel.temporaries) {
        if (traffic[reader].reads.count(temporary.name) == 0) {
          continue;
        }
        const std::vector<std::size_t> writers = sources(traffic, reader, temporary.name);
        for (const std::string& iname : all_inames(kernel)) {
          const bool is_around_all =
              std::all_of(writers.begin(), writers.end(), [&](std::size_t w) {
                return kernel.instructions[w].within_inames.count(iname) != 0 &&
                       traffic[w].writes.at(temporary.name).count(iname) == 0;
              });
          if (!writers.empty() && is_around_all) {
            inames.insert(iname);
          }
        }
      }
      for (const std::string& each : reduction_inames(expanded.instructions[reader])) {
        inames.erase(each);
      }
      if (inames.size() > instruction.within_inames.size()) {
        instruction.within_inames = with_parent_inames(kernel, inames);
        has_changed = true;
      }
    }
  }
  return kernel;
}

}  // namespace rtcg::loopy
