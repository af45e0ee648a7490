#include "rtcg/loopy/transform/split_reduction.h"

#include <algorithm>

#include <fmt/format.h>

#include "rtcg/loopy/analyze/reduction_order.h"
#include "rtcg/loopy/symbolic/print_expr.h"
#include "rtcg/loopy/symbolic/traverse.h"
#include "rtcg/loopy/transform/record.h"
#include "rtcg/loopy/transform/refusal.h"

namespace rtcg::loopy {
namespace {

using Inames = std::vector<std::string>;

enum class Direction { inward, outward };  // of the inames that are chosen

struct Parts {
  Inames inner;
  Inames outer;
};

/// Nothing where a reduction cannot be split: it has not all of the chosen inames, or no others, or
/// works on tuples.
std::optional<Parts> find_parts(const Reduction& reduction, const Inames& chosen,
                                Direction direction) {
  Parts parts;
  for (const std::string& iname : reduction.inames) {
    const bool is_chosen = std::find(chosen.begin(), chosen.end(), iname) != chosen.end();
    const bool is_inner = is_chosen == (direction == Direction::inward);
    (is_inner ? parts.inner : parts.outer).push_back(iname);
  }
  const Inames& found = direction == Direction::inward ? parts.inner : parts.outer;
  const bool can_be_split = found.size() == chosen.size() && !parts.inner.empty() &&
                            !parts.outer.empty() && reduction.operands.size() == 1;
  return can_be_split ? std::optional(std::move(parts)) : std::nullopt;
}

Expr split(const Kernel& kernel, const Expr& expr, const Inames& chosen, Direction direction) {
  return rewrite_bottom_up(expr, [&](const Expr& part) -> std::optional<Expr> {
    const Reduction* reduction = get_if<Reduction>(part);
    const auto parts =
        reduction != nullptr ? find_parts(*reduction, chosen, direction) : std::nullopt;
    if (!parts) {
      return std::nullopt;
    }
    Reduction inner = *reduction;
    inner.inames = parts->inner;
    Reduction outer{reduction->operation, parts->outer, {inner}};
    if (!reduction->order.empty()) {
      const auto levels = outermost_levels(kernel, *reduction, parts->outer);
      for (const std::string& iname : levels.value()) {
        outer.order.emplace_back(Name{iname});
      }
    }
    return Expr(std::move(outer));
  });
}

struct Codes {
  const char* unknown_iname;
  const char* no_reduction;
  const char* order;
};
constexpr Codes codes_inward = {"loopy.split_reduction_inward.unknown_iname",
                                "loopy.split_reduction_inward.no_reduction",
                                "loopy.split_reduction_inward.order"};
constexpr Codes codes_outward = {"loopy.split_reduction_outward.unknown_iname",
                                 "loopy.split_reduction_outward.no_reduction",
                                 "loopy.split_reduction_outward.order"};

std::optional<Refusal> find_refusal(const Kernel& kernel, const Inames& inames,
                                    Direction direction) {
  const Codes& codes = direction == Direction::inward ? codes_inward : codes_outward;
  for (const std::string& iname : inames) {
    if (!is_iname(kernel, iname)) {
      return Refusal{codes.unknown_iname, unknown_iname_text(kernel, iname)};
    }
  }
  bool is_found = false;
  std::optional<Refusal> refusal;
  static_cast<void>(map_expressions(kernel, [&](const Expr& expr) {
    walk(expr, [&](const Expr& part) {
      const Reduction* reduction = get_if<Reduction>(part);
      const auto parts =
          reduction != nullptr ? find_parts(*reduction, inames, direction) : std::nullopt;
      is_found = is_found || parts;
      if (parts && !reduction->order.empty() &&
          !outermost_levels(kernel, *reduction, parts->outer)) {
        refusal = Refusal{codes.order,
                          fmt::format("'{}' keeps its order only where inner reductions are of "
                                      "neighbours, but elements with equal {} are apart",
                                      to_string(part), list_text(parts->outer))};
      }
      return true;
    });
    return expr;
  }));
  if (!is_found) {
    return Refusal{codes.no_reduction,
                   fmt::format("no reduction of one value is over all of {} and over others",
                               list_text(inames))};
  }
  return refusal;
}

Kernel with_split_reductions(Kernel kernel, const Inames& inames, Direction direction) {
  throw_if_refused(find_refusal(kernel, inames, direction));
  Kernel result = map_expressions(
      kernel, [&](const Expr& expr) { return split(kernel, expr, inames, direction); });
  record(result,
         direction == Direction::inward ? "split_reduction_inward" : "split_reduction_outward",
         inames);
  return result;
}

}  // namespace

Kernel split_reduction_inward(Kernel kernel, const std::vector<std::string>& inames) {
  return with_split_reductions(std::move(kernel), inames, Direction::inward);
}

Kernel split_reduction_outward(Kernel kernel, const std::vector<std::string>& inames) {
  return with_split_reductions(std::move(kernel), inames, Direction::outward);
}

}  // namespace rtcg::loopy
