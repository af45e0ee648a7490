#include "rtcg/loopy/transform/prioritize_loops.h"

#include <fmt/format.h>

#include "rtcg/loopy/transform/iteration_order.h"
#include "rtcg/loopy/transform/record.h"
#include "rtcg/loopy/transform/refusal.h"

namespace rtcg::loopy {
namespace {

/// All that the orders put inside of `iname`, itself not unless there is a circle.
NameSet inside_of(const std::vector<std::vector<std::string>>& orders, const std::string& iname) {
  NameSet inside;
  std::vector<std::string> open = {iname};
  while (!open.empty()) {
    const std::string outer = std::move(open.back());
    open.pop_back();
    for (const std::vector<std::string>& order : orders) {
      bool is_inside = false;
      for (const std::string& each : order) {
        if (is_inside && inside.insert(each).second) {
          open.push_back(each);
        }
        is_inside = is_inside || each == outer;
      }
    }
  }
  return inside;
}

std::optional<Refusal> find_refusal(const Kernel& kernel, const std::vector<std::string>& inames) {
  for (const std::string& iname : inames) {
    if (!is_iname(kernel, iname)) {
      return Refusal{"loopy.prioritize_loops.unknown_iname", unknown_iname_text(kernel, iname)};
    }
  }
  std::vector<std::vector<std::string>> orders = kernel.loop_priorities;
  orders.push_back(inames);
  for (const std::string& iname : inames) {
    if (inside_of(orders, iname).count(iname) != 0) {
      return Refusal{"loopy.prioritize_loops.circle",
                     fmt::format("with the order {} '{}' would have to be inside of itself",
                                 list_text(inames), iname)};
    }
  }
  Kernel ordered = kernel;
  ordered.loop_priorities = std::move(orders);
  if (const auto both = iteration_orders(kernel, ordered)) {
    if (const auto why = find_reversed_dependence(kernel, both->before, both->after)) {
      return Refusal{"loopy.prioritize_loops.carried_value",
                     fmt::format("loops cannot come in the order {}: {}", list_text(inames), *why)};
    }
  }
  return std::nullopt;
}

}  // namespace

Kernel prioritize_loops(Kernel kernel, const std::vector<std::string>& inames) {
  throw_if_refused(find_refusal(kernel, inames));
  kernel.loop_priorities.push_back(inames);
  record(kernel, "prioritize_loops", inames);
  return kernel;
}

}  // namespace rtcg::loopy
