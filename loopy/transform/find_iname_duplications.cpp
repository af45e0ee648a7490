#include "rtcg/loopy/transform/find_iname_duplications.h"

#include <set>

#include <fmt/format.h>

#include "rtcg/loopy/schedule/loop_tree.h"
#include "rtcg/loopy/transform/duplicate_inames.h"
#include "rtcg/loopy/transform/iteration_order.h"
#include "rtcg/loopy/transform/why_not.h"

namespace rtcg::loopy {

bool has_schedulable_iname_nesting(const Kernel& kernel) {
  return iteration_order(kernel).has_value();
}

std::vector<InameDuplication> find_iname_duplications(const Kernel& kernel) {
  std::vector<InameDuplication> found;
  if (has_schedulable_iname_nesting(kernel)) {
    return found;
  }
  for (const std::string& iname : all_inames(kernel)) {
    if (!is_loop_iname(kernel, iname)) {
      continue;
    }
    // statements within the same loops go together
    std::set<NameSet> seen;
    for (const Instruction& each : kernel.instructions) {
      if (each.within_inames.count(iname) == 0 || !seen.insert(each.within_inames).second) {
        continue;
      }
      InameDuplication option{iname, {}};
      std::size_t count = 0;
      std::size_t all = 0;
      for (const Instruction& other : kernel.instructions) {
        all += other.within_inames.count(iname);
        if (other.within_inames == each.within_inames) {
          option.within += fmt::format("{}id:{}", count == 0 ? "" : " or ", other.id);
          ++count;
        }
      }
      const DuplicateOptions options{.within = option.within};
      if (count < all && !why_not([&] { return duplicate_inames(kernel, {iname}, options); }) &&
          has_schedulable_iname_nesting(duplicate_inames(kernel, {iname}, options))) {
        found.push_back(std::move(option));
      }
    }
  }
  return found;
}

}  // namespace rtcg::loopy
