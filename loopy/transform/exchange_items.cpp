#include "rtcg/loopy/transform/exchange_items.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "rtcg/loopy/analyze/access.h"
#include "rtcg/loopy/symbolic/scan.h"
#include "rtcg/loopy/symbolic/traverse.h"
#include "rtcg/loopy/transform/record.h"
#include "rtcg/loopy/transform/refusal.h"

namespace rtcg::loopy {
namespace {

/// Whether each thread along the iname has several of the elements that the statement touches.
bool has_items_along(const Kernel& kernel, const Instruction& instruction,
                     const std::string& iname) {
  const std::vector<ArrayAccess> accesses = accesses_of(kernel, instruction);
  return std::any_of(accesses.begin(), accesses.end(), [&](const ArrayAccess& each) {
    const auto last =
        each.is_linear || each.indices.empty() ? std::nullopt : to_affine(each.indices.back());
    return last && last->coefficient(iname) > 1;
  });
}

/// Whether the statement scans elements of which each thread along the iname has several.
bool scans_items_along(const Kernel& kernel, const Instruction& instruction,
                       const std::string& iname) {
  bool is_any = false;
  for_each_expression(instruction, [&](const Expr& expr) {
    walk(expr, [&](const Expr& part) {
      const Reduction* reduction = as_scan(part);
      const Domain* home =
          reduction != nullptr ? find_home_domain(kernel, reduction->inames.front()) : nullptr;
      if (home != nullptr) {
        const auto& constraints = home->constraints.constraints();
        is_any = is_any ||
                 std::any_of(constraints.begin(), constraints.end(), [&](const Constraint& each) {
                   return each.expr.coefficient(iname) > 1;
                 });
      }
      return !is_any;
    });
  });
  return is_any;
}

}  // namespace

Kernel exchange_items(Kernel kernel, std::string_view iname) {
  const RecordedStep step(kernel);
  const std::string name(iname);
  if (!is_iname(kernel, iname)) {
    refuse("loopy.exchange_items.unknown_iname", unknown_iname_text(kernel, iname));
  }
  if (!(tag_of(kernel, iname) == InameTag{AxisKind::block, 0})) {
    refuse("loopy.exchange_items.not_threads",
           fmt::format("'{}' is tagged {}: threads along l.0 exchange their items", iname,
                       to_string(tag_of(kernel, iname))));
  }
  bool is_any = false;
  for (Instruction& each : kernel.instructions) {
    if (each.within_inames.count(name) != 0 &&
        (has_items_along(kernel, each, name) || scans_items_along(kernel, each, name))) {
      each.exchanges_items = true;
      is_any = true;
    }
  }
  if (!is_any) {
    refuse(
        "loopy.exchange_items.no_items",
        fmt::format("no statement has several elements of an array for each value of '{}': split "
                    "the loop, i: g.0 l.0*256 vec*4",
                    iname));
  }
  step.record(kernel, "exchange_items", {name});
  return kernel;
}

}  // namespace rtcg::loopy
