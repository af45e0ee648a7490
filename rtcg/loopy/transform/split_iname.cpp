#include "rtcg/loopy/transform/split_iname.h"

#include <algorithm>

#include <fmt/format.h>

#include "rtcg/loopy/transform/split_support.h"
#include "rtcg/loopy/transform/support.h"

namespace rtcg::loopy {
namespace {

std::optional<Refusal> find_refusal(const Kernel& kernel, std::string_view iname,
                                    std::int64_t length, const SplitOptions& options) {
  if (!is_iname(kernel, iname)) {
    return Refusal{"loopy.split_iname.unknown_iname", unknown_iname_text(kernel, iname)};
  }
  if (length <= 0) {
    return Refusal{"loopy.split_iname.bad_length",
                   fmt::format("'{}' cannot be split into loops of {} iterations: at least one is "
                               "needed",
                               iname, length)};
  }
  return find_parts_refusal(kernel, iname, options,
                            {"loopy.split_iname.tagged_already", "loopy.split_iname.name_taken",
                             "loopy.split_iname.axis_used_twice"});
}

}  // namespace

Kernel split_iname(Kernel kernel, std::string_view iname, std::int64_t length,
                   const SplitOptions& options) {
  throw_if_refused(find_refusal(kernel, iname, length, options));
  const std::string old(iname);
  const auto [outer, inner] = names_of_parts(kernel, old, options);
  const Affine value = Affine(outer, length) + Affine(inner);
  kernel = replace_iname(std::move(kernel), old, to_expr(value), {outer, inner});
  kernel = map_constraints(std::move(kernel), [&](const ConstraintSet& set) {
    return set.mentions(old) ? set.substitute(old, value) : set;
  });
  for (Domain& domain : kernel.domains) {
    if (std::find(domain.inames.begin(), domain.inames.end(), inner) != domain.inames.end()) {
      domain.constraints.add_nonnegative(Affine(inner));
      domain.constraints.add_nonnegative(Affine(length - 1) - Affine(inner));
    }
  }
  kernel = with_tagged_parts(std::move(kernel), {outer, inner}, options);
  record(kernel, "split_iname", {old, std::to_string(length)}, recorded_options(options));
  return kernel;
}

std::optional<std::string> why_not_split_iname(const Kernel& kernel, std::string_view iname,
                                               std::int64_t length, const SplitOptions& options) {
  return reason_of(find_refusal(kernel, iname, length, options));
}

}  // namespace rtcg::loopy
