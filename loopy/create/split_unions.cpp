#include "rtcg/loopy/create/split_unions.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/analyze/combine_values.h"
#include "rtcg/loopy/kernel/expand_rules.h"
#include "rtcg/loopy/symbolic/scan.h"
#include "rtcg/loopy/symbolic/traverse.h"
#include "rtcg/loopy/transform/copy_inames.h"
#include "rtcg/loopy/transform/iname_use.h"

namespace rtcg::loopy {
namespace {

class UnionSplitter {
 public:
  UnionSplitter(Kernel kernel, Domain domain)
      : kernel_(std::move(kernel)),
        domain_(std::move(domain)),
        names_(make_name_generator(kernel_)),
        inames_(domain_.inames.begin(), domain_.inames.end()) {}

  Kernel run() {
    find_dependents();
    expand_rules_of_points();
    for (const ConstraintSet& part : domain_.other_parts) {
      add_inames(part);
    }
    for (SubstitutionRule& rule : kernel_.rules) {
      rule.body = with_all_parts(rule.body, "rule '" + rule.name + "'");
    }
    split_statements();
    return std::move(kernel_);
  }

 private:
  [[noreturn]] void refuse_use(const std::string& where, const std::string& why) const {
    throw Unsupported("loopy.make_kernel.union_use",
                      fmt::format("the domain of {} is a union: {} {}",
                                  fmt::join(domain_.inames, ", "), where, why));
  }

  [[nodiscard]] bool mentions_points(const Expr& expr) const {
    const NameSet names = free_names(expr);
    const NameSet reduced = reduction_inames(expr);
    const bool is_whole =
        std::includes(reduced.begin(), reduced.end(), inames_.begin(), inames_.end());
    return std::any_of(names.begin(), names.end(),
                       [&](const std::string& name) { return copied_.count(name) != 0; }) ||
           (!is_whole && std::any_of(reduced.begin(), reduced.end(),
                                     [&](const auto& iname) { return copied_.count(iname) != 0; }));
  }

  /// Rules that mention the inames, but do not reduce over them, mean something else in each part.
  void expand_rules_of_points() {
    std::vector<std::string> expanded;
    for (const SubstitutionRule& rule : kernel_.rules) {
      if (mentions_points(expand_rules(kernel_, rule.body)) && rule.neutral.empty()) {
        expanded.push_back(rule.name);
      }
    }
    for (const std::string& rule : expanded) {
      const Kernel before = kernel_;
      kernel_ = map_expressions(std::move(kernel_),
                                [&](const Expr& expr) { return expand_rules(before, expr, rule); });
      std::erase_if(kernel_.rules, [&](const SubstitutionRule& each) { return each.name == rule; });
    }
  }

  [[nodiscard]] static bool is_within_any(const Instruction& instruction,
                                          const std::vector<std::string>& inames) {
    return std::any_of(inames.begin(), inames.end(), [&](const std::string& iname) {
      return instruction.within_inames.count(iname) != 0;
    });
  }

  /// Inames of other unions around the same statements, since no loop goes around parts of both,
  /// and inames whose bounds depend on any of these.
  void find_dependents() {
    copied_ = inames_;
    for (const Domain& other : kernel_.domains) {
      const bool is_around = std::any_of(
          kernel_.instructions.begin(), kernel_.instructions.end(), [&](const Instruction& each) {
            return is_within_any(each, domain_.inames) && is_within_any(each, other.inames);
          });
      if (!other.other_parts.empty() && is_around) {
        copied_.insert(other.inames.begin(), other.inames.end());
      }
    }
    for (bool is_changed = true; is_changed;) {
      is_changed = false;
      for (const Domain& each : kernel_.domains) {
        const std::vector<std::string> names = each.constraints.names();
        const bool depends = std::any_of(names.begin(), names.end(), [&](const std::string& name) {
          return copied_.count(name) != 0;
        });
        for (const std::string& iname : each.inames) {
          is_changed = (depends && copied_.insert(iname).second) || is_changed;
        }
      }
    }
  }

  void add_inames(const ConstraintSet& part) {
    NewNames& copies = parts_.emplace_back();
    for (const std::string& iname : copied_) {
      copies[iname] = copy_name(names_, iname);
    }
    const auto renamed = [&](const std::string& name) {
      const auto found = copies.find(name);
      return found == copies.end() ? name : found->second;
    };
    const std::size_t count = kernel_.domains.size();
    for (std::size_t i = 0; i < count; ++i) {
      const Domain original = kernel_.domains[i];
      if (original.inames.empty() || copied_.count(original.inames.front()) == 0) {
        continue;
      }
      Domain copy;
      for (const std::string& iname : original.inames) {
        copy.inames.push_back(renamed(iname));
      }
      const bool is_union = original.inames == domain_.inames;
      copy.constraints = (is_union ? part : original.constraints).rename(renamed);
      for (const ConstraintSet& other : original.other_parts) {
        if (!is_union) {
          copy.other_parts.push_back(other.rename(renamed));
        }
      }
      (is_union ? own_copies_ : other_copies_).push_back(std::move(copy));
    }
    kernel_.domains.insert(kernel_.domains.end(), own_copies_.begin(), own_copies_.end());
    kernel_.domains.insert(kernel_.domains.end(), other_copies_.begin(), other_copies_.end());
    own_copies_.clear();
    other_copies_.clear();
  }

  /// Reductions over the union combined of those over its parts.
  [[nodiscard]] Expr with_all_parts(const Expr& expr, const std::string& where) const {
    if (const Reduction* scanned = as_scan(expr)) {
      if (uses_union(scanned->inames)) {
        refuse_use(where, "scans over it");
      }
    }
    const Expr inside =
        map_children(expr, [&](const Expr& child) { return with_all_parts(child, where); });
    const Reduction* reduction = get_if<Reduction>(inside);
    if (reduction == nullptr || !uses_union(reduction->inames)) {
      return inside;
    }
    if (!std::all_of(domain_.inames.begin(), domain_.inames.end(), [&](const std::string& iname) {
          return std::find(reduction->inames.begin(), reduction->inames.end(), iname) !=
                 reduction->inames.end();
        })) {
      refuse_use(where, "reduces over some of its inames only");
    }
    std::vector<Expr> values = {inside};
    for (const NewNames& part : parts_) {
      values.push_back(rename_all(inside, part));
    }
    const std::optional<Expr> all = reduction->operands.size() == 1
                                        ? combine_values(reduction->operation, values)
                                        : std::nullopt;
    if (!all) {
      refuse_use(where, fmt::format("reduces over it with '{}', which no function combines",
                                    reduction->operation));
    }
    return *all;
  }

  [[nodiscard]] bool uses_union(const std::vector<std::string>& inames) const {
    return std::any_of(inames.begin(), inames.end(),
                       [&](const std::string& iname) { return inames_.count(iname) != 0; });
  }

  void split_statements() {
    std::vector<Instruction> all;
    std::vector<Instruction> run;  // statements within the union, next to each other
    std::map<std::string, NameSet> copies_of;
    const auto finish_run = [&] {
      all.insert(all.end(), run.begin(), run.end());
      for (std::size_t part = 0; part < parts_.size() && !run.empty(); ++part) {
        std::map<std::string, std::string, std::less<>> ids;
        for (const Instruction& each : run) {
          ids[each.id] = names_.make(fmt::format("{}_{}", each.id, part));
          copies_of[each.id].insert(ids[each.id]);
        }
        for (const Instruction& each : run) {
          all.push_back(copied(each, parts_[part], ids));
        }
      }
      run.clear();
    };
    for (Instruction& each : kernel_.instructions) {
      const NameSet& within = each.within_inames;
      const auto count = std::count_if(inames_.begin(), inames_.end(),
                                       [&](const auto& iname) { return within.count(iname) != 0; });
      const std::string where = "statement '" + each.id + "'";
      if (count != 0 && count != static_cast<std::ptrdiff_t>(inames_.size())) {
        refuse_use(where, "is within some of its inames only");
      }
      if (count != 0) {
        run.push_back(std::move(each));
        continue;
      }
      finish_run();
      all.push_back(map_expressions(std::move(each),
                                    [&](const Expr& expr) { return with_all_parts(expr, where); }));
    }
    finish_run();
    for (Instruction& each : all) {
      for (const auto& [id, copies] : copies_of) {
        const bool is_part = copies_of.count(each.id) != 0 || copies.count(each.id) != 0;
        if (!is_part && each.depends_on.count(id) != 0) {
          each.depends_on.insert(copies.begin(), copies.end());
        }
      }
    }
    kernel_.instructions = std::move(all);
  }

  static Instruction copied(Instruction instruction, const NewNames& inames,
                            const std::map<std::string, std::string, std::less<>>& ids) {
    instruction = map_expressions(std::move(instruction),
                                  [&](const Expr& expr) { return rename_all(expr, inames); });
    instruction.id = ids.at(instruction.id);
    const auto renamed = [](const NameSet& names, const auto& map) {
      NameSet result;
      for (const std::string& each : names) {
        const auto found = map.find(each);
        result.insert(found == map.end() ? each : found->second);
      }
      return result;
    };
    instruction.within_inames = renamed(instruction.within_inames, inames);
    instruction.depends_on = renamed(instruction.depends_on, ids);
    return instruction;
  }

  Kernel kernel_;
  const Domain domain_;
  NameGenerator names_;
  NameSet inames_;               // of the union
  NameSet copied_;               // and those that depend on them
  std::vector<NewNames> parts_;  // names in the parts after the first
  std::vector<Domain> own_copies_;
  std::vector<Domain> other_copies_;
};

/// Its parts that have points where the assumptions hold; the first one if none has.
Domain without_empty_parts(Domain domain, const ConstraintSet& assumptions) {
  const auto is_empty = [&](ConstraintSet part) {
    part.add(assumptions);
    return part.is_empty();
  };
  std::erase_if(domain.other_parts, is_empty);
  if (!domain.other_parts.empty() && is_empty(domain.constraints)) {
    domain.constraints = std::move(domain.other_parts.front());
    domain.other_parts.erase(domain.other_parts.begin());
  }
  return domain;
}

}  // namespace

Kernel with_unions_split(Kernel kernel) {
  const auto is_union = [](const Domain& domain) { return !domain.other_parts.empty(); };
  for (Domain& domain : kernel.domains) {
    if (is_union(domain)) {
      domain = without_empty_parts(std::move(domain), kernel.assumptions);
    }
  }
  while (true) {
    const auto found = std::find_if(kernel.domains.begin(), kernel.domains.end(), is_union);
    if (found == kernel.domains.end()) {
      return kernel;
    }
    const Domain domain = *found;
    found->other_parts.clear();
    kernel = UnionSplitter(std::move(kernel), domain).run();
  }
}

}  // namespace rtcg::loopy
