#include "rtcg/loopy/transform/join_domains.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include <fmt/format.h>

#include "rtcg/loopy/transform/expand_subst.h"
#include "rtcg/loopy/transform/iname_use.h"
#include "rtcg/loopy/transform/record.h"
#include "rtcg/loopy/transform/refusal.h"

namespace rtcg::loopy {
namespace {

constexpr const char* not_possible = "loopy.join_domains.not_possible";

bool has(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// The domains whose inames bound those of the other one.
std::vector<const Domain*> domains_around(const Kernel& kernel, const Domain& inner) {
  std::vector<const Domain*> result;
  for (const std::string& name : inner.constraints.names()) {
    const Domain* home = find_home_domain(kernel, name);
    if (home != nullptr && home != &inner &&
        std::find(result.begin(), result.end(), home) == result.end()) {
      result.push_back(home);
    }
  }
  return result;
}

/// The set without the inames, where that is exact.
std::optional<ConstraintSet> exact_projection(ConstraintSet set,
                                              const std::vector<std::string>& inames) {
  for (const std::string& iname : inames) {
    const auto is_plain = [&](const Affine& expr, std::int64_t most) {
      return std::abs(expr.coefficient(iname)) <= most;
    };
    const bool is_exact =
        std::all_of(set.constraints().begin(), set.constraints().end(),
                    [&](const Constraint& each) { return is_plain(each.expr, 1); }) &&
        std::all_of(set.congruences().begin(), set.congruences().end(),
                    [&](const Congruence& each) { return is_plain(each.expr, 0); });
    if (!is_exact) {
      return std::nullopt;
    }
    set = set.project_out({iname});
  }
  return set;
}

/// Whether the inner loops have an iteration in each one of those around them.
bool is_never_empty(const Kernel& kernel, const Domain& inner, const Domain& around) {
  ConstraintSet outside = kernel.assumptions;
  outside.add(around.constraints);
  for (const Domain* each : domains_around(kernel, around)) {
    outside.add(each->constraints);
  }
  ConstraintSet all = outside;
  all.add(inner.constraints);
  const std::optional<ConstraintSet> left = exact_projection(std::move(all), inner.inames);
  return left &&
         std::all_of(left->constraints().begin(), left->constraints().end(),
                     [&](const Constraint& each) { return outside.implies(each); }) &&
         std::all_of(left->congruences().begin(), left->congruences().end(),
                     [&](const Congruence& each) { return outside.implies(each); });
}

/// Whether statements that use a loop around use all of the inner ones: no other loses iterations.
bool are_used_together(const Kernel& kernel, const Domain& inner, const Domain& around) {
  const Kernel expanded = expand_subst(kernel);
  return std::all_of(
      expanded.instructions.begin(), expanded.instructions.end(), [&](const Instruction& each) {
        const NameSet used = used_inames(each);
        const auto is_used = [&](const std::string& iname) { return used.count(iname) != 0; };
        return std::none_of(around.inames.begin(), around.inames.end(), is_used) ||
               std::all_of(inner.inames.begin(), inner.inames.end(), [&](const std::string& iname) {
                 return each.within_inames.count(iname) != 0;
               });
      });
}

std::optional<Refusal> find_refusal(const Kernel& kernel, const std::string& iname) {
  const Domain* inner = find_home_domain(kernel, iname);
  if (inner == nullptr) {
    return Refusal{"loopy.join_domains.unknown_iname", unknown_iname_text(kernel, iname)};
  }
  for (const std::string& name : inner->constraints.names()) {
    if (find_temporary(kernel, name) != nullptr) {
      return Refusal{not_possible,
                     fmt::format("statements assign '{}', which bounds '{}': its loop "
                                 "can only begin after them",
                                 name, iname)};
    }
  }
  const std::vector<const Domain*> around = domains_around(kernel, *inner);
  if (around.size() != 1) {
    return Refusal{not_possible,
                   around.empty() ? fmt::format("no iname of another domain bounds '{}'", iname)
                                  : fmt::format("inames of {} domains bound '{}': join those first",
                                                around.size(), iname)};
  }
  if (!is_never_empty(kernel, *inner, *around.front()) &&
      !are_used_together(kernel, *inner, *around.front())) {
    return Refusal{not_possible,
                   fmt::format("the domain of '{}' may have no point for some of {}: statements "
                               "without '{}' would not run for these",
                               iname, fmt::join(around.front()->inames, ", "), iname)};
  }
  return std::nullopt;
}

bool has_loop_of_statements(const Kernel& kernel, const Domain& domain) {
  return std::any_of(
      kernel.instructions.begin(), kernel.instructions.end(), [&](const Instruction& each) {
        return std::any_of(each.within_inames.begin(), each.within_inames.end(),
                           [&](const std::string& iname) { return has(domain.inames, iname); });
      });
}

Kernel joined(Kernel kernel, const std::string& iname) {
  const Domain* around = domains_around(kernel, *find_home_domain(kernel, iname)).front();
  Domain& outer = kernel.domains[static_cast<std::size_t>(around - kernel.domains.data())];
  const auto inner = std::find_if(kernel.domains.begin(), kernel.domains.end(),
                                  [&](const Domain& each) { return has(each.inames, iname); });
  outer.inames.insert(outer.inames.end(), inner->inames.begin(), inner->inames.end());
  outer.constraints.add(inner->constraints);
  kernel.domains.erase(inner);
  return kernel;
}

}  // namespace

Kernel join_domains(Kernel kernel, std::string_view iname) {
  const std::string loop(iname);
  throw_if_refused(find_refusal(kernel, loop));
  kernel = joined(std::move(kernel), loop);
  record(kernel, "join_domains", {loop});
  return kernel;
}

std::vector<std::string> detail::joinable_inames(const Kernel& kernel) {
  std::vector<std::string> result;
  if (kernel.domains.size() < 2) {
    return result;
  }
  Kernel rest = kernel;
  const auto is_joinable = [&](const Domain& each) {
    return !each.inames.empty() && has_loop_of_statements(rest, each) &&
           !find_refusal(rest, each.inames.front());
  };
  for (;;) {
    const auto found = std::find_if(rest.domains.begin(), rest.domains.end(), is_joinable);
    if (found == rest.domains.end()) {
      return result;
    }
    result.push_back(found->inames.front());
    rest = joined(std::move(rest), result.back());
  }
}

}  // namespace rtcg::loopy
