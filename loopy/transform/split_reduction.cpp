#include "rtcg/loopy/transform/split_reduction.h"

#include <algorithm>

#include <fmt/format.h>

#include "rtcg/loopy/symbolic/traverse.h"
#include "rtcg/loopy/transform/record.h"
#include "rtcg/loopy/transform/refusal.h"

namespace rtcg::loopy {
namespace {

using Inames = std::vector<std::string>;

/// The reduction's inames among `chosen`, and the others; nothing where it cannot be split: it has
/// not all of them, or no others, or works on tuples.
std::optional<std::pair<Inames, Inames>> find_parts(const Reduction& reduction,
                                                    const Inames& chosen) {
  std::pair<Inames, Inames> parts;
  for (const std::string& iname : reduction.inames) {
    const bool is_chosen = std::find(chosen.begin(), chosen.end(), iname) != chosen.end();
    (is_chosen ? parts.first : parts.second).push_back(iname);
  }
  const bool can_be_split = parts.first.size() == chosen.size() && !parts.first.empty() &&
                            !parts.second.empty() && reduction.operands.size() == 1;
  return can_be_split ? std::optional(std::move(parts)) : std::nullopt;
}

Expr split(const Expr& expr, const Inames& chosen, bool is_inward) {
  return rewrite_bottom_up(expr, [&](const Expr& part) -> std::optional<Expr> {
    const Reduction* reduction = get_if<Reduction>(part);
    if (reduction == nullptr) {
      return std::nullopt;
    }
    const auto parts = find_parts(*reduction, chosen);
    if (!parts) {
      return std::nullopt;
    }
    const Expr inner = Reduction{reduction->operation, is_inward ? parts->first : parts->second,
                                 reduction->operands};
    return Expr(Reduction{reduction->operation, is_inward ? parts->second : parts->first, {inner}});
  });
}

/// @param codes  for an unknown iname, and for no reduction to split
std::optional<Refusal> find_refusal(const Kernel& kernel, const Inames& inames,
                                    const std::pair<const char*, const char*>& codes) {
  for (const std::string& iname : inames) {
    if (!is_iname(kernel, iname)) {
      return Refusal{codes.first, unknown_iname_text(kernel, iname)};
    }
  }
  bool is_found = false;
  static_cast<void>(map_expressions(kernel, [&](const Expr& expr) {
    walk(expr, [&](const Expr& part) {
      const Reduction* reduction = get_if<Reduction>(part);
      is_found = is_found || (reduction != nullptr && find_parts(*reduction, inames));
      return !is_found;
    });
    return expr;
  }));
  if (!is_found) {
    return Refusal{codes.second,
                   fmt::format("no reduction of one value is over all of {} and over others",
                               list_text(inames))};
  }
  return std::nullopt;
}

std::optional<Refusal> find_inward_refusal(const Kernel& kernel, const Inames& inames) {
  return find_refusal(
      kernel, inames,
      {"loopy.split_reduction_inward.unknown_iname", "loopy.split_reduction_inward.no_reduction"});
}
std::optional<Refusal> find_outward_refusal(const Kernel& kernel, const Inames& inames) {
  return find_refusal(kernel, inames,
                      {"loopy.split_reduction_outward.unknown_iname",
                       "loopy.split_reduction_outward.no_reduction"});
}

}  // namespace

Kernel split_reduction_inward(Kernel kernel, const std::vector<std::string>& inames) {
  throw_if_refused(find_inward_refusal(kernel, inames));
  kernel = map_expressions(std::move(kernel),
                           [&](const Expr& expr) { return split(expr, inames, true); });
  record(kernel, "split_reduction_inward", inames);
  return kernel;
}

Kernel split_reduction_outward(Kernel kernel, const std::vector<std::string>& inames) {
  throw_if_refused(find_outward_refusal(kernel, inames));
  kernel = map_expressions(std::move(kernel),
                           [&](const Expr& expr) { return split(expr, inames, false); });
  record(kernel, "split_reduction_outward", inames);
  return kernel;
}

}  // namespace rtcg::loopy
