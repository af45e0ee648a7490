#include "rtcg/loopy/slice/online_kernel.h"

#include <algorithm>

#include "rtcg/loopy/symbolic/traverse.h"
#include "rtcg/loopy/transform/fuse_reductions.h"
#include "rtcg/loopy/transform/reduction_chain.h"
#include "rtcg/loopy/transform/rename_inames.h"
#include "rtcg/loopy/transform/why_not.h"

namespace rtcg::loopy::detail {
namespace {

using InameLists = std::vector<std::vector<std::string>>;

/// The inames of all reductions that no other one is around, by their places in these; empty if
/// there is only one reduction.
InameLists online_inames(const Kernel& kernel) {
  InameLists found;
  std::size_t count = 0;
  bool are_alike = true;
  for (const Instruction& each : kernel.instructions) {
    for_each_expression(each, [&](const Expr& expr) {
      walk(expr, [&](const Expr& part) {
        const Reduction* reduction = get_if<Reduction>(part);
        if (reduction == nullptr) {
          return true;
        }
        found.resize(count++ == 0 ? reduction->inames.size() : found.size());
        are_alike = are_alike && reduction->inames.size() == found.size();
        for (std::size_t i = 0; are_alike && i < found.size(); ++i) {
          const std::string& iname = reduction->inames[i];
          if (std::find(found[i].begin(), found[i].end(), iname) == found[i].end()) {
            found[i].push_back(iname);
          }
        }
        return false;
      });
    });
  }
  return are_alike && count > 1 ? found : InameLists();
}

/// Loops that are next to each other read what they share once in any case: there are only slicings
/// for reductions that wait for each other.
std::optional<Kernel> fused(Kernel kernel, const InameLists& inames) {
  std::vector<std::string> loops;
  for (const std::vector<std::string>& each : inames) {
    loops.push_back(each.front());
    kernel =
        each.size() > 1 ? rename_inames(std::move(kernel), each, each.front()) : std::move(kernel);
  }
  const NameSet all(loops.begin(), loops.end());
  const auto is_part = [&](const Reduction& reduction) {
    return NameSet(reduction.inames.begin(), reduction.inames.end()) == all;
  };
  kernel = with_visible_chain(std::move(kernel), is_part);
  const ReductionChain chain = find_reduction_chain(kernel, loops, is_part);
  const bool is_chain = std::any_of(chain.links.begin(), chain.links.end(),
                                    [](const ChainLink& each) { return !each.uses.empty(); });
  return is_chain ? std::optional(fuse_reductions(std::move(kernel), loops)) : std::nullopt;
}

}  // namespace

std::optional<OnlineKernel> find_online_kernel(const Kernel& kernel) {
  const InameLists inames = online_inames(kernel);
  std::optional<Kernel> result;
  const auto refusal = why_not([&] {
    if (!inames.empty()) {
      result = fused(kernel, inames);
    }
  });
  return result && !refusal ? std::optional(OnlineKernel{inames, std::move(*result)})
                            : std::nullopt;
}

}  // namespace rtcg::loopy::detail
