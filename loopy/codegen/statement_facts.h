#pragma once
// Internal header: it is not installed.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// What codegen asks about each statement and each temporary of a launch, answered once.
class StatementFacts {
 public:
  StatementFacts(const Kernel& kernel, const std::vector<std::size_t>& statements);

  /// The constraints that must hold where the statement runs. Those that it may ignore, since it
  /// only computes private values that nothing outside its domain reads, are left out.
  [[nodiscard]] const ConstraintSet& guards(std::size_t statement) const {
    const DomainOf& domain = *domains_.at(statement);
    return is_relaxed(statement) ? domain.kept : domain.all;
  }
  /// What has to be tested unless it is known: guards(), predicates, and the conditions within the
  /// statement's value, as far as they are affine; of comparisons with quotients what makes them
  /// superfluous.
  [[nodiscard]] std::vector<Constraint> tested(std::size_t statement) const;
  /// Whether guards() leaves some of the domain's constraints out.
  [[nodiscard]] bool is_relaxed(std::size_t statement) const {
    return relaxed_.count(statement) != 0;
  }
  /// All constraints of the statement's domain.
  [[nodiscard]] const ConstraintSet& domain(std::size_t statement) const {
    return domains_.at(statement)->all;
  }
  /// Inames whose values the statement is copied for, in the order of the domains.
  [[nodiscard]] const std::vector<std::string>& lanes(std::size_t statement) const {
    return lanes_.at(statement);
  }
  /// Inames for each of whose values a private temporary exists of its own.
  [[nodiscard]] const std::vector<std::string>& lanes_of_temporary(const std::string& name) const;
  /// Whether different threads of a block run the statement differently.
  [[nodiscard]] bool differs_by_thread(std::size_t statement) const {
    return differs_by_thread_.count(statement) != 0;
  }
  /// Whether threads of a block have different values of the private temporary.
  [[nodiscard]] bool is_varying(const std::string& temporary) const {
    return varying_.count(temporary) != 0;
  }
  /// Whether the statement writes what other threads see.
  [[nodiscard]] bool writes_shared(std::size_t statement) const {
    return writes_shared_.count(statement) != 0;
  }

 private:
  void find_lanes(std::size_t statement);
  void find_varying(const std::vector<std::size_t>& statements);
  void find_guards(const std::vector<std::size_t>& statements);
  [[nodiscard]] bool is_private(const std::string& name) const;
  [[nodiscard]] bool is_safe_outside(std::size_t statement, const ConstraintSet& kept) const;
  /// What statements within the same inames have in common.
  struct DomainOf {
    ConstraintSet all;
    /// Without the constraints that mention lanes alone.
    ConstraintSet kept;
    std::vector<Constraint> dropped;
  };
  [[nodiscard]] DomainOf domain_of(const NameSet& inames) const;
  /// Whether a constraint mentions threads, blocks, lanes and parameters, not of loops, and of
  /// more than the shape of a block.
  [[nodiscard]] bool is_about_lanes_only(const Affine& expr) const;
  /// Whether `reader` reads private values that `writer` computes.
  [[nodiscard]] bool feeds(std::size_t writer, std::size_t reader) const;
  /// Whether the statement runs only where those of `writer`'s constraints hold that it may ignore.
  [[nodiscard]] bool stays_within(std::size_t statement, std::size_t writer) const;

  const Kernel& kernel_;
  std::map<NameSet, DomainOf> domain_of_inames_;
  std::map<std::size_t, const DomainOf*> domains_;
  std::vector<std::string> lane_inames_;  // in the order of the domains
  std::map<std::size_t, std::vector<std::string>> lanes_;
  std::map<std::string, std::vector<std::string>> lanes_of_temporary_;
  std::set<std::size_t> relaxed_;
  std::set<std::size_t> differs_by_thread_;
  std::set<std::string> varying_;
  std::set<std::size_t> writes_shared_;
};

}  // namespace rtcg::loopy
