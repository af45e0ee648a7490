// Loops in steps and phases, where indices divide them: transposed convolutions, polyphase filters.
#include <algorithm>
#include <map>
#include <numeric>

#include "rtcg/loopy/analyze/access.h"
#include "rtcg/loopy/slice/slicing_problem.h"
#include "rtcg/loopy/slice/slicing_source.h"
#include "rtcg/loopy/symbolic/traverse.h"
#include "rtcg/loopy/transform/expand_subst.h"
#include "rtcg/loopy/transform/why_not.h"

namespace rtcg::loopy::detail {
namespace {

constexpr std::int64_t most_phases = 16;

/// Calls `visit(numerator, denominator)` on each quotient and remainder by a constant in an index.
template <class Visit>
void for_each_division(const Kernel& kernel, const Visit& visit) {
  const auto visit_part = [&](const Expr& numerator, const Expr& denominator) {
    const auto by = as_integer(denominator);
    const auto of = to_affine(numerator);
    if (by && *by > 1 && of) {
      visit(*of, *by);
    }
  };
  for (const ArrayAccess& access : accesses_of(kernel)) {
    for (const Expr& index : access.indices) {
      walk(index, [&](const Expr& part) {
        if (const FloorDiv* quotient = get_if<FloorDiv>(part)) {
          visit_part(quotient->numerator, quotient->denominator);
        } else if (const Modulo* remainder = get_if<Modulo>(part)) {
          visit_part(remainder->numerator, remainder->denominator);
        }
        return true;
      });
    }
  }
}

/// Iterations after which quotients have grown by whole numbers, and remainders repeat.
std::map<std::string, std::int64_t> periods_of(const Kernel& expanded) {
  std::map<std::string, std::int64_t> periods;
  for_each_division(expanded, [&](const Affine& of, std::int64_t by) {
    for (const Affine::Term& term : of.terms()) {
      const std::int64_t period = by / std::gcd(term.coefficient, by);
      if (is_iname(expanded, term.name) && period > 1) {
        std::int64_t& all = periods.emplace(term.name, 1).first->second;
        all = std::min(std::lcm(all, std::min(period, most_phases + 1)), most_phases + 1);
      }
    }
  });
  return periods;
}

bool can_be_phased(const Kernel& expanded, const IntegerValues& parameters, const PhasePlan& plan) {
  if (plan.count > most_phases || tag_of(expanded, plan.iname).kind != AxisKind::sequential ||
      has_computed_bounds(expanded, plan.iname)) {
    return false;
  }
  const SlicedLoop loop = sliced_loop(expanded, parameters, plan.iname);
  return loop.is_constant && loop.begin == 0 && loop.length > plan.count &&
         loop.length % plan.count == 0;
}

/// Compilers write such sums out, and quotients by their steps are numbers then.
bool is_short_sum(const Kernel& expanded, const IntegerValues& parameters,
                  const std::string& iname) {
  const bool is_sum = std::any_of(
      expanded.instructions.begin(), expanded.instructions.end(),
      [&](const Instruction& each) { return reduction_inames(each).count(iname) != 0; });
  return is_sum && !has_computed_bounds(expanded, iname) &&
         sliced_loop(expanded, parameters, iname).length <= most_phases;
}

/// New inames that indices still divide, with their periods.
std::vector<PhasePlan> divided_parts(const Kernel& expanded, const Kernel& phased) {
  std::vector<PhasePlan> result;
  for (const auto& [iname, period] : periods_of(phased)) {
    if (!is_iname(expanded, iname)) {
      result.push_back({iname, period});
    }
  }
  return result;
}

/// The phases of a loop, those of its phases where indices divide these, too, as `k % 9 // 3` does.
/// None where quotients remain.
std::vector<PhasePlan> phases_of_loop(const Kernel& expanded, const IntegerValues& parameters,
                                      const PhasePlan& first) {
  constexpr std::size_t most_plans = 4;
  std::vector<PhasePlan> plans;
  std::vector<PhasePlan> next = {first};
  Kernel phased = expanded;
  while (!next.empty()) {
    for (const PhasePlan& each : next) {
      if (plans.size() == most_plans || !can_be_phased(phased, parameters, each)) {
        return {};
      }
      plans.push_back(each);
    }
    if (why_not([&] {
          phased = apply(expanded, Slicing{.phases = plans});
          return 0;
        })) {
      return {};
    }
    next = divided_parts(expanded, phased);
  }
  return plans;
}

bool has_sums(const Kernel& kernel) {
  return std::any_of(kernel.instructions.begin(), kernel.instructions.end(),
                     [](const Instruction& each) { return !reduction_inames(each).empty(); });
}

}  // namespace

std::optional<PhasedKernel> find_phases(const Kernel& kernel, const IntegerValues& parameters) {
  const Kernel expanded = expand_subst(kernel);
  if (!has_sums(expanded)) {
    return std::nullopt;  // what is read once needs no copies
  }
  PhasedKernel result;
  for (const auto& [iname, count] : periods_of(expanded)) {
    if (!is_short_sum(expanded, parameters, iname)) {
      for (PhasePlan& each : phases_of_loop(expanded, parameters, {iname, count})) {
        result.phases.push_back(std::move(each));
      }
    }
  }
  if (result.phases.empty()) {
    return std::nullopt;
  }
  result.kernel = apply(kernel, Slicing{.phases = result.phases});
  result.kernel.recipe = kernel.recipe;
  return result;
}

}  // namespace rtcg::loopy::detail
