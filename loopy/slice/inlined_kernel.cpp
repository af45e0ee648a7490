#include "rtcg/loopy/slice/inlined_kernel.h"

#include <algorithm>
#include <map>
#include <optional>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/analyze/infer_types.h"
#include "rtcg/loopy/slice/count_work.h"
#include "rtcg/loopy/symbolic/traverse.h"
#include "rtcg/loopy/transform/assignment_to_subst.h"
#include "rtcg/loopy/transform/duplicate_inames.h"
#include "rtcg/loopy/transform/expand_subst.h"
#include "rtcg/loopy/transform/iname_use.h"
#include "rtcg/loopy/transform/why_not.h"

namespace rtcg::loopy::detail {
namespace {

constexpr double most_extra_steps = 64;     // for each value, of sums that are computed anew
constexpr double most_parts = 600;          // of statements whose rules are expanded
constexpr std::size_t most_candidates = 6;  // that are computed where they are used

/// Parts of the expressions of a kernel once all rules are expanded, without expanding them.
class PartCounter {
 public:
  explicit PartCounter(const Kernel& kernel) : kernel_(kernel) {}

  [[nodiscard]] double parts() {
    double count = 0;
    for (const Instruction& each : kernel_.instructions) {
      for_each_expression(each, [&](const Expr& expr) { count += parts_of(expr); });
    }
    return count;
  }

 private:
  [[nodiscard]] double parts_of(const Expr& expr) {
    double count = 0;
    walk(expr, [&](const Expr& part) {
      const Call* call = get_if<Call>(part);
      const SubstitutionRule* rule = call != nullptr ? find_rule(kernel_, call->function) : nullptr;
      count += rule != nullptr ? parts_of_rule(*rule) : 1;
      return true;
    });
    return count;
  }
  [[nodiscard]] double parts_of_rule(const SubstitutionRule& rule) {
    const auto known = rules_.find(rule.name);
    if (known != rules_.end()) {
      return known->second;
    }
    const double parts = parts_of(rule.body);
    rules_.emplace(rule.name, parts);
    return parts;
  }

  const Kernel& kernel_;
  std::map<std::string, double> rules_{};
};

const Instruction* find_writer(const Kernel& kernel, const std::string& temporary) {
  const auto found = std::find_if(
      kernel.instructions.begin(), kernel.instructions.end(),
      [&](const Instruction& each) { return written_variables(each).count(temporary) != 0; });
  return found != kernel.instructions.end() ? &*found : nullptr;
}

/// Of what is computed where it is used: steps that are taken more often than before, for each
/// value.
double extra_steps(const Kernel& expanded, const std::string& temporary, PointCounter& points) {
  const Instruction& writer = *find_writer(expanded, temporary);
  const double values = std::max(1.0, points.points(writer.within_inames));
  double uses = 0;
  std::vector<ArrayAccess> seen;  // compilers compute the same element once
  for (ArrayAccess& each : accesses_of(expanded)) {
    const auto is_same = [&](const ArrayAccess& other) {
      return other.statement == each.statement && other.indices == each.indices;
    };
    if (each.array == temporary && !each.is_write &&
        std::none_of(seen.begin(), seen.end(), is_same)) {
      uses += points.points(each.inames);
      seen.push_back(std::move(each));
    }
  }
  const double steps = points.points(used_inames(writer)) / values;
  return std::max(0.0, uses / values - 1) * steps;
}

std::optional<InlinedKernel> inlined(const Kernel& kernel, const std::vector<std::string>& names) {
  InlinedKernel result;
  result.words.inlines = names;
  const auto refused = why_not([&] {
    result.kernel = apply(kernel, result.words);
    return 0;
  });
  if (refused) {
    return std::nullopt;
  }
  result.kernel.recipe = kernel.recipe;
  result.is_long = PartCounter(result.kernel).parts() > most_parts;
  return result;
}

}  // namespace

std::vector<std::string> handed_on(const Kernel& described) {
  std::vector<std::string> result;
  if (described.temporaries.empty()) {
    return result;
  }
  const Kernel kernel = expand_subst(described);  // rules read for those who call them
  for (const Temporary& each : kernel.temporaries) {
    if (each.address_space != AddressSpace::automatic || each.shape.empty() ||
        !each.initial_values.empty()) {
      continue;
    }
    NameSet writing;
    bool is_read = false;
    bool is_apart = true;
    for (const Instruction& instruction : kernel.instructions) {
      if (written_variables(instruction).count(each.name) != 0) {
        writing.insert(instruction.within_inames.begin(), instruction.within_inames.end());
      }
    }
    for (const Instruction& instruction : kernel.instructions) {
      if (read_variables(kernel, instruction).count(each.name) == 0) {
        continue;
      }
      is_read = true;
      is_apart = is_apart &&
                 std::none_of(instruction.within_inames.begin(), instruction.within_inames.end(),
                              [&](const auto& name) { return writing.count(name) != 0; });
    }
    if (is_read && is_apart && !writing.empty()) {
      result.push_back(each.name);
    }
  }
  return result;
}

std::vector<InlinedKernel> find_inlined_kernels(const Kernel& kernel,
                                                const IntegerValues& parameters) {
  const Kernel expanded = infer_types(expand_subst(kernel));
  PointCounter points(expanded, parameters);
  const Kernel with_own_sums = make_reduction_inames_unique(kernel);
  std::vector<std::pair<double, std::string>> candidates;
  for (const std::string& each : handed_on(kernel)) {
    if (why_not([&] { return assignment_to_subst(with_own_sums, each); })) {
      continue;
    }
    const double extra = extra_steps(expanded, each, points);
    if (extra <= most_extra_steps) {
      candidates.emplace_back(extra, each);
    }
  }
  // those that cost most go first; of equal ones, what is computed last
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  candidates.resize(std::min(candidates.size(), most_candidates));
  std::vector<InlinedKernel> result;
  while (!candidates.empty()) {
    std::vector<std::string> names;
    for (const Temporary& each : kernel.temporaries) {
      const auto is_it = [&](const auto& candidate) { return candidate.second == each.name; };
      if (std::any_of(candidates.begin(), candidates.end(), is_it)) {
        names.push_back(each.name);
      }
    }
    if (auto found = inlined(kernel, names)) {
      result.push_back(*std::move(found));
    }
    candidates.pop_back();
  }
  return result;
}

}  // namespace rtcg::loopy::detail
