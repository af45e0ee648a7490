#include "rtcg/loopy/analyze/footprint.h"

#include <algorithm>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/polyhedral/range_of.h"
#include "rtcg/loopy/symbolic/print_expr.h"

namespace rtcg::loopy {
namespace {

struct Range {
  std::int64_t first;
  std::int64_t last;
};

Range range_of(const Kernel& kernel, const std::string& what, const std::string& iname) {
  const auto [first, last] = range_of(constraints_of(kernel, {iname}), Affine(iname));
  if (!first || !last) {
    throw InvalidInput("loopy.footprint.unbounded_sweep",
                       fmt::format("'{}' cannot be swept for '{}': it has no constant range; split "
                                   "it and sweep the inner part",
                                   iname, what));
  }
  return {*first, *last};
}

FootprintAxis axis_of(const Kernel& kernel, const std::string& what, const Expr& index,
                      const NameSet& sweep) {
  const std::optional<Affine> affine = to_affine(index);
  if (!affine) {
    throw InvalidInput("loopy.footprint.not_affine",
                       fmt::format("'{}' is accessed at {}, which is not affine: its footprint is "
                                   "unknown",
                                   what, to_string(index)));
  }
  FootprintAxis axis{*affine, 1};
  for (const Affine::Term& term : affine->terms()) {
    if (sweep.count(term.name) == 0) {
      continue;
    }
    const Range range = range_of(kernel, what, term.name);
    const std::int64_t start = term.coefficient > 0 ? range.first : range.last;
    axis.base = axis.base.substitute(term.name, Affine(start));
    axis.length_elements += std::abs(term.coefficient) * (range.last - range.first);
  }
  return axis;
}

}  // namespace

std::vector<FootprintAxis> footprint(const Kernel& kernel, const std::string& what,
                                     const std::vector<std::vector<Expr>>& accesses,
                                     const NameSet& sweep) {
  std::vector<FootprintAxis> box;
  for (const std::vector<Expr>& indices : accesses) {
    for (std::size_t i = 0; i < indices.size(); ++i) {
      const FootprintAxis axis = axis_of(kernel, what, indices[i], sweep);
      if (i >= box.size()) {
        box.push_back(axis);
        continue;
      }
      const Affine shift = axis.base - box[i].base;
      if (!shift.is_constant()) {
        throw InvalidInput(
            "loopy.footprint.no_common_base",
            fmt::format("accesses to '{}' begin at {} and at {}, which are not a constant distance "
                        "apart: treat them one by one",
                        what, to_string(box[i].base), to_string(axis.base)));
      }
      const std::int64_t first = std::min<std::int64_t>(shift.constant(), 0);
      const std::int64_t end =
          std::max(shift.constant() + axis.length_elements, box[i].length_elements);
      box[i].base = box[i].base + Affine(first);
      box[i].length_elements = end - first;
    }
  }
  return box;
}

}  // namespace rtcg::loopy
