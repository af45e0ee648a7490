#include "rtcg/loopy/transform/split_iname.h"

#include <algorithm>

#include <fmt/format.h>

#include "rtcg/loopy/kernel/match_instructions.h"
#include "rtcg/loopy/transform/duplicate_inames.h"
#include "rtcg/loopy/transform/iname_parts.h"
#include "rtcg/loopy/transform/iname_use.h"
#include "rtcg/loopy/transform/map_kernel.h"
#include "rtcg/loopy/transform/record.h"
#include "rtcg/loopy/transform/refusal.h"
#include "rtcg/loopy/transform/replace_iname.h"
#include "rtcg/loopy/transform/separate_loop_head_tail_slab.h"

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

/// Whether some statements within the iname are not to be split.
bool is_for_some(const Kernel& kernel, const std::string& iname, const std::string& within) {
  if (within.empty()) {
    return false;
  }
  const std::vector<std::string> ids = match_instructions(kernel, within);
  return std::any_of(kernel.instructions.begin(), kernel.instructions.end(),
                     [&](const Instruction& each) {
                       return used_inames(each).count(iname) != 0 &&
                              std::find(ids.begin(), ids.end(), each.id) == ids.end();
                     });
}

/// A bound of `length * outer + inner` at a multiple of the length says nothing of the inner part:
/// 0 <= 4 * outer + inner < 16 is 0 <= outer < 4.
Constraint bound_of_outer(const Constraint& bound, const std::string& outer,
                          const std::string& inner, std::int64_t length) {
  const std::int64_t sign = bound.expr.coefficient(inner);
  if (bound.is_equality || (sign != 1 && sign != -1) ||
      bound.expr.coefficient(outer) != sign * length) {
    return bound;
  }
  const Affine at_its_end =
      sign == 1 ? bound.expr - Affine(inner) : bound.expr + Affine(inner) - Affine(length - 1);
  const bool is_at_multiple =
      at_its_end.coefficient_gcd() % length == 0 && at_its_end.constant() % length == 0;
  return is_at_multiple ? Constraint{at_its_end.divided_rounding_down(length)} : bound;
}

ConstraintSet bounds_of_outer(const ConstraintSet& set, const std::string& outer,
                              const std::string& inner, std::int64_t length) {
  ConstraintSet result;
  for (const Constraint& each : set.constraints()) {
    result.add(bound_of_outer(each, outer, inner, length));
  }
  for (const Congruence& each : set.congruences()) {
    result.add(each);
  }
  return result;
}

Kernel split_for_all(Kernel kernel, const std::string& old, std::int64_t length,
                     const std::pair<std::string, std::string>& parts,
                     const SplitOptions& options) {
  const auto& [outer, inner] = parts;
  const Affine value = Affine(outer, length) + Affine(inner);
  kernel = replace_iname(std::move(kernel), old, to_expr(value), {outer, inner});
  kernel = map_constraints(std::move(kernel), [&](const ConstraintSet& set) {
    return set.mentions(old) ? set.substitute(old, value) : set;
  });
  for (Domain& domain : kernel.domains) {
    if (std::find(domain.inames.begin(), domain.inames.end(), inner) != domain.inames.end()) {
      domain.constraints = bounds_of_outer(domain.constraints, outer, inner, length);
      domain.constraints.add_nonnegative(Affine(inner));
      domain.constraints.add_nonnegative(Affine(length - 1) - Affine(inner));
    }
  }
  return with_tagged_parts(std::move(kernel), {outer, inner}, options);
}

std::map<std::string, std::string> all_recorded_options(const SplitOptions& options) {
  std::map<std::string, std::string> recorded = recorded_options(options);
  recorded["within"] = options.within;
  if (options.head_slabs != 0 || options.tail_slabs != 0) {
    recorded["slabs"] = fmt::format("{}:{}", options.head_slabs, options.tail_slabs);
  }
  return recorded;
}

}  // namespace

Kernel split_iname(Kernel kernel, std::string_view iname, std::int64_t length,
                   const SplitOptions& options) {
  throw_if_refused(find_refusal(kernel, iname, length, options));
  const RecordedStep step(kernel);
  std::string chosen(iname);
  const auto parts = names_of_parts(kernel, chosen, options);
  if (is_for_some(kernel, chosen, options.within)) {
    const std::string copy = make_name_generator(kernel).make(chosen + "_within");
    kernel = duplicate_inames(std::move(kernel), {chosen},
                              {.within = options.within, .new_names = {copy}});
    chosen = copy;
  }
  kernel = split_for_all(std::move(kernel), chosen, length, parts, options);
  if (options.head_slabs != 0 || options.tail_slabs != 0) {
    kernel = separate_loop_head_tail_slab(std::move(kernel), parts.first, options.head_slabs,
                                          options.tail_slabs);
  }
  step.record(kernel, "split_iname", {std::string(iname), std::to_string(length)},
              all_recorded_options(options));
  return kernel;
}

}  // namespace rtcg::loopy
