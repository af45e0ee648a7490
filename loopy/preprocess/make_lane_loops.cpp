#include "rtcg/loopy/preprocess/make_lane_loops.h"

#include <algorithm>

#include "rtcg/loopy/symbolic/traverse.h"
#include "rtcg/loopy/transform/copy_inames.h"
#include "rtcg/loopy/transform/record.h"
#include "rtcg/loopy/transform/temporaries.h"

namespace rtcg::loopy {
namespace {

/// Private temporaries that statements within the iname set, as if each iteration had its own.
std::vector<std::string> temporaries_of_lane(const Kernel& kernel, const std::string& lane) {
  std::vector<std::string> result;
  for (const Temporary& temporary : kernel.temporaries) {
    if (temporary.address_space != AddressSpace::private_) {
      continue;
    }
    bool is_set = false;
    bool is_indexed = false;
    for (const Instruction& instruction : kernel.instructions) {
      for (const Expr& target : targets_of(instruction)) {
        if (target_name(target) == temporary.name && instruction.within_inames.count(lane) != 0) {
          is_set = true;
          is_indexed = is_indexed || free_names(target).count(lane) != 0;
        }
      }
    }
    if (is_set && !is_indexed) {
      result.push_back(temporary.name);
    }
  }
  return result;
}

bool has_any_of(const std::vector<std::string>& inames, const NameSet& names) {
  return std::any_of(inames.begin(), inames.end(),
                     [&](const std::string& each) { return names.count(each) != 0; });
}

/// What the domains of loops around the lane say of it, where they are not its own: 7*i_copy + lane
/// < n for a copy of the loop that it was split from.
ConstraintSet bounds_elsewhere(const Kernel& kernel, const std::string& lane, const NameSet& used) {
  ConstraintSet bounds;
  for (const Domain& domain : kernel.domains) {
    const bool is_home =
        std::find(domain.inames.begin(), domain.inames.end(), lane) != domain.inames.end();
    if (is_home || !has_any_of(domain.inames, used)) {
      continue;
    }
    std::vector<std::string> absent = domain.inames;
    std::erase_if(absent, [&](const std::string& each) { return used.count(each) != 0; });
    const ConstraintSet known = domain.constraints.project_out(absent);
    for (const Constraint& each : known.constraints()) {
      if (each.expr.coefficient(lane) != 0) {
        bounds.add(each);
      }
    }
    for (const Congruence& each : known.congruences()) {
      if (each.expr.coefficient(lane) != 0) {
        bounds.add(each);
      }
    }
  }
  return bounds;
}

/// The domains without the lane. Those of loops keep the constraints that follow from it.
void remove_lane(Kernel& kernel, const std::string& lane) {
  ConstraintSet range;
  const ConstraintSet known = constraints_of(kernel, {lane});
  for (const Constraint& each : known.constraints()) {
    const Affine::Terms terms = each.expr.terms();
    if (std::all_of(terms.begin(), terms.end(), [&](const Affine::Term& term) {
          return term.name == lane || !is_iname(kernel, term.name);
        })) {
      range.add(each);
    }
  }
  for (Domain& domain : kernel.domains) {
    if (std::erase(domain.inames, lane) == 0 && domain.constraints.mentions(lane)) {
      domain.constraints.add(range);
    }
    if (domain.constraints.mentions(lane)) {
      domain.constraints = domain.constraints.project_out({lane});
    }
  }
}

Kernel with_lane_loops(Kernel kernel, const std::string& lane, NameGenerator& names) {
  if (const std::vector<std::string> own = temporaries_of_lane(kernel, lane); !own.empty()) {
    kernel = privatize_temporaries(std::move(kernel), {lane}, own);
  }
  kernel.iname_tags.erase(lane);
  for (std::size_t i = 0; i < kernel.instructions.size(); ++i) {
    NameSet within = kernel.instructions[i].within_inames;
    if (within.erase(lane) == 0) {
      continue;
    }
    const std::string loop = copy_name(names, lane);
    const NewNames copy = {{lane, loop}};
    NameSet used = within;
    used.insert(lane);
    const ConstraintSet elsewhere = bounds_elsewhere(kernel, lane, used);
    kernel = with_copied_inames(std::move(kernel), copy, used);
    kernel.domains.back().constraints.add(
        elsewhere.rename([&](const std::string& name) { return name == lane ? loop : name; }));
    Instruction& instruction = kernel.instructions[i];
    instruction = map_expressions(std::move(instruction),
                                  [&](const Expr& expr) { return rename_all(expr, copy); });
    for (const std::string& outer : within) {
      if (!tag_of(kernel, outer).is_parallel()) {
        kernel.loop_priorities.push_back({outer, loop});
      }
    }
    instruction.within_inames = std::move(within);
    instruction.within_inames.insert(loop);
  }
  return kernel;
}

}  // namespace

Kernel make_lane_loops(Kernel kernel) {
  std::vector<std::string> lanes;
  for (const auto& [iname, tag] : kernel.iname_tags) {
    if (tag.kind == AxisKind::ilp_loop && is_iname(kernel, iname)) {
      lanes.push_back(iname);
    }
  }
  if (lanes.empty()) {
    return kernel;
  }
  const RecordedStep step(kernel);
  NameGenerator names = make_name_generator(kernel);
  for (const std::string& lane : lanes) {
    kernel = with_lane_loops(std::move(kernel), lane, names);
  }
  for (const std::string& lane : lanes) {
    remove_lane(kernel, lane);
  }
  std::erase_if(kernel.domains, [](const Domain& domain) { return domain.inames.empty(); });
  step.remove_parts(kernel);
  return kernel;
}

}  // namespace rtcg::loopy
